"""The pose of an SMPL file: which joints it turns, in one array or in many."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from deepphase.errors import FormatError
from deepphase.formats.npz_archive import NpzArchive
from deepphase.formats.smpl_skeleton import (
    BODY,
    EYES,
    FINGERS,
    HANDS,
    JAW,
    LEFT_FINGERS,
    RIGHT_FINGERS,
)
from deepphase.motion.skeleton import Array

# By the number of joints.
LAYOUTS = {
    len(names): names
    for names in (
        BODY,
        BODY + HANDS,
        BODY + FINGERS,
        BODY + FINGERS + JAW,
        BODY + JAW + EYES + FINGERS,
    )
}
_WHOLE = ("poses", "pose", "full_pose", "fullpose")
_ROOT = ("root_orient", "global_orient")
_WITHOUT_ROOT = ("pose_body", "body_pose", *_WHOLE)
# Other parts that a file may keep by themselves, and their joints.
_PARTS = (
    (("pose_jaw", "jaw_pose"), JAW),
    (("pose_eye", "pose_eyes"), EYES),
    (("leye_pose",), EYES[:1]),
    (("reye_pose",), EYES[1:]),
    (("pose_hand", "hand_pose"), FINGERS),
    (("left_hand_pose", "pose_lhand"), LEFT_FINGERS),
    (("right_hand_pose", "pose_rhand"), RIGHT_FINGERS),
)


@dataclass(frozen=True, eq=False)
class Pose:
    """Turns of joints over time.

    Parameters
    ----------
    names
        (joints,) of the joints, the pelvis first.
    rotation_vectors
        (frames, joints, 3) axis times angle in radians.
    notes
        What was assumed, one sentence each.
    """

    names: tuple[str, ...]
    rotation_vectors: Array
    notes: tuple[str, ...]


def has_pose(keys: Collection[str]) -> bool:
    """Whether arrays of these names hold a pose."""
    whole = any(key in keys for key in _WHOLE)
    return whole or (_first(_ROOT, keys) is not None and _first(_WITHOUT_ROOT, keys) is not None)


def read_pose(archive: NpzArchive) -> Pose:
    """The pose of every joint that a file turns.

    Raises
    ------
    FormatError
        Where the arrays have other shapes than the SMPL family's, or no frame.
    """
    root = _first(_ROOT, archive.keys)
    body = _first(_WITHOUT_ROOT, archive.keys)
    whole = _first(_WHOLE, archive.keys)
    if whole is not None:
        vectors = _vectors(archive, whole)
        names = LAYOUTS.get(vectors.shape[1])
        if names is not None:
            return _with_frames(archive, names, vectors, whole)
    if root is None or body is None:
        raise _unknown_layout(archive, whole or "poses")
    return _joined(archive, root, body)


def _joined(archive: NpzArchive, root: str, body: str) -> Pose:
    blocks = [_vectors(archive, root), _vectors(archive, body)]
    notes: list[str] = []
    if blocks[0].shape[1] != 1:
        raise FormatError(
            f"array {root!r} turns {blocks[0].shape[1]} joints, expected one", path=archive.path
        )
    names = {len(BODY) - 1: BODY, len(BODY + HANDS) - 1: BODY + HANDS}.get(blocks[1].shape[1])
    if names is None:
        raise _unknown_layout(archive, body)
    for spellings, joints in _PARTS:
        key = _first(spellings, archive.keys)
        if key is None:
            continue
        # Hands are often given as a few components of a space that is the model's own.
        shape = archive.shape(key)
        if int(np.prod(shape[1:])) != 3 * len(joints):
            notes.append(f"array {key!r} of shape {shape} is left out: not a turn for each joint")
            continue
        if joints[0].endswith("Index1") and HANDS[0] in names:
            notes.append(f"array {key!r} is left out: the body's pose has hands already")
            continue
        blocks.append(_vectors(archive, key))
        names += joints
    frames = {len(block) for block in blocks}
    if len(frames) != 1:
        raise FormatError(
            f"parts of the pose with {', '.join(map(str, sorted(frames)))} frames",
            hint="all parts of a pose have as many frames",
            path=archive.path,
        )
    pose = _with_frames(archive, names, np.concatenate(blocks, axis=1), body)
    return Pose(pose.names, pose.rotation_vectors, tuple(notes))


def _with_frames(archive: NpzArchive, names: tuple[str, ...], vectors: Array, key: str) -> Pose:
    if len(vectors) == 0:
        raise FormatError(f"array {key!r} has no frames", path=archive.path)
    notes: tuple[str, ...] = ()
    if names == LAYOUTS[len(BODY + FINGERS + JAW)]:
        notes = ("the last of 53 joints is taken for the jaw",)
    return Pose(names, vectors, notes)


def _vectors(archive: NpzArchive, key: str) -> Array:
    """(frames, joints, 3): an array that is stored so, or with the joints' turns in one row."""
    shape = archive.shape(key)
    flat = len(shape) == 2 and shape[1] % 3 == 0
    if not flat and (len(shape) != 3 or shape[2] != 3):
        raise _unknown_layout(archive, key)
    array = archive.array(key)
    return array.reshape(shape[0], shape[1] // 3, 3) if flat else array


def _unknown_layout(archive: NpzArchive, key: str) -> FormatError:
    widths = ", ".join(f"{3 * joints} ({joints} joints)" for joints in sorted(LAYOUTS))
    return FormatError(
        f"array {key!r} is {archive.shape(key)}: no pose of the SMPL family",
        hint=f"known widths: {widths}; an axis times an angle for each joint",
        path=archive.path,
    )


def _first(spellings: tuple[str, ...], keys: Collection[str]) -> str | None:
    return next((key for key in spellings if key in keys), None)
