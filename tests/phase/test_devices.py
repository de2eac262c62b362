"""Training, measurement and encoding of phase models on an accelerator."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.config import SHIPPED, PhaseConfig
from deepphase.phase.model import PhaseModel
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.song_signals import SongSignals
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.module import PhaseModule
from deepphase.phase.training.train import train_phase
from tests.fake_cuda import fake_cuda, to_device
from tests.formula_motion import swinging


def _config(preset: str = "sine_fit") -> PhaseConfig:
    return PhaseConfig.load(
        "default",
        **{
            "network.preset": preset,
            "network.channels": 2,
            "network.window_s": 0.5,
            "network.kernel_s": 0.2,
            "network.hidden": 4,
            "training.batch_size": 8,
            "training.windows": 64,
        },
    )


@pytest.fixture(scope="module")
def walks() -> SignalCorpus:
    clips = [swinging(rate, 4.0, seed=seed)[0] for seed, rate in enumerate((0.9, 1.1, 1.3))]
    return SignalCorpus.from_store(ClipStore.from_clips(clips))


@pytest.fixture(scope="module")
def songs() -> SignalCorpus:
    features = ("chroma", "onset_strength")
    values = np.random.default_rng(0).random((600, 13), np.float32)
    starts, stops = np.array([0, 300]), np.array([300, 600])
    signals = SongSignals.from_values(values, starts, features)
    return SignalCorpus(signals, signals.scaled(values), starts, stops, ["a", "b"])


def _train_and_validate(corpus: SignalCorpus, config: PhaseConfig) -> None:
    """One optimizer step and one validation, as the trainer runs them."""
    data = PhaseData(corpus, config)
    module = PhaseModule(config, data.signals)
    with fake_cuda() as device:
        to_device(module, device)
        trainer = SimpleNamespace(
            training=True,
            world_size=1,
            global_rank=0,
            strategy=SimpleNamespace(root_device=device),
            estimated_stepping_batches=8,
        )
        data.trainer = module._trainer = trainer
        optimizer = module.configure_optimizers()["optimizer"]
        batch = data.transfer_batch_to_device(data.batch(0, 8), device, 0)
        windows = data.on_after_batch_transfer(batch, 0)
        module.training_step(windows).backward()
        optimizer.step()
        assert {each.grad.device for each in module.parameters()} == {device}
        trainer.training = False
        module.on_validation_epoch_start()
        held_out = data.on_after_batch_transfer(data.held_out[:8].to(device), 0)
        module.validation_step(held_out)


@pytest.mark.parametrize("preset", SHIPPED)
def test_a_training_step_keeps_to_its_device(preset, walks):
    _train_and_validate(walks, _config(preset))


@pytest.mark.parametrize("preset", SHIPPED)
def test_encoding_keeps_to_the_device_of_the_model(preset, walks):
    config = _config(preset)
    clip, _ = swinging(1.0, 2.0)
    model = PhaseModel(PhaseModule(config, walks.signals).network, config, walks.signals)
    with fake_cuda() as device:
        to_device(model.network, device)
        assert model.encode(clip).parameters.phase.shape == (len(clip), 2)


@pytest.mark.gpu
def test_a_gpu_trains_and_encodes_as_the_cpu_does(walks, tmp_path):
    clip, _ = swinging(1.0, 2.0)
    models = {
        name: train_phase(walks, _config(), folder=tmp_path / name, accelerator=name, devices=1)
        for name in ("cpu", "gpu")
    }
    weights = [model.network.state_dict() for model in models.values()]
    for name, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][name].cpu(), rtol=1e-3, atol=1e-4)
    model = models["cpu"]
    expected = model.encode(clip).parameters.manifold()
    model.network.cuda()
    np.testing.assert_allclose(model.encode(clip).parameters.manifold(), expected, atol=1e-4)


def test_a_tensor_left_on_the_cpu_is_found(walks, monkeypatch):
    config = _config()
    rows = torch.zeros(1, 4)

    def with_offset(self, encoding):
        return encoding.latent + rows[:, :1, None]

    sinusoids = "deepphase.phase.networks.autoencoder.PeriodicAutoencoder._sinusoids"
    monkeypatch.setattr(sinusoids, with_offset)
    with pytest.raises(RuntimeError, match="cpu"):
        _train_and_validate(walks, config)
