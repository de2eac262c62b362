"""Bar phase of dances: the place in the bar where a movement is fastest and highest.

:mod:`deepphase.evaluation.dance_beats` measures how strongly a movement keeps the bar's period,
wherever in the bar it is: another song of nearly the same tempo does as well as the dance's own.
This measure compares a movement's phase in the bar with that of recorded dances, with its sign.
A dance that is independent of the bars has 0 in expectation, above or below by chance; so has a
dance measured on a song that it does not belong to, whatever that song's tempo, unless both begin
with a bar.

Only songs with known bars can be measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_beats import RHYTHM_WINDOW_S, beat_count, cycle_windows


@dataclass(frozen=True, eq=False)
class BarPhases:
    """How far a movement keeps to the bar, and where in it, window by window.

    Parameters
    ----------
    speed
        (windows,) complex. Its size is the vector strength of the speed, its angle the place in
        the bar (0 on the downbeat, pi in the middle) where the movement is fastest.
    height
        (windows,) complex. Its size is the correlation of the height with the sinusoid of the bar
        that fits it best, its square the share of the variance explained; its angle the place
        where the body is highest.
    """

    speed: Array
    height: Array

    def __len__(self) -> int:
        return len(self.speed)


@dataclass(frozen=True)
class BarDirection:
    """Where in the bar dances are fastest and highest: complex numbers of size 1.

    Where dances agree on nothing a number is 0, and so is all that is held against it.
    """

    speed: complex
    height: complex

    @classmethod
    def of(cls, dances: Sequence[BarPhases]) -> BarDirection:
        """The direction of the mean over dances, each the mean of its windows.

        Raises ParameterError where no dance has a window.
        """
        measured = [each for each in dances if len(each)]
        if not measured:
            raise ParameterError(
                "no dance has a song with known bars",
                hint="give dances whose songs have a beats file with bars",
            )
        return cls(
            _unit(np.mean([each.speed.mean() for each in measured])),
            _unit(np.mean([each.height.mean() for each in measured])),
        )

    def along(self, phases: BarPhases) -> tuple[Array, Array]:
        """(windows,) of speed and of height: how far a movement is on this side of the bar, signed.

        From -1 to 1: the whole vector strength, and the whole correlation, where it is at the same
        place of the bar as the dances that set the direction; half of it a sixth of a bar beside,
        0 a quarter beside, minus half of it a third of a bar beside.
        """
        return (
            np.real(phases.speed * np.conj(self.speed)),
            np.real(phases.height * np.conj(self.height)),
        )


def bar_phases(
    speed: Array,
    height: Array,
    fps: float,
    downbeats: Array,
    *,
    factor: float = 1.0,
    window_s: float = RHYTHM_WINDOW_S,
) -> BarPhases:
    """Where in the bars of a song a movement is.

    Of the speed sum((x - mean(x)) exp(2 pi i bar)) / sum(x): the vector of which
    :func:`deepphase.evaluation.dance_beats.vector_strength` is the size, but for the mean, which
    would point somewhere in windows that end within a bar. Of the height the complex amplitude of
    the sinusoid of a bar that fits it best, over the square root of twice its variance.

    Parameters
    ----------
    speed : (frames,)
        m/s, as the mean joint speed.
    height : (frames,)
        Metres, as that of the hips.
    downbeats : (bars,)
        Seconds of the first beats of the song's bars, rising, from the first frame on.
    factor
        How much faster the song is taken to be, as a control.
    window_s
        Seconds, as for :func:`deepphase.evaluation.dance_beats.rhythm`.

    Returns
    -------
    As many windows as fit between the first downbeat and the last; none where there are not three
    bars.
    """
    if len(speed) != len(height):
        raise ParameterError(
            f"speed and height must have the same number of frames, but have {len(speed)} "
            f"and {len(height)}"
        )
    bars = factor * beat_count(downbeats, np.arange(len(speed)) / fps)
    windows = cycle_windows(bars, fps, window_s)
    return BarPhases(
        np.array([_speed_vector(speed[some], bars[some]) for some in windows], complex),
        np.array([_height_vector(height[some], bars[some]) for some in windows], complex),
    )


def _speed_vector(speed: Array, bars: Array) -> complex:
    speed = np.asarray(speed, np.float64)
    if (speed < 0).any():
        raise ParameterError("speed must be 0 or more in every frame")
    total = float(speed.sum())
    if total <= 0:
        return 0j
    return complex(np.sum((speed - speed.mean()) * np.exp(2j * np.pi * bars)) / total)


def _height_vector(height: Array, bars: Array) -> complex:
    centred = np.asarray(height, np.float64) - np.mean(height, dtype=np.float64)
    deviation = float(centred.std())
    # What only rounding changes does not vary.
    if deviation <= 1e-9 * (1.0 + float(np.abs(height).max())):
        return 0j
    angles = 2 * np.pi * bars
    basis = np.stack([np.cos(angles), np.sin(angles), np.ones(len(bars))], axis=1)
    cosine, sine, _ = np.linalg.lstsq(basis, centred, rcond=None)[0]
    return complex(cosine, sine) / (np.sqrt(2.0) * deviation)


def _unit(value: complex) -> complex:
    size = abs(value)
    return complex(value / size) if size > 1e-12 else 0j
