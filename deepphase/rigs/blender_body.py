"""Bodies of rigs in Blender: the deforming bones of an armature that have roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.errors import FormatError, SkeletonError
from deepphase.formats.blender.bridge import TO_Y_UP
from deepphase.formats.joint_checks import check_joint_count
from deepphase.formats.joint_trees import largest_tree, parents_in_tree
from deepphase.motion.limb_roles import rest_clip
from deepphase.motion.limbs import ancestors, subtree_mask
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import Skeleton
from deepphase.rigs.character_rig import roles_of_part


@dataclass(frozen=True, eq=False)
class BlenderBody:
    """What is known of a rig before Blender runs.

    Parameters
    ----------
    skeleton
        The deforming bones that carry the body, in the space of the character at rest. Bones
        without children have two end sites: their tip, and a point aside that shows their turn.
    roles
        Of its joints.
    rest
        (joints, 3, 3) turns of the bones at rest in the space of the character.
    tips
        (end sites, 3) in the axes of their bones, which are those of the armature: metres where it
        is not scaled.
    to_character
        (4, 4) from the world of Blender to the space of the character.
    world
        (4, 4) place of the armature in Blender.
    """

    skeleton: Skeleton
    roles: Roles
    rest: Array
    tips: Array
    to_character: Array
    world: Array


def body_of_armature(
    answer: Mapping[str, Any],
    arrays: Mapping[str, Array],
    description: Mapping[str, Any] | None,
    path: Path,
) -> BlenderBody:
    """The body of deforming bones: those with roles and all above, below the hips.

    Parameters
    ----------
    answer, arrays
        Names, parents and places at rest as Blender gives them.
    description
        A skeleton description, or None.
    path
        The file, for errors.

    Raises
    ------
    FormatError
        If there are too many bones, or the armature has no size or is mirrored.
    SkeletonError
        If the bones have no legs.
    """
    names = [str(name) for name in answer["names"]]
    check_joint_count(len(names), path)
    parents = np.asarray(answer["parents"], np.int64)
    whole, _ = largest_tree(parents)
    rest = TO_Y_UP @ arrays["rest"][whole]
    if not np.isfinite(rest).all() or not (np.linalg.det(rest) > 1e-18).all():
        raise FormatError(
            f"the armature {answer['armature']!r} has no size, or is mirrored",
            hint="apply its scale in Blender",
            path=path,
        )
    above = parents_in_tree(parents, whole)
    names = [names[bone] for bone in whole]
    heads = rest[:, :3, 3]
    tails = arrays["tails"][whole] @ TO_Y_UP[:3, :3].T
    given = _skeleton(names, above, heads, tails - heads)
    roles = find_roles(given, description, clip=rest_clip(given))
    if roles.both("hip") is None or roles.both("foot") is None:
        raise SkeletonError(
            "a rig needs a body with two legs, which its deforming bones do not show",
            hint="name them in a skeleton description (--skeleton-description)",
            path=path,
        )
    placement = root_trajectory(rest_clip(given), roles, smoothing_s=0.0)
    placed = np.eye(4)
    placed[:3, :3] = Rotation.from_quat(placement.rotations[0]).as_matrix()
    placed[:3, 3] = placement.positions[0]
    back = np.linalg.inv(placed)
    with_roles = {
        value
        for name, value in vars(roles).items()
        if isinstance(value, int) and not name.endswith("_end")
    }
    kept = {joint for value in (*with_roles, *roles.tail) for joint in ancestors(given, value)}
    inside = subtree_mask(given, roles.hips)
    joints = sorted(joint for joint in kept if inside[joint])
    return _kept_body(given, roles, joints, back @ rest, tails, back, arrays["world"])


def _kept_body(
    given: Skeleton,
    roles: Roles,
    joints: list[int],
    rest: Array,
    tails: Array,
    back: Array,
    world: Array,
) -> BlenderBody:
    row = {joint: place for place, joint in enumerate(joints)}
    parents = np.array([row.get(int(given.parents[joint]), -1) for joint in joints])
    heads = rest[joints, :3, 3]
    scaled = rest[joints, :3, :3]
    sizes = np.linalg.norm(scaled, axis=-2)
    turns = scaled / sizes[:, None]
    leaves = [place for place in range(len(joints)) if place not in set(parents.tolist())]
    lengths = np.linalg.norm(tails[joints] @ back[:3, :3].T + back[:3, 3] - heads, axis=1)
    ends = np.repeat(np.array(leaves, np.int64), 2)
    tips = np.zeros((len(ends), 3))
    tips[0::2, 1] = np.maximum(lengths[leaves], 0.01)
    tips[1::2, 0] = 0.5 * tips[0::2, 1]
    skeleton = Skeleton(
        tuple(given.names[joint] for joint in joints),
        parents,
        heads - np.where(parents[:, None] < 0, 0.0, heads[parents]),
        ends,
        np.einsum("eij,ej->ei", turns[ends], tips),
    )
    pairs = np.array([row.get(int(roles.pairs[joint]), row[joint]) for joint in joints])
    own = roles_of_part(roles, row, pairs)
    return BlenderBody(skeleton, own, turns, tips / sizes[ends], back @ TO_Y_UP, world)


def _skeleton(names: list[str], parents: Array, heads: Array, bones: Array) -> Skeleton:
    leaves = np.setdiff1d(np.arange(len(names)), parents)
    offsets = heads - np.where(parents[:, None] < 0, 0.0, heads[parents])
    return Skeleton(tuple(names), parents, offsets, leaves, bones[leaves])
