"""The phases of a running dancer, hurried or held back so that its accents fall on beats."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from controllers.dance_ratios import RATIOS, BeatRatios, differences, nearness, ratio_values
from deepphase.errors import ParameterError
from deepphase.music.beats import beat_position
from deepphase.music.features import SongFeatures
from deepphase.phase.parameters import PhaseParameters, wrapped

Array = np.ndarray

# Of all channels' frequency, at most: dancers follow tempo changes of that size without strain.
MOST = 0.15
# Seconds in which a difference of phase would be made up, and over which the haste is smoothed.
_SETTLES_S, _SMOOTHED_S = 0.5, 0.15


class BeatLock:
    """A phase-locked loop: all phases go faster or slower by one share, at most by `MOST`.

    Of every channel the nearest ratio to the beat is looked up, and how far its phase is from
    where beats fell in the dances that were learnt from. What each wants is averaged, by
    amplitude and by how sure that place is; one share for all keeps the channels together, as
    they were learnt.

    Parameters
    ----------
    ratios
        What was learnt.
    song
        Whose beats.
    strength
        From 0, no change, to 1.
    fps
        Frames a second.
    first_s
        The song's second at the first frame that is asked for.

    Attributes
    ----------
    hastes
        Of every frame so far, the share by which the first character's phases were hurried.
    """

    def __init__(
        self, ratios: BeatRatios, song: SongFeatures, *, strength: float, fps: float, first_s: float
    ) -> None:
        if not (math.isfinite(strength) and 0.0 <= strength <= 1.0):
            raise ParameterError(f"a lock of {strength}", hint="from 0 (none) to 1")
        self._ratios, self._beats = ratios, np.asarray(song.beats_s, np.float64)
        self._strength, self._seconds = strength, 1.0 / fps
        self._now = first_s
        self._haste: Array | None = None
        self.hastes: list[float] = []
        """Of every frame the share by which the first character's phases were hurried."""

    def __call__(self, phases: PhaseParameters) -> Array:
        """(characters, channels) cycles to be added to the phases of the next frame.

        Parameters
        ----------
        phases
            (characters, channels) each, of that frame.
        """
        wanted = self._wanted(phases)
        if self._haste is None:
            self._haste = np.zeros(len(wanted))
        # Never faster than the body could follow.
        share = 1.0 - math.exp(-self._seconds / _SMOOTHED_S)
        self._haste = self._haste + share * (self._strength * wanted - self._haste)
        self._now += self._seconds
        self.hastes.append(float(self._haste[0]))
        return self._haste[:, None] * phases.frequency * self._seconds

    def _wanted(self, phases: PhaseParameters) -> Array:
        """(characters,) share of the frequency that would bring accents onto beats."""
        count = len(phases.phase)
        if len(self._beats) < 2:
            return np.zeros(count)
        half = 0.5 * self._seconds
        around = beat_position(
            self._beats, np.array([self._now - half, self._now, self._now + half])
        )
        beat, beat_hz = around[1], (around[2] - around[0]) / self._seconds
        frequency = phases.frequency.astype(np.float64)
        near = nearness(frequency, np.full((1, 1), beat_hz))
        away = wrapped(self._ratios.offset - differences(phases.phase, np.full((1, 1), beat)))
        beats = np.array([each for _, each in RATIOS])
        safe = np.maximum(frequency, 1e-6)[..., None]
        tempo = ratio_values() * beat_hz / safe - 1.0
        change = np.clip(tempo + away / beats / (safe * _SETTLES_S), -MOST, MOST)
        power = np.square(phases.amplitude.astype(np.float64))[..., None]
        weight = power * near * np.square(self._ratios.weights)
        total = weight.sum(axis=(1, 2))
        return (weight * change).sum(axis=(1, 2)) / np.where(total > 0, total, 1.0)


class BeatLocks:
    """Of each character its own lock, or none."""

    def __init__(self, locks: Sequence[BeatLock | None]) -> None:
        self._locks = tuple(locks)

    def __call__(self, phases: PhaseParameters) -> Array:
        """As `BeatLock`, all characters at once."""
        added = np.zeros(phases.phase.shape)
        for index, lock in enumerate(self._locks):
            if lock is not None:
                added[index] = lock(phases[index : index + 1])[0]
        return added
