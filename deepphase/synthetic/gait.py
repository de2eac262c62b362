"""Gaits: when each foot is on the ground, and how the body moves meanwhile; their tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import yaml

from deepphase.arrays import Array
from deepphase.config import as_mapping, check_known, section
from deepphase.errors import ParameterError
from deepphase.synthetic.waves import COEFFICIENTS, Wave

# Degrees of freedom of the trunk and the arms, with the sign that is positive:
# side (m, left), up (m), ahead (m); of the hips: tilt (forward), turn (to the left), list (left
# side up); the same of the whole spine, the head; of an arm: swing (forward), raise (sideways),
# elbow (bent), twist (palm forward); scapula (forward), tail_raise (up). Radians where not m.
BIPED_FREEDOMS = (
    "side", "up", "ahead", "tilt", "turn", "list",
    "spine_tilt", "spine_turn", "spine_list", "head_tilt", "head_turn",
    "arm_swing", "arm_raise", "elbow", "arm_twist",
)  # fmt: skip
QUADRUPED_FREEDOMS = (
    "side", "up", "ahead", "tilt", "turn", "list",
    "spine_tilt", "spine_turn", "spine_list", "head_tilt", "head_turn",
    "scapula", "tail_raise",
)  # fmt: skip
FREEDOMS = {"biped": BIPED_FREEDOMS, "quadruped": QUADRUPED_FREEDOMS}


@dataclass(frozen=True)
class Style:
    """How one individual differs from another in the same gait.

    Parameters
    ----------
    tail_frequency
        Hz of a wagging tail.
    """

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
        low_high = {
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
        plain = cls()
        draws = {name: generator.uniform(*bounds) for name, bounds in low_high.items()}
        return cls(**{name: getattr(plain, name) + variety * draw for name, draw in draws.items()})


# Which style factor scales the harmonics of a degree of freedom, and which is added to its mean.
_STYLE_FACTORS = {
    "side": "sway", "up": "bounce", "arm_swing": "arm_swing", "elbow": "arm_swing",
}  # fmt: skip
_STYLE_MEANS = {
    "spine_tilt": "lean", "elbow": "elbow", "arm_raise": "arm_raise", "head_tilt": "head_tilt",
}  # fmt: skip


@dataclass(frozen=True)
class Gait:
    """A way to go, in cycles of one stride.

    A limb's phase is 0 at its touch-down. It stands from there until `duty`, except in a hop
    (step and hop on one foot, as in a skip) between the two phases in `hop`.

    Parameters
    ----------
    speed
        m/s at which it is usual, and at which the numbers below hold.
    frequency
        Strides a second (Hz) at that speed.
    heading
        (side, forward) unit vector of travel in the body's frame.
    """

    name: str
    speed: float
    frequency: float
    duty: float | tuple[float, ...]
    lags: tuple[float, ...]
    exponent: float = 0.5
    heading: tuple[float, float] = (0.0, 1.0)
    hop: tuple[float, float] = (0.2, 0.2)
    step_height: float = 0.05
    strike: float = 0.0
    toe_off: float = 0.8
    swing_flexion: float = 0.0
    loading: float = 0.12
    width: float = 0.0
    forward: float | tuple[float, ...] = 0.0
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
        unknown = set(self.waves) - set(freedoms)
        if unknown:
            raise ParameterError(
                f"gait {self.name!r}: this body has no {', '.join(sorted(unknown))}",
                hint=f"it has {', '.join(freedoms)}",
            )
        rows = np.zeros((len(freedoms), COEFFICIENTS))
        effort = self.effort(speed)
        for row, name in enumerate(freedoms):
            factor = getattr(style, _STYLE_FACTORS[name]) if name in _STYLE_FACTORS else 1.0
            rows[row] = self.waves.get(name, Wave()).coefficients(effort * factor)
            if name in _STYLE_MEANS:
                rows[row, 0] += getattr(style, _STYLE_MEANS[name])
        return rows

    def per_limb(self, name: str, limbs: int) -> Array:
        """(limbs,) one of the fields that may be one number for all limbs."""
        return np.broadcast_to(np.asarray(getattr(self, name), np.float64), (limbs,)).copy()

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, int | float) and not np.isfinite(value):
                raise ParameterError(f"gait {self.name!r}: {entry.name} is {value}")
        if self.frequency < 0:
            raise ParameterError(f"gait {self.name!r}: the stride frequency is below 0")
        duty = np.asarray(self.duty)
        if (duty <= 0).any() or (duty > 1).any():
            raise ParameterError(f"gait {self.name!r}: the duty factor is outside of (0, 1]")
        if not 0 < self.hop[0] <= self.hop[1] < duty.min():
            raise ParameterError(f"gait {self.name!r}: a hop must lie within the stance")


@cache
def gaits_of(kind: str) -> Mapping[str, Gait]:
    """Name -> gait of a kind of body, read from gaits/<kind>.yaml once.

    Parameters
    ----------
    kind
        "biped" or "quadruped".
    """
    if kind not in FREEDOMS:
        raise ParameterError(
            f"there is no body of kind {kind!r}", hint=f"kinds: {', '.join(FREEDOMS)}"
        )
    path = Path(__file__).parent / "gaits" / f"{kind}.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        return MappingProxyType(
            {
                name: gait_from_mapping(name, values, FREEDOMS[kind])
                for name, values in content.items()
            }
        )
    except ParameterError as error:
        raise ParameterError(error.fact, hint=error.hint, path=path) from None


def gait_from_mapping(name: str, values: Mapping[str, Any], freedoms: tuple[str, ...]) -> Gait:
    """A gait from nested mappings, as YAML holds it.

    Parameters
    ----------
    values
        Field of `Gait` -> number or list of numbers; `waves`: degree of freedom -> field of `Wave`
        -> number.
    freedoms
        The degrees of freedom that the body has.
    """
    where = f"gait {name!r}"
    values = dict(as_mapping(values, where))
    waves = as_mapping(values.pop("waves", {}), f"{where}: waves")
    check_known(values, [item.name for item in fields(Gait) if item.name != "name"], where)
    check_known(waves, freedoms, f"{where}: waves")
    try:
        return Gait(
            name=name,
            waves={freedom: section(Wave, wave, freedom) for freedom, wave in waves.items()},
            **{key: _numbers(value) for key, value in values.items()},
        )
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{where} cannot be read: {error}") from None


def _numbers(value: Any) -> Any:
    """A number, or a list of numbers as a tuple."""
    if isinstance(value, list):
        return tuple(float(each) for each in value)
    return float(value)
