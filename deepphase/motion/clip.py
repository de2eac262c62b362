"""Clip: local rotations and translations of a skeleton's joints over time, and its kinematics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from deepphase.arrays import Array, brief_repr, counted, short_repr, timed
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.skeleton import Skeleton, joint_depths

# Sine of half the largest angle that counts as rounding.
_NO_TURN = 1e-6
SLOWEST_FPS, FASTEST_FPS = 1.0, 2000.0
# For reciprocals of frame times.
_RATE_SLACK = 1e-9


def is_plausible_rate(fps: float) -> bool:
    """Whether a body can have been captured at `fps` frames per second."""
    # Comparisons with NaN are false.
    return SLOWEST_FPS * (1.0 - _RATE_SLACK) <= fps <= FASTEST_FPS * (1.0 + _RATE_SLACK)


@brief_repr
@dataclass(frozen=True)
class Source:
    """Provenance of a clip, and the conventions of its file, which writers use again.

    Parameters
    ----------
    path
        The file; empty for synthetic motion.
    unit_m
        Metres in one unit of the file.
    up
        The file's up axis: "x", "y", "z", "-x", "-y" or "-z".
    fps
        Frames a second as captured.
    rotation_orders
        (joints,) the file's Euler order of each joint, as in "ZXY"; empty where it has none.
    notes
        What was read, inferred or assumed, one sentence each.
    first_line
        Line of the file's first frame where every frame is one line of text, else 0.
    song
        The sound file of the song that belongs to the motion, empty where there is none.
    song_start_s
        The song's second at the clip's first frame.
    """

    path: str = ""
    unit_m: float = 1.0
    up: str = "y"
    fps: float = 0.0
    rotation_orders: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    first_line: int = 0
    song: str = ""
    song_start_s: float = 0.0

    @property
    def conventions(self) -> Source:
        """Unit, up axis and rotation orders alone: what writers use again."""
        return Source(unit_m=self.unit_m, up=self.up, rotation_orders=self.rotation_orders)


class MotionBase:
    """What clips and point tracks have in common: frames at a rate, labels and a source."""

    name: str
    fps: float
    labels: Mapping[str, str]

    def _check(self, frames: int) -> None:
        object.__setattr__(self, "labels", MappingProxyType(dict(self.labels)))
        if frames == 0:
            self._refuse("this is a motion without frames")
        if not (np.isfinite(self.fps) and self.fps > 0):
            self._refuse(f"a rate of {self.fps} frames a second is not possible")

    def _refuse(self, fact: str, hint: str = "") -> NoReturn:
        raise ParameterError(f"{self.name}: {fact}", hint=hint)

    def __len__(self) -> int:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        # The read-only view of the labels cannot be pickled.
        values = (getattr(self, item.name) for item in fields(self))  # type: ignore[arg-type]
        return type(self), tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (len(self) - 1) / self.fps


@dataclass(frozen=True, eq=False)
class Clip(MotionBase):
    """A motion of a skeleton: metres, right-handed, Y up.

    Parameters
    ----------
    skeleton
        The joints.
    rotations
        (frames, joints, 4) local rotations, unit quaternions (x, y, z, w).
    translations
        (frames, translated joints, 3) metres: local positions, in place of the rest offset, of
        the joints whose position changes.
    fps
        Frames a second.
    translated_joints
        (translated joints,) their indices, rising; the root (0) is always the first.
    labels
        Name -> value, as in {"style": "old", "action": "walk"}.
    source
        Provenance.
    name
        Name in tables and figures.

    Raises
    ------
    ParameterError
        If shapes do not match, a value is not finite or a quaternion is not of unit length.
    """

    skeleton: Skeleton
    rotations: Array
    translations: Array
    fps: float
    translated_joints: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    labels: Mapping[str, str] = field(default_factory=dict)
    source: Source = Source()
    name: str = "clip"

    def __post_init__(self) -> None:
        object.__setattr__(self, "translated_joints", np.asarray(self.translated_joints, np.int64))
        frames, joints, moving = len(self.rotations), len(self.skeleton), self.translated_joints
        self._check(frames)
        for what, array, shape in (
            ("rotations", self.rotations, (frames, joints, 4)),
            ("translations", self.translations, (frames, len(moving), 3)),
        ):
            if array.shape != shape:
                self._refuse(f"{what} have shape {array.shape}, expected {shape}")
        if moving.size == 0 or moving[0] != 0 or (np.diff(moving) <= 0).any():
            self._refuse("translated joints must rise from the root, 0")
        if moving[-1] >= joints:
            self._refuse(f"translated joint {moving[-1]} does not exist")
        if not (np.isfinite(self.rotations).all() and np.isfinite(self.translations).all()):
            self._refuse("a rotation or translation is not finite")
        lengths = np.einsum("...c,...c->...", self.rotations, self.rotations)
        wrong = np.abs(lengths - 1.0) > 1e-3
        if wrong.any():
            frame, joint = np.argwhere(wrong)[0]
            self._refuse(
                f"frame {frame}, joint {self.skeleton.names[joint]!r}: a quaternion of length "
                f"{np.sqrt(lengths[frame, joint]):.3g} is not a rotation",
                hint="normalise rotations before making a clip of them",
            )

    def __repr__(self) -> str:
        joints = counted(len(self.skeleton), "joint")
        return short_repr(self, repr(self.name), timed(len(self), self.fps), joints)

    def __len__(self) -> int:
        return len(self.rotations)

    @property
    def has_rotations(self) -> bool:
        """Whether any rotation is informative: in clips of point tracks all are the identity."""
        few = len(self.translated_joints) < len(self.skeleton)
        return few or bool((np.abs(self.rotations[..., :3]) > _NO_TURN).any())

    def local_positions(self) -> Array:
        """(frames, joints, 3) metres: rest offsets, replaced at translated joints."""
        local = np.broadcast_to(
            self.skeleton.offsets.astype(self.rotations.dtype), (*self.rotations.shape[:2], 3)
        ).copy()
        local[:, self.translated_joints] = self.translations
        return local

    def sliced(self, start: int, stop: int) -> Clip:
        """Frames start to stop - 1 as a clip."""
        source = self.source
        if source.song:
            first = slice(start, stop).indices(len(self))[0]
            source = replace(source, song_start_s=source.song_start_s + first / self.fps)
        return replace(
            self,
            rotations=self.rotations[start:stop],
            translations=self.translations[start:stop],
            source=source,
        )

    def in_order_of(self, skeleton: Skeleton) -> Clip:
        """The same motion with the joints in the order of a skeleton of the same hierarchy.

        This clip keeps its own rest offsets. Raises SkeletonError where the hierarchies differ.
        """
        order, own = skeleton.order_of(self.skeleton), self.skeleton
        if (order == np.arange(len(order))).all():
            return self
        new_index = np.argsort(order)
        moved = new_index[self.translated_joints]
        rank, orders = np.argsort(moved), self.source.rotation_orders
        return replace(
            self,
            skeleton=Skeleton(
                skeleton.names,
                skeleton.parents,
                own.offsets[order],
                new_index[own.end_parents],
                own.end_offsets,
            ),
            rotations=self.rotations[:, order],
            translations=self.translations[:, rank],
            translated_joints=moved[rank],
            source=replace(
                self.source, rotation_orders=tuple(orders[i] for i in order) if orders else ()
            ),
        )


def in_float32(clip: Clip) -> Clip:
    """The clip with float32 arrays, which stores hold. Raises ParameterError beyond their range."""
    # Values beyond float32 become infinite, which Clip refuses.
    with np.errstate(over="ignore"):
        rotations = clip.rotations.astype(np.float32)
        translations = clip.translations.astype(np.float32)
    return replace(clip, rotations=rotations, translations=translations)


def global_transforms(clip: Clip) -> tuple[Array, Array]:
    """Rotations (frames, joints, 4) and positions (frames, joints, 3), metres, in the world."""
    # Joints first, so that one depth of the tree is contiguous and done in one step.
    local_rotations = np.ascontiguousarray(clip.rotations.swapaxes(0, 1))
    local_positions = np.ascontiguousarray(clip.local_positions().swapaxes(0, 1))
    rotations, positions = local_rotations.copy(), local_positions.copy()
    parents = clip.skeleton.parents
    depths = joint_depths(clip.skeleton)
    for depth in range(1, depths.max() + 1):
        joints = np.flatnonzero(depths == depth)
        parent_rotations = rotations[parents[joints]]
        rotations[joints] = quaternions.multiply(parent_rotations, local_rotations[joints])
        positions[joints] = positions[parents[joints]] + quaternions.rotate(
            parent_rotations, local_positions[joints]
        )
    return rotations.swapaxes(0, 1), positions.swapaxes(0, 1)


def joint_positions(clip: Clip) -> Array:
    """(frames, joints, 3) metres: the joints in the world."""
    return global_transforms(clip)[1]


def end_positions(clip: Clip, transforms: tuple[Array, Array] | None = None) -> Array:
    """(frames, ends, 3) metres: the end sites in the world."""
    rotations, positions = global_transforms(clip) if transforms is None else transforms
    parents = clip.skeleton.end_parents
    offsets = clip.skeleton.end_offsets.astype(positions.dtype)
    return positions[:, parents] + quaternions.rotate(rotations[:, parents], offsets)


def without_joints(clip: Clip, joints: Collection[int]) -> Clip:
    """The clip without some joints; all others keep their places and turns in the world.

    What hangs from one of them then hangs from the next one above. SkeletonError where no root is
    left, or several.
    """
    skeleton, above = clip.skeleton, {-1: -1}
    kept = [joint for joint in range(len(skeleton)) if joint not in joints]
    row = {joint: place for place, joint in enumerate(kept)} | {-1: -1}
    for joint, parent in enumerate(skeleton.parents.tolist()):
        above[joint] = joint if joint in row else above[parent]
    parents = np.array([above[int(skeleton.parents[joint])] for joint in kept], np.int64)
    if np.count_nonzero(parents < 0) != 1:
        raise SkeletonError(
            "no root is left, or several: a skeleton has one",
            hint="keep the joint from which the others hang",
        )
    rotations, positions = clip.rotations[:, kept].copy(), clip.local_positions()[:, kept]
    offsets, rest = skeleton.offsets[kept].copy(), skeleton.rest_positions
    moved = np.flatnonzero(parents != skeleton.parents[kept])
    if len(moved):
        turns, places = global_transforms(clip)
        for place in moved.tolist():
            joint, parent = kept[place], int(parents[place])
            rotations[:, place], positions[:, place] = turns[:, joint], places[:, joint]
            offsets[place] = rest[joint] - (rest[parent] if parent >= 0 else 0.0)
            if parent >= 0:
                back = quaternions.conjugate(turns[:, parent])
                rotations[:, place] = quaternions.multiply(back, turns[:, joint])
                gap = places[:, joint] - places[:, parent]
                positions[:, place] = quaternions.rotate(back, gap)
    translated = {row[joint] for joint in clip.translated_joints.tolist() if joint in row}
    moving = np.array(sorted({0, *moved.tolist(), *translated}), np.int64)
    ends = [end for end, joint in enumerate(skeleton.end_parents.tolist()) if joint in row]
    orders = clip.source.rotation_orders
    return replace(
        clip,
        skeleton=Skeleton(
            tuple(skeleton.names[joint] for joint in kept),
            np.array([row[parent] for parent in parents.tolist()]),
            offsets,
            np.array([row[joint] for joint in skeleton.end_parents[ends].tolist()], np.int64),
            skeleton.end_offsets[ends],
        ),
        rotations=rotations,
        translations=positions[:, moving],
        translated_joints=moving,
        source=replace(
            clip.source, rotation_orders=tuple(orders[joint] for joint in kept) if orders else ()
        ),
    )


def velocities(positions: Array, fps: float) -> Array:
    """Time derivative of (frames, ...) by central differences, 0 for one frame."""
    if len(positions) < 2:
        return np.zeros_like(positions)
    steps = np.gradient(positions, axis=0, edge_order=2 if len(positions) > 2 else 1)
    return steps * positions.dtype.type(fps)


def derivative_sizes(positions: Array, fps: float, order: int) -> Array:
    """(frames, joints) size of derivative 2 or 3 of (frames, joints, 3), repeated at the ends."""
    if len(positions) <= order:
        raise ParameterError(
            f"a derivative of order {order} needs more than {order} frames, not {len(positions)}"
        )
    differences = np.diff(positions.astype(np.float64), n=order, axis=0) * fps**order
    size = np.linalg.norm(differences, axis=-1)
    before = order // 2
    return np.pad(size, ((before, order - before), (0, 0)), mode="edge")
