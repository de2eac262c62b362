"""Phases of chirps: signals whose frequency changes in a known way."""

import numpy as np
import pytest
import torch

from deepphase.corpus.clips import clips_in
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.phase.chirp import chirp_rates, phases_of_chirps
from deepphase.phase.config import NetworkConfig, PhaseConfig
from deepphase.phase.encoding import encode_files
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.phase.networks.sine_fit_autoencoder import SineFitAutoencoder
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.phase_file import load_phases
from deepphase.phase.signals import JointVelocities
from tests.corpus.made_clips import made_clip, write_bvh

FPS, WINDOW = 60.0, 121


class Fitted:
    """A stand-in for a model: its network's layer reads one signal as its latent."""

    def __init__(self):
        self.network = SineFitAutoencoder(3, FPS, NetworkConfig(channels=1, hidden=2))

    def encode(self, cycles):
        signal = torch.sin(2 * torch.pi * torch.as_tensor(cycles)).float()
        fit = self.network.spectrum(signal.unfold(0, WINDOW, 1).T[:, :, None])
        phase = wrapped(np.arctan2(fit.cosine.numpy(), fit.sine.numpy()) / (2 * np.pi))
        parts = (fit.frequency, fit.amplitude, fit.offset)
        parameters = PhaseParameters(phase, *(part.numpy() for part in parts))
        return ClipPhases(parameters, np.ones(len(phase), bool), FPS, "tone")


def errors(phases, cycles):
    half = WINDOW // 2
    return np.abs(wrapped(phases.parameters.phase[:, 0] - cycles[half:-half]))


TIME = np.arange(600) / FPS


@pytest.mark.parametrize("rate", [0.5, -0.3])
def test_a_ramp_of_frequency_has_its_own_phase(rate):
    cycles = (1.0 if rate > 0 else 5.0) * TIME + 0.5 * rate * TIME**2
    model = Fitted()
    phases = model.encode(cycles)
    np.testing.assert_allclose(chirp_rates(phases.parameters, FPS)[60:-60, 0], rate, atol=0.04)
    followed = phases_of_chirps(phases, model)
    # Half the rate times the mean of t^2, .117 s^2.
    assert np.median(errors(phases, cycles)) == pytest.approx(0.058 * abs(rate), rel=0.1)
    assert errors(followed, cycles).max() < 0.01
    assert np.median(errors(followed, cycles)) < 0.003


def test_a_drift_has_its_own_phase():
    # By 15 %, back and forth in 8 s.
    cycles = 1.5 * (TIME + 0.15 * 8 / (2 * np.pi) * np.sin(2 * np.pi * TIME / 8))
    model = Fitted()
    phases = model.encode(cycles)
    assert np.median(errors(phases, cycles)) > 0.006
    assert np.median(errors(phases_of_chirps(phases, model), cycles)) < 0.002


def test_steady_and_silent_signals_stay_as_they_are():
    model = Fitted()
    for cycles in (1.3 * TIME, 0 * TIME):
        phases = model.encode(cycles)
        followed = phases_of_chirps(phases, model)
        apart = wrapped(followed.parameters.phase - phases.parameters.phase)
        assert np.abs(apart).max() < 1e-3
        assert followed.parameters.frequency is phases.parameters.frequency
    one = model.encode(cycles)[:1]
    np.testing.assert_array_equal(
        phases_of_chirps(one, model).parameters.phase, one.parameters.phase
    )


def test_a_jump_of_frequency_moves_phases_little():
    """A change of movement is not a chirp."""
    cycles = np.cumsum(np.where(TIME < 5, 1.0, 6.0)) / FPS
    model = Fitted()
    phases = model.encode(cycles)
    moved = wrapped(phases_of_chirps(phases, model).parameters.phase - phases.parameters.phase)
    assert np.abs(moved).max() < 0.06


def test_other_networks_are_refused():
    phases = Fitted().encode(TIME)
    with pytest.raises(ParameterError, match="fits sinusoids"):
        phases_of_chirps(phases, object())


def test_files_say_that_phases_are_of_chirps(tmp_path):
    clip = made_clip(0, 200)
    write_bvh(tmp_path / "walk.bvh", clip)
    signals = JointVelocities.of_clip(clip)
    config = PhaseConfig(NetworkConfig(channels=2, hidden=4))
    network = SineFitAutoencoder(len(signals.names), signals.fps, config.network)
    PhaseModel(network, config, signals).save(tmp_path / "fresh.model")
    entries = clips_in([tmp_path / "walk.bvh"])
    found = []
    for chirp in (False, True):
        encode_files(tmp_path / "fresh.model", entries, tmp_path / str(chirp), chirp=chirp)
        found.append(load_phases(tmp_path / str(chirp) / "walk.phases.npz"))
    (plain, before), (phases, meta) = found
    assert meta["chirp"]
    assert "chirp" not in before
    np.testing.assert_array_equal(plain.parameters.frequency, phases.parameters.frequency)
    assert (plain.parameters.phase != phases.parameters.phase).any()
