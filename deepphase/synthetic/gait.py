"""Gaits: when each foot is on the ground, and the waves by which the body moves meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.synthetic.bodies import BODY_KINDS, table

# Degrees of freedom of the trunk and the arms, with the sign that is positive:
# side (m, left), up (m), ahead (m); of the hips: tilt (forward), turn (to the left), list (left
# side up); the same of the whole spine, the head; of an arm: swing (forward), raise (sideways),
# elbow (bent), twist (palm forward); scapula (forward), tail_raise (up). Radians where not m.
_TRUNK = (
    "side", "up", "ahead", "tilt", "turn", "list",
    "spine_tilt", "spine_turn", "spine_list", "head_tilt", "head_turn",
)  # fmt: skip
ARM = ("arm_swing", "arm_raise", "elbow", "arm_twist")
FREEDOMS = {"biped": (*_TRUNK, *ARM), "quadruped": (*_TRUNK, "scapula", "tail_raise")}
# Which style factor scales the harmonics of a degree of freedom, and which is added to its mean.
_STYLE_FACTORS = {
    "side": "sway", "up": "bounce", "arm_swing": "arm_swing", "elbow": "arm_swing",
}  # fmt: skip
_STYLE_MEANS = {
    "spine_tilt": "lean", "elbow": "elbow", "arm_raise": "arm_raise", "head_tilt": "head_tilt",
}  # fmt: skip
# How far individuals lie from the plain style.
_SPREADS = {
    "cadence": (-0.07, 0.07),
    "arm_swing": (-0.45, 0.4),
    "bounce": (-0.35, 0.35),
    "sway": (-0.2, 0.2),
    "step_height": (-0.3, 0.4),
    "lean": (-0.05, 0.08),
    "elbow": (-0.05, 0.35),
    "arm_raise": (-0.05, 0.12),
    "head_tilt": (-0.12, 0.15),
    "stride_width": (-0.015, 0.03),
    "toe_out": (-0.1, 0.12),
    "tail_frequency": (-0.6, 1.0),
}
# Share of the way over which a brisk step becomes fast, and slow again.
_RAMP = 0.35


@dataclass(frozen=True)
class Wave:
    """One degree of freedom over a cycle: a mean and two harmonics, in radians or metres.

    value(phase) = mean + first cos 2 pi (phase - first_peak) + second cos 4 pi (phase -
    second_peak), phases in cycles.
    """

    mean: float = 0.0
    first: float = 0.0
    first_peak: float = 0.0
    second: float = 0.0
    second_peak: float = 0.0

    def coefficients(self, scale: float = 1.0, lag: float = 0.0) -> Array:
        """(5,) mean, cosine and sine of both harmonics, scaled and late by `lag` cycles."""
        one, two = 2 * np.pi * (self.first_peak + lag), 4 * np.pi * (self.second_peak + lag)
        first, second = scale * self.first, scale * self.second
        harmonics = first * np.cos(one), first * np.sin(one)
        return np.array([self.mean, *harmonics, second * np.cos(two), second * np.sin(two)])


def evaluate_waves(coefficients: Array, phase: Array) -> Array:
    """Values (frames, ...) of waves at phases (frames,), of coefficients (frames, ..., 5)."""
    angle = 2 * np.pi * phase
    harmonics = np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)
    basis = np.stack([np.ones_like(angle), *harmonics], axis=-1)
    return np.einsum("f...c,fc->f...", coefficients, basis)


def smooth_step(x: Array) -> Array:
    """0 before 0, 1 after 1, the minimum-jerk movement between (Flash and Hogan 1985)."""
    x = np.clip(x, 0.0, 1.0)
    return x * x * x * (10.0 + x * (6.0 * x - 15.0))


def brisk_step(x: Array) -> Array:
    """As `smooth_step`, at a constant rate after a share of the way: feet of people swing so."""
    x = np.clip(x, 0.0, 1.0)
    # Integral of the cubic 3 s^2 - 2 s^3 over both ramps, and of 1 between them.
    up, down = (np.clip(since / _RAMP, 0.0, 1.0) for since in (x, 1.0 - x))
    ramps = _RAMP * (up**3 - 0.5 * up**4 + 0.5 - (down**3 - 0.5 * down**4))
    return (ramps + np.clip(x - _RAMP, 0.0, 1.0 - 2.0 * _RAMP)) / (1.0 - _RAMP)


def smooth_bump(x: Array) -> Array:
    """0 outside of (0, 1), 1 at one half, smooth to the second derivative."""
    x = np.clip(x, 0.0, 1.0)
    return 64.0 * (x * (1.0 - x)) ** 3


def integrated(rate: Array, step: float) -> Array:
    """Integral over the first axis by the trapezoidal rule, 0 at the first frame."""
    steps = 0.5 * step * (rate[1:] + rate[:-1])
    return np.concatenate([np.zeros_like(rate[:1]), np.cumsum(steps, axis=0)])


def on_ground(heading: Array | float, side: Array | float, ahead: Array | float) -> Array:
    """(..., 2) x and z of what lies to the left and ahead of a heading (radians, +Z to +X)."""
    sine, cosine = np.sin(heading), np.cos(heading)
    return np.stack([cosine * side + sine * ahead, cosine * ahead - sine * side], axis=-1)


@dataclass(frozen=True)
class Style:
    """How one individual differs from another in the same gait; `tail_frequency` is in Hz."""

    cadence: float = 1.0
    arm_swing: float = 1.0
    bounce: float = 1.0
    sway: float = 1.0
    step_height: float = 1.0
    lean: float = 0.0
    elbow: float = 0.0
    arm_raise: float = 0.0
    head_tilt: float = 0.0
    stride_width: float = 0.0
    toe_out: float = 0.1
    tail_frequency: float = 2.0

    @classmethod
    def random(cls, generator: np.random.Generator, variety: float = 1.0) -> Style:
        """An individual; `variety` 0 is the plain style, 1 the usual spread."""
        plain = cls()
        draws = {name: generator.uniform(*bounds) for name, bounds in _SPREADS.items()}
        return cls(**{name: getattr(plain, name) + variety * draw for name, draw in draws.items()})


@dataclass(frozen=True)
class Gait:
    """A way to go, in cycles of one stride.

    A limb's phase is 0 at its touch-down. It stands from there until `duty`, except in a hop
    (step and hop on one foot, as in a skip) between the two phases in `hop`.
    """

    name: str
    speed: float  # m/s at which it is usual, and at which the other numbers hold
    frequency: float  # strides a second (Hz) at that speed
    duty: float
    lags: tuple[float, ...]
    exponent: float = 0.5  # of the frequency's growth with speed
    heading: tuple[float, float] = (0.0, 1.0)  # (side, forward) of travel in the body's frame
    hop: tuple[float, float] = (0.2, 0.2)
    step_height: float = 0.05
    strike: float = 0.0
    toe_off: float = 0.8
    swing_flexion: float = 0.0
    loading: float = 0.12
    width: float = 0.0
    forward: float = 0.0
    next: tuple[str, ...] = ()  # gaits that a body changes to in one transition
    waves: Mapping[str, Wave] = field(default_factory=dict)

    @property
    def moves(self) -> bool:
        """Whether its phase advances: not in a stand."""
        return self.frequency > 0

    def stride_frequency(self, speed: float, style: Style | None = None) -> float:
        """Hz at a speed in m/s, of either sign."""
        if self.speed == 0 or not self.moves:
            return self.frequency
        ratio = max(abs(speed) / abs(self.speed), 0.2)
        return self.frequency * ratio**self.exponent * (style.cadence if style else 1.0)

    def effort(self, speed: float) -> float:
        """Factor on the body's waves at a speed: larger when faster."""
        if self.speed == 0:
            return 1.0
        return float(np.clip((abs(speed) / abs(self.speed)) ** 0.5, 0.5, 1.4))

    def coefficients(self, freedoms: tuple[str, ...], speed: float, style: Style) -> Array:
        """(freedoms, 5) coefficients of the waves at a speed, in a style."""
        rows, effort = [], self.effort(speed)
        for name in freedoms:
            factor = getattr(style, _STYLE_FACTORS[name]) if name in _STYLE_FACTORS else 1.0
            rows.append(self.waves.get(name, Wave()).coefficients(effort * factor))
            if name in _STYLE_MEANS:
                rows[-1][0] += getattr(style, _STYLE_MEANS[name])
        return np.array(rows)


@cache
def gaits_of(kind: str) -> Mapping[str, Gait]:
    """Name -> gait of a kind of body ("biped" or "quadruped"), read once."""
    if kind not in BODY_KINDS:
        raise ParameterError(
            f"there is no body of kind {kind!r}", hint=f"kinds: {', '.join(BODY_KINDS)}"
        )
    return MappingProxyType({name: _gait(name, values) for name, values in table(kind).items()})


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


def waves_of(values: Mapping[str, Mapping[str, float]]) -> dict[str, Wave]:
    """Degree of freedom -> wave, from a table."""
    return {freedom: Wave(**wave) for freedom, wave in values.items()}


def _gait(name: str, values: Mapping[str, Any]) -> Gait:
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
    }
    return Gait(name, **(fields | {"waves": waves_of(values["waves"])}))
