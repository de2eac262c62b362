"""A phase network of one's own: registered, trained, saved, loaded, and refused where unknown."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from deepphase.errors import CheckpointError, ParameterError
from deepphase.phase import config as phase_config
from deepphase.phase import encoding
from deepphase.phase.config import NetworkConfig, PhaseConfig
from deepphase.phase.encoding import make_autoencoder, register_autoencoder
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.autoencoder import Encoding, PeriodicAutoencoder
from deepphase.phase.training.train import train_phase
from tests.formula_motion import swinging, swings, tiny_phases


class Spectral(PeriodicAutoencoder):
    """A head that reads one fixed frequency off the latent."""

    def __init__(self, signals: int, fps: float, config: NetworkConfig) -> None:
        super().__init__(signals, fps, config)
        self.gain = nn.Parameter(torch.ones(config.channels))

    def _encode(self, windows: Tensor) -> Encoding:
        latent = self.encoder_out(torch.tanh(self.encoder_in(windows)))
        turns = 2.0 * torch.pi * self.times[:, None, None]
        sine, cosine = (latent * torch.sin(turns)).mean(0), (latent * torch.cos(turns)).mean(0)
        amplitude = 2.0 * self.gain * (sine.square() + cosine.square() + 1e-12).sqrt()
        phase = torch.atan2(cosine, sine) / (2.0 * torch.pi)
        return Encoding(phase, torch.ones_like(phase), amplitude, latent.mean(0), latent)

    def _decode(self, latent: Tensor) -> Tensor:
        return self.decoder_out(torch.tanh(self.decoder_in(latent)))


@pytest.fixture
def registry(monkeypatch):
    """The registry, as it was before afterwards."""
    monkeypatch.setattr(encoding, "PRESETS", dict(encoding.PRESETS))
    forget(monkeypatch)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program, that has registered nothing."""
    monkeypatch.setattr(phase_config, "registered", names := [])
    monkeypatch.setattr(encoding, "registered", names)
    encoding.PRESETS.pop("spectral", None)


def test_trained_saved_and_loaded(registry, tmp_path, monkeypatch):
    register_autoencoder("spectral", Spectral)
    own = tiny_phases(**{"network.preset": "spectral"})
    model = train_phase(swings(3, 4.0), own, folder=tmp_path / "work", accelerator="cpu")
    assert isinstance(model.network, Spectral)
    assert model.network.gain.detach().ne(1.0).all()
    path = tmp_path / "own.model"
    model.save(path)
    again = PhaseModel.load(path)
    assert isinstance(again.network, Spectral)
    clip, _ = swinging(1.0)
    assert (again.encode(clip).parameters.phase == model.encode(clip).parameters.phase).all()
    forget(monkeypatch)
    with pytest.raises(CheckpointError) as caught:
        PhaseModel.load(path)
    assert "own.model: the network 'spectral' is not registered" in str(caught.value)
    assert "register_autoencoder('spectral', ...)" in caught.value.hint


def test_a_config_that_names_an_unknown_network(registry):
    with pytest.raises(ParameterError, match="'spectral' is not registered"):
        PhaseConfig.load("default", **{"network.preset": "spectral"})


def test_names_and_factories_that_cannot_be(registry):
    with pytest.raises(ParameterError, match="'paper' is a shipped autoencoder"):
        register_autoencoder("paper", Spectral)
    with pytest.raises(ParameterError, match="cannot be called"):
        register_autoencoder("spectral", "module.Class")
    register_autoencoder("spectral", lambda signals, fps, config: nn.Linear(signals, 1))
    with pytest.raises(ParameterError, match="'spectral' is a Linear"):
        make_autoencoder(3, 60.0, NetworkConfig("spectral"))


def test_a_name_is_registered_again_where_that_is_asked_for(registry):
    first = partial(nn.Linear, 3)
    register_autoencoder("spectral", first)
    register_autoencoder("spectral", first)
    with pytest.raises(ParameterError, match="'spectral' is registered already"):
        register_autoencoder("spectral", Spectral)
    register_autoencoder("spectral", Spectral, replace=True)
    assert isinstance(make_autoencoder(3, 60.0, NetworkConfig("spectral")), Spectral)
    assert phase_config.registered.count("spectral") == 1
