"""Clip: local rotations and translations of a skeleton's joints over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.skeleton import Skeleton
from deepphase.short_repr import brief_repr, counted, short_repr, timed

# Sine of half the largest angle that counts as rounding.
_NO_TURN = 1e-6


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
