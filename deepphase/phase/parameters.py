"""Phase parameters, and the sign and unit conventions of phase for all other modules.

A phase channel describes a window of motion around a frame by one sinusoid,

    latent(t) = amplitude * sin(2 pi (frequency * t + phase)) + offset,

with t in seconds from the frame. `phase` is in cycles in [-0.5, 0.5) and grows with time: one
step of `dt` seconds is phase += frequency * dt. (Starke et al. 2022 write the shift S of eq. 4
with the other sign: phase = -S.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from deepphase.arrays import Array, short_repr, wrapped
from deepphase.errors import ParameterError


@dataclass(frozen=True, eq=False)
class PhaseParameters:
    """Phase, frequency, amplitude and offset of every channel, each (..., channels).

    Parameters
    ----------
    phase
        Cycles in [-0.5, 0.5), growing with time.
    frequency
        Hz, not negative.
    amplitude, offset
        In the latent's unit; amplitude is not negative.

    Raises
    ------
    ParameterError
        Where the shapes differ or a value is not finite.
    """

    phase: Array
    frequency: Array
    amplitude: Array
    offset: Array

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value.shape != self.phase.shape:
                raise ParameterError(
                    f"{item.name} {value.shape}, but phase {self.phase.shape}: shapes must agree"
                )
            if not np.isfinite(value).all():
                raise ParameterError(
                    f"{item.name} holds values that are not finite", hint="check the signals"
                )

    @classmethod
    def trusted(cls, phase: Array, frequency: Array, amplitude: Array, offset: Array) -> Self:
        """Parameters of arrays that were checked before, such as those of a file with hashes.

        Nothing is read, so that files larger than memory can be opened.
        """
        parameters = object.__new__(cls)
        for item, value in zip(fields(cls), (phase, frequency, amplitude, offset), strict=True):
            object.__setattr__(parameters, item.name, value)
        return parameters

    @classmethod
    def joined(cls, parts: Sequence[PhaseParameters]) -> PhaseParameters:
        """Parameters of successive frames, each (frames, channels), as one."""
        return PhaseParameters(
            *(np.concatenate([getattr(part, item.name) for part in parts]) for item in fields(cls))
        )

    def __repr__(self) -> str:
        shape = f"shape {self.phase.shape}: phase in cycles, frequency in Hz, amplitude, offset"
        return short_repr(self, shape)

    @property
    def channels(self) -> int:
        """Number of phase channels."""
        return self.phase.shape[-1]

    def __getitem__(self, index: object) -> PhaseParameters:
        return PhaseParameters(*(getattr(self, item.name)[index] for item in fields(self)))

    def manifold(self) -> Array:
        """(..., 2 * channels): A sin 2 pi phase, A cos 2 pi phase, interleaved by channel.

        References
        ----------
        Starke et al. 2022, eq. 8.
        """
        angle = 2.0 * np.pi * self.phase
        pair = np.stack([self.amplitude * np.sin(angle), self.amplitude * np.cos(angle)], axis=-1)
        return pair.reshape(*self.phase.shape[:-1], 2 * self.channels)

    def advanced(self, seconds: float | Array) -> PhaseParameters:
        """The same sinusoids seen from `seconds` later: phase += frequency * seconds.

        `seconds` is a number or an array that broadcasts against (..., channels).
        """
        return PhaseParameters(
            wrapped(self.phase + self.frequency * np.asarray(seconds, self.phase.dtype)),
            self.frequency,
            self.amplitude,
            self.offset,
        )

    def sinusoid(self, times: Array) -> Array:
        """(..., channels, times): the fitted latent at `times` (times,) seconds from the frame."""
        turns = self.frequency[..., None] * times + self.phase[..., None]
        return self.amplitude[..., None] * np.sin(2.0 * np.pi * turns) + self.offset[..., None]
