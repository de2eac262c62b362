"""Handedness of coordinates: bodies whose named left side is on their right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.clip import Clip
from deepphase.motion.joint_names import parse_names
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import Roles, find_roles

_UP = np.array([0.0, 1.0, 0.0])
_GROUND = np.array([1.0, 0.0, 1.0])
_FRAMES_COMPARED = 200
# Mean cosine of the named left and up x front, beyond which coordinates are left-handed.
_MIRRORED = -0.5
# A trunk with a smaller sine of its elevation points to the front, as a quadruped's does.
_UPRIGHT = 0.6


def is_left_handed(clip: Clip) -> bool:
    """Whether a clip with Y up was captured in left-handed coordinates, as Unity's are.

    In right-handed ones up x front is the left of the body. Names state which side is left; the
    front is that of a horizontal trunk, else of the feet. False where one of these is missing.
    """
    roles = find_roles(clip.skeleton, clip=clip)
    hips = roles.both("hip")
    sides = [name.side for name in parse_names(clip.skeleton.names)]
    if hips is None or [sides[hip] for hip in hips] != ["left", "right"]:
        return False
    step = max(1, len(clip) // _FRAMES_COMPARED)
    positions = joint_positions(
        replace(clip, rotations=clip.rotations[::step], translations=clip.translations[::step])
    )
    front = _front(positions, roles)
    if front is None:
        return False
    left = np.cross(_UP, front)
    side = (positions[:, hips[0]] - positions[:, hips[1]]) * _GROUND
    size = np.linalg.norm(left, axis=-1) * np.linalg.norm(side, axis=-1)
    clear = size > 1e-9
    cosines = np.einsum("fc,fc->f", left, side)[clear] / size[clear]
    return bool(clear.any() and cosines.mean() < _MIRRORED)


def _front(positions: Array, roles: Roles) -> Array | None:
    """(frames, 3) on the ground."""
    shoulders, feet, toes = roles.both("shoulder"), roles.both("foot"), roles.both("toe")
    if shoulders is not None:
        trunk = positions[:, list(shoulders)].mean(axis=1) - positions[:, roles.hips]
        length = max(float(np.linalg.norm(trunk, axis=-1).sum()), 1e-12)
        if abs(float(trunk[:, 1].sum())) < _UPRIGHT * length:
            return np.asarray(trunk * _GROUND)
    if feet is None or toes is None:
        return None
    return np.asarray((positions[:, list(toes)] - positions[:, list(feet)]).sum(axis=1) * _GROUND)


def reflected(clip: Clip) -> Clip:
    """The motion with every X coordinate negated: left-handed coordinates become right-handed.

    Joints keep their names. To exchange left and right of a body, see `mirrored`.
    """

    def reflect(vectors: Array) -> Array:
        return vectors * np.array([-1.0, 1.0, 1.0], vectors.dtype)

    skeleton = clip.skeleton
    return replace(
        clip,
        skeleton=replace(
            skeleton,
            offsets=reflect(skeleton.offsets),
            end_offsets=reflect(skeleton.end_offsets),
        ),
        rotations=clip.rotations * np.array([1.0, -1.0, -1.0, 1.0], clip.rotations.dtype),
        translations=reflect(clip.translations),
    )
