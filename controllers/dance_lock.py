"""A running dance, hurried or held back so that its phases stay where beats and bars have them."""

from __future__ import annotations

import math

import numpy as np

from controllers.dance_clock import SongClock
from controllers.dance_ratios import BeatRatios, counts, differences, nearness
from deepphase.errors import ParameterError
from deepphase.music.features import SongFeatures
from deepphase.phase.parameters import PhaseParameters, wrapped

Array = np.ndarray

# Of the dance's own speed, at most: dancers follow tempo changes of that size without strain.
MOST = 0.15
# Seconds in which the dance would be in time again, and over which the haste is smoothed.
_SETTLES_S, _SMOOTHED_S = 1.0, 0.3
# Seconds of the song by which a dance is shown earlier or later than it was heard, at most.
APART_S = 0.3


class BeatLock:
    """A phase-locked loop: the whole dance goes faster or slower, by at most `MOST`.

    Of every channel the nearest ratio to beat and bar is looked up, and by how many seconds its
    phase is behind where they fell in the dances that were learnt from. Their mean, by amplitude
    and by how sure that place is, is made up for. It is the dance that is hurried, not its phases:
    turned by themselves, they are back at what the pose says within some frames (eq. 9 of
    DeepPhase).

    Parameters
    ----------
    ratios
        What was learnt.
    song
        Whose beats and bars.
    strength
        From 0, no change, to 1.

    Attributes
    ----------
    most
        The haste that is never exceeded.
    """

    def __init__(self, ratios: BeatRatios, song: SongFeatures, strength: float) -> None:
        if not (math.isfinite(strength) and 0.0 <= strength <= 1.0):
            raise ParameterError(f"a lock of {strength}", hint="from 0 (none) to 1")
        self._ratios, self._clock, self._strength = ratios, SongClock(song), strength
        self.most = strength * MOST
        self._haste = 0.0

    def haste(self, phases: PhaseParameters, now_s: float, seconds: float) -> float:
        """The share by which the next frame's time is faster, or below 0 slower.

        Parameters
        ----------
        phases
            (channels,) each, of now.
        now_s
            The song's second.
        seconds
            Of a frame.
        """
        behind_s = self._strength * self._behind_s(phases, now_s)
        wanted = min(max(behind_s / _SETTLES_S, -self.most), self.most)
        # Never faster than the body could follow.
        self._haste += (1.0 - math.exp(-seconds / _SMOOTHED_S)) * (wanted - self._haste)
        return self._haste

    def _behind_s(self, phases: PhaseParameters, now_s: float) -> float:
        """Seconds by which the dance is late, at its own speed; below 0 it is early."""
        position, clock_hz = self._clock.at(np.array(now_s))
        frequency = phases.frequency.astype(np.float64)
        near = nearness(frequency, clock_hz)
        away = wrapped(self._ratios.offset - differences(phases.phase, position))
        behind = away / counts() / np.maximum(frequency, 1e-6)[:, None]
        power = np.square(phases.amplitude.astype(np.float64))[:, None]
        weight = power * near * np.square(self._ratios.weights)
        total = float(weight.sum())
        return float((weight * behind).sum()) / total if total > 0 else 0.0


class DanceClock:
    """Which second of its song each frame of a running dance is shown at, and which it hears.

    The song that it hears goes on evenly: who is hurried and hears it would dance slower to be
    where it was. So a dance is not taken further than `APART_S` from what it heard.

    Parameters
    ----------
    start_s
        Of the first frame.
    fps
        Of the dance, as fast as it was learnt.
    lock
        Hurries it or holds it back; None for neither.

    Attributes
    ----------
    times_s, hastes
        Of the frame before the first, and of every frame so far: the song's second, and the share
        by which the dance is hurried from there.
    """

    def __init__(self, start_s: float, fps: float, lock: BeatLock | None) -> None:
        self.lock, self._frame_s = lock, 1.0 / fps
        self._heard_s = start_s - self._frame_s
        self.times_s, self.hastes = [self._heard_s], [0.0]

    def heard_at(self, offsets_s: Array) -> Array:
        """(offsets,) the song's seconds around what is heard in the last frame."""
        return self._heard_s + offsets_s

    def advance(self, phases: PhaseParameters | None) -> None:
        """Go on to a frame with these phases, (channels,) each; None where there are none."""
        now_s = self.times_s[-1] + self._frame_s / (1.0 + self.hastes[-1])
        self._heard_s += self._frame_s
        haste = 0.0
        if self.lock is not None and phases is not None:
            haste = self.lock.haste(phases, now_s, self._frame_s)
            early_s = self._heard_s - now_s
            if abs(early_s) >= APART_S and early_s * haste > 0:
                haste = 0.0
        self.times_s.append(now_s)
        self.hastes.append(haste)
