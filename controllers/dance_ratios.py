"""How phase channels of dances stand to the beat: ratios of frequencies, and where beats fall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.errors import CheckpointError, ParameterError
from deepphase.phase.parameters import wrapped

Array = np.ndarray

RATIOS = ((1, 8), (1, 6), (1, 4), (1, 3), (1, 2), (2, 3), (1, 1), (3, 2), (2, 1), (3, 1), (4, 1))
"""(cycles, beats): so many cycles of a channel in so many beats."""

# Octaves: at this distance a frequency belongs to a ratio no more.
_REACH = 0.25
# Frames whose phases are as good as independent, about two seconds at 60 a second.
_FRAMES_APART = 120
# Times of what chance alone gathers.
_OVER_CHANCE = 2.0


def ratio_values() -> Array:
    """(ratios,) cycles a beat."""
    return np.array([cycles / beats for cycles, beats in RATIOS])


def nearness(frequency: Array, beat_hz: Array) -> Array:
    """(..., ratios) from 1, exactly that many cycles a beat, to 0, another ratio or none.

    Parameters
    ----------
    frequency : (...)
        Hz of channels.
    beat_hz
        Hz of the beat, of a shape that broadcasts against it.
    """
    known = (frequency > 0) & (np.asarray(beat_hz) > 0)
    cycles = np.where(known, frequency, 1.0) / np.where(known, beat_hz, 1.0)
    apart = np.abs(np.log2(cycles)[..., None] - np.log2(ratio_values()))
    near = np.clip(1.0 - apart / _REACH, 0.0, 1.0) * (apart == apart.min(axis=-1, keepdims=True))
    return near * known[..., None]


def differences(phase: Array, beat: Array) -> Array:
    """(..., ratios) cycles in [-0.5, 0.5): what stays where channel and beat keep their ratio.

    With p cycles in q beats it is q * phase - p * beat: whole cycles of either change nothing.

    Parameters
    ----------
    phase : (...)
        Cycles of channels.
    beat
        Beats since any one, of a shape that broadcasts against it.
    """
    cycles, beats = np.array(RATIOS, np.float64).T
    return wrapped(
        np.asarray(phase, np.float64)[..., None] * beats
        - np.asarray(beat, np.float64)[..., None] * cycles
    )


@dataclass(frozen=True, eq=False)
class BeatRatios:
    """Where in the cycle of each channel beats fall, learnt from dances.

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
        """From dances as (phase, frequency, amplitude, beat, beat_hz).

        Parameters
        ----------
        dances
            The first three (frames, channels): cycles, Hz, the latent's unit. The others
            (frames,): beats since any one, and Hz; 0 Hz where there is none.
        channels
            How many.
        """
        shape = (channels, len(RATIOS))
        sums, weight, square = np.zeros(shape, complex), np.zeros(shape), np.zeros(shape)
        every = np.zeros(channels)
        for phase, frequency, amplitude, beat, beat_hz in dances:
            if phase.shape[1] != channels:
                raise ParameterError(f"{phase.shape[1]} channels of {channels}")
            near = nearness(frequency, beat_hz[:, None])
            each = near * np.square(amplitude.astype(np.float64))[..., None]
            sums += (each * np.exp(2j * np.pi * differences(phase, beat[:, None]))).sum(axis=0)
            weight += each.sum(axis=0)
            square += np.square(each).sum(axis=0)
            every += np.square(amplitude[beat_hz > 0]).sum(axis=0)
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


def told_ratio(ratio: int) -> str:
    """A ratio in words, as in "1 cycle in 3 beats"."""
    cycles, beats = RATIOS[ratio]
    return f"{cycles} cycle{'s' * (cycles > 1)} in {beats} beat{'s' * (beats > 1)}"
