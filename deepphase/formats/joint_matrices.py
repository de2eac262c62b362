"""Clips of joints that a file has as transforms in the world."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton

# Joints of this name that carry no motion are end sites.
END_NAME = "_end"
# Share of the longest bone that a translated joint moves.
_MOVES = 1e-5
# Numbers in transforms; volume of the unit cube in a frame, which rounding must not turn over.
_LARGEST, _FLAT = 1e15, 1e-9


def clip_of_matrices(
    names: tuple[str, ...], parents: Array, rest: Array, poses: Array, fps: float, path: Path
) -> Clip:
    """The clip of joints' transforms in the world, at rest and in every frame.

    Rotations are from the rest pose; a joint that moves in its parent's frame is translated.
    Joints without children that are called ends and do not move are end sites.

    Parameters
    ----------
    names, parents
        As of a `Skeleton`.
    rest
        (joints, 4, 4) metres, Y up; columns are axes.
    poses
        (frames, joints, 4, 4) likewise.
    path
        The file, for errors.

    Raises
    ------
    FormatError
        If a transform is flat or mirrored.
    """
    rest_turns, world = _rotations(rest, path), _rotations(poses, path)
    # Rotations from the rest pose: its directions are those of the offsets.
    turns = quaternions.multiply(world, quaternions.conjugate(rest_turns))
    places = poses[..., :3, 3]
    ends = _end_sites(names, parents, rest, poses)
    joints = [joint for joint in range(len(names)) if joint not in ends]
    row = {joint: place for place, joint in enumerate(joints)}
    above = np.array([-1, *(row[int(parents[joint])] for joint in joints[1:])])
    turns, places = turns[:, joints], places[:, joints]
    heads = rest[:, :3, 3]
    offsets = heads[joints] - np.where(above[:, None] < 0, 0.0, heads[joints][above])
    back = quaternions.conjugate(turns[:, above[1:]])
    rotations, local = turns.copy(), places.copy()
    rotations[:, 1:] = quaternions.multiply(back, turns[:, 1:])
    local[:, 1:] = quaternions.rotate(back, places[:, 1:] - places[:, above[1:]])
    longest = float(np.linalg.norm(offsets[1:], axis=-1).max(initial=0.0))
    moves = np.abs(local - offsets).max(axis=(0, 2)) > max(_MOVES * longest, 1e-6)
    moves[0] = True
    moving = np.flatnonzero(moves)
    skeleton = Skeleton(
        tuple(names[joint] for joint in joints),
        above,
        offsets,
        np.array([row[int(parents[end])] for end in ends], np.int64),
        np.array([heads[end] - heads[parents[end]] for end in ends]).reshape(-1, 3),
    )
    rotations = quaternions.sign_continuous(quaternions.normalized(rotations))
    return Clip(skeleton, rotations, local[:, moving], fps, moving)


def _rotations(matrices: Array, path: Path) -> Array:
    """(..., 4) rotations of (..., 4, 4) transforms, without their scales."""
    linear = matrices[..., :3, :3]
    if not np.abs(matrices).max(initial=0.0) < _LARGEST:
        raise FormatError(
            "a joint is farther away or larger than any body",
            hint="apply scales to the skeleton",
            path=path,
        )
    lengths = np.maximum(np.linalg.norm(linear, axis=-2, keepdims=True), _FLAT)
    if not (np.linalg.det(linear / lengths) > _FLAT).all():
        raise FormatError(
            "a joint is flat or mirrored", hint="apply scales to the skeleton", path=path
        )
    flat = Rotation.from_matrix((linear / lengths).reshape(-1, 3, 3)).as_quat()
    return np.asarray(flat.reshape(*matrices.shape[:-2], 4))


def _end_sites(names: tuple[str, ...], parents: Array, rest: Array, poses: Array) -> list[int]:
    """Bones without children that are called ends and do not move in their parents' frames."""
    with_children = set(parents.tolist())
    found = []
    for joint, name in enumerate(names):
        if joint in with_children or parents[joint] < 0 or END_NAME not in name.lower():
            continue
        local = np.linalg.inv(poses[:, parents[joint]]) @ poses[:, joint]
        still = np.linalg.inv(rest[parents[joint]]) @ rest[joint]
        if np.abs(local - still).max() < 1e-3:
            found.append(joint)
    return found
