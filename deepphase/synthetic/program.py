"""Programs of synthetic motion: segments of gaits, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.synthetic.gait import Gait, gaits_of

PROFILES = ("constant", "drift", "ramp")
_SHORTEST_SEGMENT = 0.5


def gait_named(name: str | Gait, kind: str) -> Gait:
    """A gait of a kind of body; a Gait passes through. ParameterError lists what there is."""
    if isinstance(name, Gait):
        return name
    gaits = gaits_of(kind)
    if name not in gaits:
        raise ParameterError(
            f"there is no gait {name!r} of a {kind}", hint=f"gaits: {', '.join(gaits)}"
        )
    return gaits[name]


def segment_lengths(
    generator: np.random.Generator, seconds: float, shortest: float, longest: float
) -> Iterator[float]:
    """Lengths of segments that fill so many seconds, drawn one by one as they are asked for.

    The last one takes what would be shorter than the shortest: a rest too short to come to would
    be a stumble.
    """
    left = seconds
    while left > 0:
        length = float(generator.uniform(shortest, longest))
        length = left if left - length < shortest else length
        left -= length
        yield length


@dataclass(frozen=True)
class Tempo:
    """How stride frequency changes within a segment; speed changes with it, stride length not.

    Parameters
    ----------
    profile
        "constant"; "drift": to and fro as a sinusoid; "ramp": to and fro at a constant rate.
    extent
        Largest change as a share of the segment's frequency: 0.15 is 15 %.
    seconds
        Period of a drift.
    rate
        Hz a second of a ramp.
    """

    profile: str = "constant"
    extent: float = 0.15
    seconds: float = 8.0
    rate: float = 0.5

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ParameterError(
                f"there is no frequency profile {self.profile!r}",
                hint=f"profiles: {', '.join(PROFILES)}",
            )
        if not (0 < self.extent < 0.8 and self.seconds > 0 and self.rate > 0):
            raise ParameterError("a frequency profile needs an extent below 0.8, and rates above 0")

    def factor(self, seconds: Array, frequency: float) -> Array:
        """(frames,) factor on a frequency in Hz, `seconds` (frames,) after the start."""
        if self.profile == "constant" or frequency == 0:
            return np.ones_like(seconds)
        if self.profile == "drift":
            return 1.0 + self.extent * np.sin(2 * np.pi * seconds / self.seconds)
        period = 4.0 * self.extent * frequency / self.rate
        return 1.0 + self.extent * 2 / np.pi * np.arcsin(np.sin(2 * np.pi * seconds / period))


@dataclass(frozen=True)
class Segment:
    """One thing to do for a while.

    Parameters
    ----------
    seconds
        How long, with the transition from the segment before, which it must have time for.
    speed
        m/s along the gait's heading (negative: against it); None for the gait's own.
    frequency
        Strides a second (Hz); None for what is usual at that speed.
    oscillators
        Name -> Hz of what swings at a frequency of its own: "LeftArm" and "RightArm" wave, a
        quadruped's "Tail" wags (at its style's frequency by default; 0 Hz: not at all).
    """

    gait: str | Gait
    seconds: float
    speed: float | None = None
    turn_rate: float = 0.0
    frequency: float | None = None
    tempo: Tempo = Tempo()
    oscillators: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = [self.seconds, self.speed, self.turn_rate, self.frequency]
        numbers += list(self.oscillators.values())
        if not all(np.isfinite(number) for number in numbers if number is not None):
            raise ParameterError(
                "this segment has a number that is not finite", hint="give finite numbers"
            )
        if self.seconds < _SHORTEST_SEGMENT:
            raise ParameterError(
                f"a segment of {self.seconds:g} s is not possible",
                hint=f"a segment takes at least {_SHORTEST_SEGMENT} s",
            )
        if min(self.frequency or 0.0, *self.oscillators.values(), 0.0) < 0:
            raise ParameterError("a frequency of this segment is below 0", hint="give 0 Hz or more")


Program = Sequence[Segment]
