"""Nodes and tracks of a glTF animation to the motion of a skeleton's joints.

Nodes between joints and above the root are folded into the joints below them, and scales into
lengths. A node's axes at rest may lie anywhere; a clip's lie as the world's, so that its offsets
are its rest pose. With A the world rotations of the nodes at rest, p the parent joint and r, t
a joint's rotation and translation relative to it,

    rotation = A(p) r A(joint)^-1,      translation = A(p) t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.formats.gltf_joints import JointTree
from deepphase.formats.gltf_node_motion import NodeMotion, seen_from_joint
from deepphase.formats.gltf_places import (
    NO_TURN,
    Place,
    Quaternion,
    multiplied,
    straightened,
    turned,
)
from deepphase.motion import quaternions
from deepphase.motion.skeleton import Array, Skeleton

# Rows of transforms that are computed at once, of all joints together.
_ROWS_A_BLOCK, _LEAST_ROWS = 1 << 16, 16


@dataclass(frozen=True, eq=False)
class JointMotion:
    """Rest and motion of joints: as in `Clip`."""

    skeleton: Skeleton
    rotations: Array
    translations: Array
    translated_joints: Array
    notes: tuple[str, ...]


def sample_joints(motion: NodeMotion, seconds: Array) -> JointMotion:
    """The joints' motion at times (frames,)."""
    joints = motion.joints
    rest = motion.places_at_rest()
    axes = _axes_at_rest(joints, rest)
    above = [NO_TURN if parent < 0 else axes[parent] for parent in joints.parents]
    travelling = motion.travelling()
    is_translated = [not joint or node in travelling for joint, node in enumerate(joints.nodes)]
    translated = np.flatnonzero(is_translated)
    places = {
        node: rest[node] for node, own in zip(joints.nodes, is_translated, strict=True) if own
    }
    del rest
    places = motion.steady_places() | places
    offsets = [
        turned(axis, places[node].translation)
        for axis, node in zip(above, joints.nodes, strict=True)
    ]
    ends = [
        turned(axes[parent], places[node].translation)
        for node, parent in zip(joints.ends, joints.end_parents, strict=True)
    ]
    del places
    rotations = np.empty((len(seconds), len(joints.nodes), 4))
    translations = np.empty((len(seconds), len(translated), 3))
    slots = {joint: slot for slot, joint in enumerate(translated.tolist())}
    carried = motion.carried()
    block = max(_ROWS_A_BLOCK // len(joints.nodes), _LEAST_ROWS)
    for start in range(0, len(seconds), block):
        rows = slice(start, start + block)
        paths = motion.moving_paths(seconds[rows], carried)
        for joint, node in enumerate(joints.nodes):
            path = seen_from_joint(node, paths, carried)
            rotations[rows, joint] = _between(above[joint], path.rotations, axes[joint])
            if joint in slots:
                moved = path.translations
                if above[joint] is not NO_TURN:
                    moved = quaternions.rotate(np.array(above[joint]), moved)
                translations[rows, slots[joint]] = moved
    notes: tuple[str, ...] = ()
    if any(each is not NO_TURN for each in axes):
        notes = ("joint axes were turned so that the rest pose has no rotations",)
    skeleton = Skeleton(
        joints.names,
        np.array(joints.parents),
        np.array(offsets),
        np.array(joints.end_parents, np.int64),
        np.array(ends),
    )
    return JointMotion(skeleton, rotations, translations, translated, notes)


def _axes_at_rest(joints: JointTree, rest: dict[int, Place]) -> list[Quaternion]:
    """(joints,) world rotation of every joint at rest."""
    axes: list[Quaternion] = []
    for node, parent in zip(joints.nodes, joints.parents, strict=True):
        above = NO_TURN if parent < 0 else axes[parent]
        axes.append(straightened(multiplied(above, rest[node].rotation)))
    return axes


def _between(above: Quaternion, rotations: Array, axes: Quaternion) -> Array:
    """Rotations of a joint, its own and its parent's axes turned into the world's."""
    if above is not NO_TURN:
        rotations = quaternions.multiply(np.array(above), rotations)
    if axes is not NO_TURN:
        rotations = quaternions.multiply(rotations, quaternions.conjugate(np.array(axes)))
    return rotations
