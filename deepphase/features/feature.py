"""Bodies in root space, features (named blocks of a feature row), and the blocks of a trajectory.

A trajectory is the path of a body over the ground at offsets from now, relative to its root. Up to
three blocks of a row hold it. Each has x and z of every sample, interleaved, in the frame whose +Z
is the current facing:

trajectory_position    metres from the root
trajectory_direction   unit vectors of the facing
trajectory_velocity    m/s relative to the world
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.config import section
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip, joint_positions, velocities
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    root_trajectory,
    to_root_space,
    velocities_in_root_space,
)

TRAJECTORY_POSITION = "trajectory_position"
TRAJECTORY_DIRECTION = "trajectory_direction"
TRAJECTORY_VELOCITY = "trajectory_velocity"
TRAJECTORY_PATH = (TRAJECTORY_POSITION, TRAJECTORY_DIRECTION)
"""The blocks that `relative_trajectory` returns, in its order."""
TRAJECTORY_BLOCKS = (*TRAJECTORY_PATH, TRAJECTORY_VELOCITY)

# Seconds at a clip's ends whose mean velocity extrapolates the path.
_EXTRAPOLATION_S = 0.2


@dataclass(frozen=True, eq=False)
class BodyFrames:
    """Joints of every frame of a motion in root space, and the root trajectory."""

    joints: tuple[str, ...]  # Joint names
    positions: Array  # (frames, joints, 3) metres, root space
    velocities: Array  # (frames, joints, 3) m/s relative to the world, in the axes of root space
    root: RootTrajectory  # The root trajectory
    fps: float  # Frames per second

    def __len__(self) -> int:
        return len(self.positions)

    @classmethod
    def from_clip(cls, clip: Clip, body: Mapping[str, str] | None = None) -> BodyFrames:
        """The frames of a clip.

        `body`: role -> joint name (hips, hip and shoulder joints) and "kind", which makes the
        facing consistent with other clips of the body; found from the clip by default.
        """
        roles = find_roles(clip.skeleton, description=body, clip=clip)
        positions = joint_positions(clip)
        root = root_trajectory(clip, roles, positions=positions)
        return cls(
            clip.skeleton.names,
            to_root_space(positions, root),
            velocities_in_root_space(velocities(positions, clip.fps), root),
            root,
            clip.fps,
        )

    def index_of(self, joints: tuple[str, ...]) -> Array:
        """(named,) indices of named joints."""
        return np.array([self.joints.index(name) for name in joints])


@dataclass(frozen=True, eq=False)
class GroundTrajectory:
    """Positions on the ground and facings at moments, with any leading axes."""

    positions: Array  # (..., moments, 3) metres in the world; the height is ignored
    directions: Array  # (..., moments, 3) unit vectors on the ground


def relative_trajectory(
    positions: Array, directions: Array, root_position: Array, root_direction: Array
) -> tuple[Array, Array]:
    """A path relative to a root: the blocks of TRAJECTORY_PATH.

    `positions, directions` (..., moments, 3) are metres, and unit vectors on the ground;
    `root_position, root_direction` (..., 3) a position and its facing. Returns two arrays (..., 2 *
    moments): x and z of each moment, interleaved, in the frame whose +Z is the facing.
    """
    relative = positions - root_position[..., None, :]
    return _in_frame(relative, root_direction), _in_frame(directions, root_direction)


def path_of_clip(
    root: RootTrajectory, offsets_s: Array, fps: float
) -> tuple[GroundTrajectory, Array]:
    """The path at (moments,) offsets in seconds from every frame, and whether all lie in the clip.

    It is interpolated between frames, and extrapolated beyond the clip's ends with the mean
    velocity of the outermost 0.2 s and constant facing.
    """
    frames = len(root)
    moments = np.arange(frames)[:, None] + np.asarray(offsets_s, np.float64) * fps
    # Tolerance of 0.01 frames: offsets in decimal seconds are not exact numbers of frames.
    inside: Array = np.all((moments >= -0.01) & (moments <= frames - 1 + 0.01), axis=1)
    held = np.clip(moments, 0, frames - 1)
    known = np.arange(frames)
    ground = root.positions[:, [0, 2]].astype(np.float64)
    positions = np.stack([np.interp(held, known, ground[:, axis]) for axis in (0, 1)], -1)
    count = min(max(round(_EXTRAPOLATION_S * fps), 1), frames - 1)
    if count:
        before, after = np.minimum(moments, 0), np.maximum(moments - (frames - 1), 0)
        positions += before[..., None] * (ground[count] - ground[0]) / count
        positions += after[..., None] * (ground[-1] - ground[-1 - count]) / count
    angles = np.interp(held, known, root.angles.astype(np.float64))
    return GroundTrajectory(_on_ground(positions), facing_directions(angles)), inside


def facing_directions(angles: Array) -> Array:
    """(..., 3) unit vectors on the ground of angles (...) about Y from +Z, radians."""
    return _on_ground(np.stack([np.sin(angles), np.cos(angles)], -1))


class TrajectoryBlocks:
    """Access to the columns of rows that hold a trajectory.

    The samples of a block rise in time; the last ones are the present and the future. A layout may
    leave out past samples, and whole blocks.
    """

    def __init__(self, slices: Mapping[str, slice], later: int) -> None:
        self._slices = {name: slices[name] for name in TRAJECTORY_BLOCKS if name in slices}
        self._later = later

    def __contains__(self, name: str) -> bool:
        return name in self._slices

    def read(self, rows: Array, name: str) -> Array:
        """(..., samples) complex x + i z of all samples of a block, of rows (..., dims)."""
        return complex_of(rows[..., self._slices[name]])

    def read_later(self, rows: Array, name: str) -> Array:
        """(..., later) complex x + i z of the present and future samples."""
        return self.read(rows, name)[..., -self._later :]

    def write(self, rows: Array, trajectory: Array) -> None:
        """Write every block of rows (batch, dims).

        `trajectory` (3, batch, samples) complex x + i z of TRAJECTORY_BLOCKS; a block with fewer
        samples takes the last ones.
        """
        values = pairs(trajectory).reshape(3, len(rows), -1)
        for block, name in zip(values, TRAJECTORY_BLOCKS, strict=True):
            columns = self._slices.get(name)
            if columns is not None:
                rows[:, columns] = block[:, columns.start - columns.stop :]

    def columns_later(self, name: str, *, now: bool) -> range:
        """Columns of a block's future samples, with the present one if `now`."""
        count = 2 * (self._later if now else self._later - 1)
        stop = self._slices[name].stop
        return range(stop - count, stop)


def complex_of(values: Array) -> Array:
    """(..., 2 * n) x and z interleaved -> (..., n) complex x + i z."""
    return np.ascontiguousarray(values, np.float64).view(np.complex128)


def pairs(values: Array) -> Array:
    """(...) complex x + i z -> (..., 2)."""
    return np.ascontiguousarray(values, np.complex128)[..., None].view(np.float64)


def _on_ground(vectors: Array) -> Array:
    x, z = vectors[..., 0], vectors[..., 1]
    return np.stack([x, np.zeros_like(x), z], -1)


def _in_frame(vectors: Array, direction: Array) -> Array:
    """(..., moments, 3) -> (..., 2 * moments): components along +X (left) and +Z."""
    sine, cosine = direction[..., None, 0], direction[..., None, 2]
    x, z = vectors[..., 0], vectors[..., 2]
    components = np.stack([cosine * x - sine * z, sine * x + cosine * z], -1)
    return components.reshape(*components.shape[:-2], -1)


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
        name = f"joint_{self.name.rpartition('_')[2]}" if self.joints else self.name
        found = (kind for kind in FEATURE_KINDS if name == kind or name.endswith(f"_{kind}"))
        set_field(self, "kind", self.kind or next(found, name))
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
