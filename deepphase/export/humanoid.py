"""Poses of the humanoid body of Unity and VRM, from frames of any body of two legs.

References
----------
VRM 1.0, humanoid bones; Unity, HumanBodyBones and its left-handed axes.
"""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.formats.smpl_skeleton import BODY, smpl_skeleton
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.retargeting.joint_matches import match_joints
from deepphase.motion.retargeting.reference_pose import reference_pose
from deepphase.motion.retargeting.retarget import JointTurns
from deepphase.motion.roles import find_roles

# Of `BODY`, in its order.
BONES = (
    "Hips", "LeftUpperLeg", "RightUpperLeg", "Spine", "LeftLowerLeg", "RightLowerLeg", "Chest",
    "LeftFoot", "RightFoot", "UpperChest", "LeftToes", "RightToes", "Neck", "LeftShoulder",
    "RightShoulder", "Head", "LeftUpperArm", "RightUpperArm", "LeftLowerArm", "RightLowerArm",
    "LeftHand", "RightHand",
)  # fmt: skip
"""Names of the bones in Unity, the hips first."""


class HumanoidPoses:
    """Local rotations of humanoid bones, which are 0 in the T-pose that faces +Z.

    Parameters
    ----------
    sample
        Any motion of the body, which its frames are compared by if its rest pose is not a pose.

    Raises
    ------
    SkeletonError
        If it does not have two legs, or its joints are not found.
    """

    def __init__(self, sample: Clip) -> None:
        target = smpl_skeleton(BODY)
        roles, target_roles = find_roles(sample.skeleton, clip=sample), find_roles(target)
        self._turns = JointTurns(
            match_joints(sample.skeleton, roles, target, target_roles),
            reference_pose(sample.skeleton, roles, sample),
            reference_pose(target, target_roles),
            roles,
            target_roles,
            target,
        )
        self._hips, self._parents = roles.hips, target.parents

    def of(self, clip: Clip) -> tuple[Array, Array]:
        """Poses of frames of the body.

        Returns
        -------
        rotations
            (frames, bones, 4) local, the hips' in the world; right-handed, Y up.
        hips
            (frames, 3) metres: place of the hips in the world.
        """
        world, positions = global_transforms(clip)
        turned = self._turns.of(world.astype(np.float64))
        rotations = turned.copy()
        above = self._parents[1:]
        rotations[:, 1:] = quaternions.multiply(
            quaternions.conjugate(turned[:, above]), turned[:, 1:]
        )
        return rotations, positions[:, self._hips].astype(np.float64)


def in_unity(rotations: Array, positions: Array) -> tuple[Array, Array]:
    """Rotations (..., 4) and positions (..., 3) in the left-handed axes of Unity.

    Y is up and Z ahead as here; X is mirrored, so that left is -X.
    """
    return rotations * np.array([1.0, -1.0, -1.0, 1.0]), positions * np.array([-1.0, 1.0, 1.0])
