"""Feature: one named block of a feature row."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from deepphase.arrays import brief_repr
from deepphase.config import section
from deepphase.errors import ParameterError
from deepphase.features.trajectory import TRAJECTORY_DIRECTION, TRAJECTORY_POSITION


@dataclass(frozen=True)
class FeatureKind:
    """Kind of a feature: axes, repetition and unit of its values."""

    axes: tuple[str, ...]  # Names of the values of one joint, offset or channel
    # Dimension over which they are repeated: "joints", "offsets" or "channels" (and offsets).
    per: str
    unit: str  # Unit of the values


FEATURE_KINDS = {
    TRAJECTORY_POSITION: FeatureKind(("x", "z"), "offsets", "m"),
    TRAJECTORY_DIRECTION: FeatureKind(("x", "z"), "offsets", "1"),
    "joint_position": FeatureKind(("x", "y", "z"), "joints", "m"),
    "joint_velocity": FeatureKind(("x", "y", "z"), "joints", "m/s"),
    "phase_manifold": FeatureKind(("sin", "cos"), "channels", "1"),
    "track": FeatureKind(("",), "channels", "1"),
}
"""The kinds of features. All lie in the root space of their frame (Y up, facing +Z)."""

_MAX_OFFSET_S = 60.0
_MAX_SMOOTHING_S = 10.0
_MAX_CHANNELS = 100_000


@brief_repr
@dataclass(frozen=True)
class Feature:
    """One named block of a feature row.

    Parameters
    ----------
    name
        Name, unique in the layout.
    kind
        One of FEATURE_KINDS. By default the kind that the name is or ends with; "foot_position"
        with joints is a joint_position.
    joints
        Joint names or roles, for the joint kinds.
    offsets_s
        Seconds from the frame, rising. Required for the trajectory kinds; 0 by default for
        phase_manifold and track.
    smoothing_s
        For the joint kinds: standard deviation in seconds of a Gaussian low-pass filter over time;
        0 is not a filter. Positions filtered at 0.5 s are the slow pose: how a body holds itself,
        without its steps.
    channels
        Phase channels, or values per frame of a track; 0 takes the number from the data.
    track
        Track of a motion; the feature's name by default.
    unit
        Unit of the values; the kind's by default.
    weight
        Weight of the block after normalisation.

    Raises
    ------
    ParameterError
        Where the values contradict the kind.
    """

    name: str
    kind: str = ""
    joints: tuple[str, ...] = ()
    offsets_s: tuple[float, ...] = ()
    smoothing_s: float = 0.0
    channels: int = 0
    track: str = ""
    unit: str = ""
    weight: float = 1.0

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "joints", tuple(self.joints))
        set_field(self, "offsets_s", tuple(float(offset) for offset in self.offsets_s))
        set_field(self, "kind", self.kind or _kind_of_name(self.name, bool(self.joints)))
        if self.kind not in FEATURE_KINDS:
            raise self._wrong(f"no kind {self.kind!r}", f"kinds: {', '.join(FEATURE_KINDS)}")
        kind = FEATURE_KINDS[self.kind]
        set_field(self, "unit", self.unit or kind.unit)
        if self.track and self.kind != "track":
            raise self._wrong("only a track feature names a track")
        if self.kind == "track":
            set_field(self, "track", self.track or self.name)
        per = kind.per
        if per == "channels" and not self.offsets_s:
            set_field(self, "offsets_s", (0.0,))
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise self._wrong(f"a weight of {self.weight}", "weights are 0 or positive")
        if (per == "joints") != bool(self.joints):
            raise self._wrong("joints belong to joint_position and joint_velocity, and only there")
        if (per == "joints") == bool(self.offsets_s):
            raise self._wrong("offsets_s belong to all kinds but those of joints")
        if len(set(self.joints)) != len(self.joints):
            raise self._wrong("a joint occurs twice")
        if not 0 <= self.smoothing_s <= _MAX_SMOOTHING_S:
            raise self._wrong(f"smoothing_s must lie in 0 to {_MAX_SMOOTHING_S:g} s")
        if self.smoothing_s and per != "joints":
            raise self._wrong("smoothing_s belongs to joint_position and joint_velocity")
        if list(self.offsets_s) != sorted(set(self.offsets_s)):
            raise self._wrong("offsets_s must rise")
        if not all(abs(offset) <= _MAX_OFFSET_S for offset in self.offsets_s):
            raise self._wrong(f"offsets_s beyond {_MAX_OFFSET_S:g} s")
        if not 0 <= self.channels <= _MAX_CHANNELS or (self.channels and per != "channels"):
            raise self._wrong(f"channels: {self.channels}")

    @property
    def dims(self) -> int:
        """Numbers in the block."""
        kind = FEATURE_KINDS[self.kind]
        places = len(self.joints) if kind.per == "joints" else len(self.offsets_s)
        return len(kind.axes) * places * (self.channels if kind.per == "channels" else 1)

    @property
    def value_names(self) -> list[str]:
        """(dims,) a name for each number, starting with the block's."""
        kind = FEATURE_KINDS[self.kind]
        if kind.per == "joints":
            places = list(self.joints)
        else:
            places = [f"{offset:+g}s" for offset in self.offsets_s]
            if kind.per == "channels":
                places = [f"{place}.{i}" for place in places for i in range(self.channels)]
        return [
            ".".join(part for part in (self.name, place, axis) if part)
            for place in places
            for axis in kind.axes
        ]

    def __str__(self) -> str:
        parts = [f"{self.name} ({self.kind})" if self.name != self.kind else self.name]
        parts.append(f"{self.dims} values [{self.unit}]")
        if self.joints:
            parts.append(f"joints {', '.join(self.joints)}")
        if self.offsets_s and self.offsets_s != (0.0,):
            parts.append(f"at {', '.join(f'{offset:g}' for offset in self.offsets_s)} s")
        if self.smoothing_s:
            parts.append(f"low-pass filtered over {self.smoothing_s:g} s")
        parts.append(f"weight {self.weight:g}")
        return ", ".join(parts)

    @classmethod
    def from_mapping(cls, entry: Any) -> Feature:
        """A feature from YAML; ParameterError where a key is unknown or a value is invalid."""
        if not isinstance(entry, dict) or "name" not in entry:
            raise ParameterError(
                f"a feature must be a mapping with a name, not {entry!r}",
                hint=f"keys: {', '.join(item.name for item in fields(cls))}",
            )
        return section(cls, entry, f"feature {entry['name']!r}")

    def as_mapping(self) -> dict[str, Any]:
        """Mapping that `from_mapping` reads, without empty values."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in values.items()
            if value not in ((), "") and not (key in ("channels", "smoothing_s") and value == 0)
        }

    def _wrong(self, fact: str, hint: str = "") -> ParameterError:
        return ParameterError(f"feature {self.name!r}: {fact}", hint=hint)


def _kind_of_name(name: str, of_joints: bool) -> str:
    if of_joints:
        name = f"joint_{name.rpartition('_')[2]}"
    return next((kind for kind in FEATURE_KINDS if name == kind or name.endswith(f"_{kind}")), name)
