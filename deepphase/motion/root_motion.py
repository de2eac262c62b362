"""Root motion: the joint of a clip that carries the character's travel and turn over the ground."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.limbs import ancestors
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.motion.skeleton import Skeleton

RootMotion = Literal["auto", "root", "hips", "in_place"]
"""Where root motion goes; see `with_root_motion`."""


def with_root_motion(clip: Clip, hips: int, root: RootTrajectory, root_motion: RootMotion) -> Clip:
    """The same motion with its travel on another joint, or without travel.

    ========  ====================================================================================
    auto      the clip as it is
    root      the topmost joint lies on the ground at the root trajectory and turns with it; the
              hips move relative to it. Where the hips are the topmost joint, a joint ``root`` is
              added above them
    hips      the hips carry travel and turn; joints above them stay at the origin
    in_place  the hips move relative to the root trajectory, and nothing carries it: height stays,
              travel and turn are removed
    ========  ====================================================================================

    With "root" and "hips" the hips and all joints below them have the same places in the world.
    """
    if root_motion not in get_args(RootMotion):
        raise ParameterError(
            f"root motion {root_motion!r} is not possible",
            hint=f"choose one of {', '.join(get_args(RootMotion))}",
        )
    if root_motion == "auto":
        return clip
    if len(root) != len(clip):
        raise ParameterError(
            f"the root trajectory has {len(root)} frames and the clip {len(clip)}",
            hint="compute it from this clip",
        )
    clip = replace(
        clip,
        rotations=clip.rotations.astype(np.float64),
        translations=clip.translations.astype(np.float64),
    )
    turns, places = (each[:, hips] for each in global_transforms(clip))
    if root_motion != "hips":
        back = quaternions.conjugate(root.rotations)
        turns = quaternions.multiply(back, turns)
        places = quaternions.rotate(back, places - root.positions)
    if root_motion == "root" and hips == 0:
        clip, hips = _with_joint_above(clip), 1
    above = ancestors(clip.skeleton, hips)[1:]
    moving = np.union1d(clip.translated_joints, [0, *above, hips])
    rotations, local = clip.rotations.copy(), clip.local_positions()
    rotations[:, above], local[:, above] = quaternions.IDENTITY, 0.0
    rotations[:, hips], local[:, hips] = turns, places
    if root_motion == "root":
        rotations[:, 0], local[:, 0] = root.rotations, root.positions
    return replace(
        clip,
        rotations=quaternions.sign_continuous(rotations),
        translations=local[:, moving],
        translated_joints=moving,
    )


def _with_joint_above(clip: Clip) -> Clip:
    """The clip with another root, at the origin, above its own."""
    skeleton, source = clip.skeleton, clip.source
    name = "root"
    while name in skeleton.names:
        name += "_"
    return replace(
        clip,
        skeleton=Skeleton(
            (name, *skeleton.names),
            np.concatenate([[-1], skeleton.parents + 1]),
            np.insert(skeleton.offsets, 0, 0.0, axis=0),
            skeleton.end_parents + 1,
            skeleton.end_offsets,
        ),
        rotations=_put_before(clip.rotations, quaternions.IDENTITY),
        translations=_put_before(clip.translations, np.zeros(3)),
        translated_joints=np.concatenate([[0], clip.translated_joints + 1]),
        source=replace(
            source,
            rotation_orders=("", *source.rotation_orders) if source.rotation_orders else (),
        ),
    )


def _put_before(values: Array, first: Array) -> Array:
    """(frames, joints + 1, ...) values with the same one before those of each frame."""
    return np.concatenate([np.broadcast_to(first, (len(values), 1, len(first))), values], axis=1)
