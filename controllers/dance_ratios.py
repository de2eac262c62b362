"""How phase channels of dances stand to beat and bar: ratios of frequency, and where they fall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.errors import CheckpointError, ParameterError
from deepphase.phase.parameters import wrapped

Array = np.ndarray

_OF_BEATS = (
    *((1, 8), (1, 6), (1, 4), (1, 3), (1, 2), (2, 3)),
    *((1, 1), (3, 2), (2, 1), (3, 1), (4, 1)),
)
# Of beats alone it is not known which one a bar begins with: whoever moves once in a bar would
# be a third of it away as well.
_OF_BARS = ((1, 4), (1, 2), (1, 1), (2, 1))
RATIOS = (
    *((cycles, count, "beat") for cycles, count in _OF_BEATS),
    *((cycles, count, "bar") for cycles, count in _OF_BARS),
)
"""(cycles, count, "beat" or "bar"): so many cycles of a channel in so many beats, or bars."""

_IS_BAR = np.array([of == "bar" for _, _, of in RATIOS]).astype(np.intp)

# Octaves: at this distance a frequency belongs to a ratio no more.
_REACH = 0.25
# Frames whose phases are as good as independent, about two seconds at 60 a second.
_FRAMES_APART = 120
# Times of what chance alone gathers.
_OVER_CHANCE = 2.0


def ratio_values() -> Array:
    """(ratios,) cycles a beat, or a bar."""
    return np.array([cycles / count for cycles, count, _ in RATIOS])


def counts() -> Array:
    """(ratios,) beats, or bars, that a ratio is of."""
    return np.array([float(count) for _, count, _ in RATIOS])


def of_each(clock: Array) -> Array:
    """(..., ratios) of (..., 2), a beat's and a bar's: what each ratio goes by."""
    return np.asarray(clock)[..., _IS_BAR]


def nearness(frequency: Array, clock_hz: Array) -> Array:
    """(..., ratios) from 1, exactly that many cycles, to 0, another ratio or none.

    Parameters
    ----------
    frequency : (...)
        Hz of channels.
    clock_hz : (..., 2)
        Hz of beat and bar, of a shape that broadcasts against it; 0 where it cannot be told.
    """
    each_hz = of_each(clock_hz)
    known = (np.asarray(frequency)[..., None] > 0) & (each_hz > 0)
    cycles = np.where(known, np.asarray(frequency)[..., None], 1.0) / np.where(known, each_hz, 1.0)
    apart = np.abs(np.log2(cycles) - np.log2(ratio_values()))
    near = np.zeros(apart.shape)
    for part in (_IS_BAR == 0, _IS_BAR == 1):
        some = apart[..., part]
        nearest = some == some.min(axis=-1, keepdims=True)
        near[..., part] = np.clip(1.0 - some / _REACH, 0.0, 1.0) * nearest
    return near * known


def differences(phase: Array, clock: Array) -> Array:
    """(..., ratios) cycles in [-0.5, 0.5): what stays where a channel keeps its ratio.

    With p cycles in q beats it is q * phase - p * beat: whole cycles of either change nothing.

    Parameters
    ----------
    phase : (...)
        Cycles of channels.
    clock : (..., 2)
        Beats since any one and bars since any, of a shape that broadcasts against it.
    """
    cycles = np.array([float(each) for each, _, _ in RATIOS])
    return wrapped(
        np.asarray(phase, np.float64)[..., None] * counts()
        - np.asarray(of_each(clock), np.float64) * cycles
    )


@dataclass(frozen=True, eq=False)
class BeatRatios:
    """Where in the cycle of each channel beats and bars fall, learnt from dances.

    Parameters
    ----------
    offset
        (channels, ratios) cycles: circular mean of `differences`.
    concentration
        (channels, ratios) from 0, beats fall anywhere, to 1, always at one phase.
    chance
        (channels, ratios) the concentration that as many beats anywhere have on average.
    share
        (channels, ratios) share of the channel's amplitude that has the ratio.
    """

    offset: Array
    concentration: Array
    chance: Array
    share: Array

    @property
    def channels(self) -> int:
        """How many."""
        return len(self.offset)

    @property
    def weights(self) -> Array:
        """(channels, ratios) 0 to 1: how far each is to be relied on; 0 where it may be chance."""
        sure = self.concentration > _OVER_CHANCE * self.chance
        return np.where(sure, self.concentration, 0.0)

    @classmethod
    def learnt(
        cls, dances: Iterable[tuple[Array, Array, Array, Array, Array]], channels: int
    ) -> BeatRatios:
        """From dances as (phase, frequency, amplitude, clock, clock_hz).

        Parameters
        ----------
        dances
            The first three (frames, channels): cycles, Hz, the latent's unit. The others
            (frames, 2): beats and bars since any one, and Hz; 0 Hz where there is none.
        channels
            How many.
        """
        shape = (channels, len(RATIOS))
        sums, weight, square = np.zeros(shape, complex), np.zeros(shape), np.zeros(shape)
        every = np.zeros(channels)
        for phase, frequency, amplitude, clock, clock_hz in dances:
            if phase.shape[1] != channels:
                raise ParameterError(f"{phase.shape[1]} channels of {channels}")
            near = nearness(frequency, clock_hz[:, None])
            each = near * np.square(amplitude.astype(np.float64))[..., None]
            sums += (each * np.exp(2j * np.pi * differences(phase, clock[:, None]))).sum(axis=0)
            weight += each.sum(axis=0)
            square += np.square(each).sum(axis=0)
            every += np.square(amplitude[clock_hz[:, 0] > 0]).sum(axis=0)
        safe = np.where(weight > 0, weight, 1.0)
        # Effective number of frames (Kish), of which only those far apart count.
        independent = np.square(weight) / np.where(square > 0, square, 1.0) / _FRAMES_APART
        chance = np.minimum(0.89 / np.sqrt(np.maximum(independent, 1e-9)), 1.0)
        return cls(
            wrapped(np.angle(sums) / (2 * np.pi)),
            np.abs(sums) / safe,
            np.where(weight > 0, chance, 1.0),
            weight / np.where(every > 0, every, 1.0)[:, None],
        )

    def as_mapping(self) -> dict[str, Any]:
        """What `from_mapping` reads, and a file's header holds."""
        names = ("offset", "concentration", "chance", "share")
        found: dict[str, Any] = {name: getattr(self, name).tolist() for name in names}
        return found | {"ratios": [list(ratio) for ratio in RATIOS]}

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> BeatRatios:
        """What `as_mapping` wrote; CheckpointError where it is none."""
        try:
            if [tuple(ratio) for ratio in content["ratios"]] != list(RATIOS):
                raise ValueError("other ratios")
            names = ("offset", "concentration", "chance", "share")
            made = cls(*(np.array(content[name], np.float64) for name in names))
            shapes = {getattr(made, name).shape for name in names}
            if shapes != {(made.channels, len(RATIOS))}:
                raise ValueError("arrays of other shapes")
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"no phases of beats: {' '.join(str(error).split())[:200]}",
                hint="train the dancer again",
            ) from None
        return made
