"""Phases where frequency changes: the phase of a chirp in place of a sinusoid's.

Where frequency grows by c Hz a second, the signal around a frame is a chirp: t seconds from the
frame it is c / 2 * t^2 cycles ahead of a sinusoid. A sinusoid that is fitted to it is ahead of the
frame's own phase by c / 2 times the mean of t^2 over the fit. The rate c is the slope of the
frequency over neighbouring windows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import correlate1d

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.phase.networks.sine_fit_autoencoder import SineFitAutoencoder
from deepphase.phase.parameters import PhaseParameters

# Seconds on either side of a frame whose frequencies give the slope.
_REACH_S = 0.75
# Faster changes are not a chirp but a change of movement: rates beyond are limited, Hz a second.
_MOST_HZ_PER_S = 1.0
# Amplitude that weighs nothing beside any that moves.
_NO_AMPLITUDE = 1e-9


def phases_of_chirps(phases: ClipPhases, model: PhaseExtractor | PhaseModel) -> ClipPhases:
    """Phases of a clip with those that its frames have where frequency changes.

    Frequency, amplitude and offset stay as they are: around a chirp's middle they are the same.

    Parameters
    ----------
    phases
        What the model's `encode` gave for all frames of a clip.
    model
        The model, with a network of the preset "sine_fit", "sine_fit_no_fc" or "any_skeleton".

    Raises
    ------
    ParameterError
        If the model has another network.
    """
    mean_square = mean_square_of_fit(model)
    parameters = phases.parameters
    ahead = 0.5 * mean_square * chirp_rates(parameters, phases.fps)
    phase = wrapped(parameters.phase - ahead).astype(parameters.phase.dtype)
    return replace(phases, parameters=replace(parameters, phase=phase))


def mean_square_of_fit(model: PhaseExtractor | PhaseModel) -> float:
    """Mean of t^2 in s^2 over a model's fit of the phase.

    Raises
    ------
    ParameterError
        If its network fits no sinusoids.
    """
    network = getattr(model, "network", None)
    if not isinstance(network, SineFitAutoencoder):
        raise ParameterError(
            "phases of chirps need a model whose network fits sinusoids",
            hint='leave out --chirp, or train with the preset "sine_fit" (the default)',
        )
    return network.spectrum.mean_square_s2


def chirp_rates(parameters: PhaseParameters, fps: float) -> Array:
    """(frames, channels) Hz a second: slope of the frequency around every frame.

    A least-squares line through the frequencies of the neighbouring frames of a clip, weighted by
    squared amplitude and distance; limited smoothly to 1 Hz a second.

    Parameters
    ----------
    parameters
        (frames, channels) each, of consecutive frames.
    fps
        Frames a second.
    """
    reach = max(round(_REACH_S * fps), 1)
    time = np.arange(-reach, reach + 1) / fps
    near = np.cos(np.pi / 2 * np.arange(-reach, reach + 1) / (reach + 1)) ** 2
    weight = np.square(parameters.amplitude, dtype=np.float64) + _NO_AMPLITUDE
    frequency = parameters.frequency.astype(np.float64)

    def summed(values: Array, power: int) -> Array:
        kernel = near * time**power
        return np.asarray(correlate1d(values, kernel, axis=0, mode="constant"))

    whole, first, second = (summed(weight, power) for power in range(3))
    level, tilt = (summed(weight * frequency, power) for power in range(2))
    spread = whole * second - first * first
    # A clip of one frame has no slope.
    slope = (whole * tilt - first * level) / np.where(spread > 0, spread, np.inf)
    return np.asarray(_MOST_HZ_PER_S * np.tanh(slope / _MOST_HZ_PER_S))
