"""Every preset: shapes, finite gradients, bf16, and what the default must do better."""

import numpy as np
import pytest
import torch

from deepphase.config import config_names
from deepphase.errors import ParameterError
from deepphase.phase.config import NetworkConfig, PhaseConfig
from deepphase.phase.encoding import PRESETS, make_autoencoder
from deepphase.phase.networks.paper_autoencoder import PaperAutoencoder, TimeNorm

SIGNALS, FPS = 12, 60.0


def network(preset, **config):
    torch.manual_seed(0)
    return make_autoencoder(SIGNALS, FPS, NetworkConfig(preset, channels=3, **config))


def windows(batch=16, seed=0):
    """Swings of 0.8 to 2 Hz, their mean taken off."""
    generator = torch.Generator().manual_seed(seed)
    time = torch.arange(121) / FPS
    rate = torch.rand(batch, 1, 1, generator=generator) * 1.2 + 0.8
    # One movement that begins anywhere: the signals keep their distances in phase.
    phase = torch.rand(batch, 1, 1, generator=generator) + torch.linspace(0, 2, SIGNALS)[:, None]
    out = torch.sin(2 * np.pi * (rate * time + phase))
    return out - out.mean(-1, keepdim=True)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("training", [True, False])
def test_shapes_and_gradients(preset, training):
    net = network(preset).train(training)
    batch = windows()
    encoding = net.encode(batch)
    assert encoding.phase.shape == encoding.frequency.shape == (16, 3)
    assert encoding.latent.shape == (16, 3, 121)
    assert encoding.phase.abs().max() <= 0.5
    assert encoding.frequency.min() >= 0
    assert encoding.amplitude.min() >= 0
    out = net(batch)
    assert out.shape == batch.shape
    (out - batch).square().mean().backward()
    for name, parameter in net.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("scale", [0.0, 1e-6, 1e6])
def test_still_and_absurd_windows_give_no_nan(preset, scale):
    for training in (True, False):
        net = network(preset).train(training)
        batch = scale * windows()
        batch[:4] = 0.0
        encoding = net.encode(batch)
        assert all(torch.isfinite(part).all() for part in encoding)
        net(batch).square().mean().backward()
        assert all(torch.isfinite(p.grad).all() for p in net.parameters() if p.grad is not None)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_a_few_steps_learn(preset):
    net = network(preset)
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3)
    losses = []
    for step in range(60):
        batch = windows(32, seed=step)
        loss = (net(batch) - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-5:]) < 0.5 * losses[0]


def test_a_band_leaves_slow_movement_as_it_is():
    """With band_hz the latent has half the frames and is the same curve."""
    wide, narrow = (
        network("sine_fit", kernel_s=1.0),
        network("sine_fit", kernel_s=1.0, band_hz=15.0),
    )
    narrow.load_state_dict(
        {k: v for k, v in wide.state_dict().items() if not k.startswith("phase_layer")},
        strict=False,
    )
    batch = windows()
    one, other = wide.eval().encode(batch), narrow.eval().encode(batch)
    assert other.latent.shape == (16, 3, 61)
    # At its ends a window is cut off, which no band holds.
    difference = (one.latent[..., ::2] - other.latent)[..., 15:-15]
    assert difference.abs().max() < 0.04 * one.latent.abs().max()
    assert torch.allclose(one.frequency, other.frequency, rtol=0.02)
    assert narrow(batch).shape == batch.shape


@pytest.mark.parametrize("preset", ["sine_fit", "sine_fit_no_fc"])
@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0, 10.0])
def test_the_default_sees_amplitude(preset, scale):
    net = network(preset).eval()
    one, other = net.encode(windows()), net.encode(scale * windows())
    assert torch.allclose(other.amplitude, scale * one.amplitude, rtol=0.01)
    assert torch.allclose(other.frequency, one.frequency, rtol=0.01)
    turn = torch.remainder(other.phase - one.phase + 0.5, 1) - 0.5
    assert turn.abs().max() < 0.01


def test_released_presets_follow_their_table():
    v0, v1, v2 = (network(f"released_v{index}") for index in range(3))
    assert torch.allclose(v0.variant.activation(windows()), windows().tanh(), rtol=0, atol=3e-7)
    assert v1.variant.activation is v2.variant.activation is torch.nn.functional.elu
    assert isinstance(v2.encoder_in_norm, TimeNorm)
    assert isinstance(v2.encoder_out_norm, torch.nn.Identity)
    assert isinstance(v2.phase_head.norm, torch.nn.Identity)
    assert isinstance(v1.phase_head.norm, torch.nn.BatchNorm1d)
    # Bin k at k / window, where the window is said to last from its first frame to its last.
    assert v0.spectrum.bin_frequencies[0].item() == pytest.approx(0.5)
    assert network("paper").spectrum.bin_frequencies[0].item() == pytest.approx(60 / 121)


def test_unknown_preset_is_refused():
    with pytest.raises(ParameterError, match="sine_fit"):
        NetworkConfig("magic")


@pytest.mark.parametrize("name", config_names("phase"))
def test_shipped_recipes_load(name):
    config = PhaseConfig.load(name)
    assert isinstance(make_autoencoder(SIGNALS, FPS, config.network), torch.nn.Module)
    faithful = config.network.preset in ("paper", "released_v0", "released_v1", "released_v2")
    assert faithful == isinstance(make_autoencoder(SIGNALS, FPS, config.network), PaperAutoencoder)
