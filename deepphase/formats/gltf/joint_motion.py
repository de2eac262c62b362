"""Nodes and tracks of a glTF animation to the motion of a skeleton's joints.

Nodes between joints and above the root are folded into the joints below them, and scales into
lengths. A node's axes at rest may lie anywhere; a clip's lie as the world's, so that its offsets
are its rest pose. With A the world rotations of the nodes at rest, p the parent joint and r, t
a joint's rotation and translation relative to it,

    rotation = A(p) r A(joint)^-1,      translation = A(p) t.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.formats.gltf.joints import JointTree
from deepphase.formats.gltf.nodes import (
    NO_SCALE,
    SCALE_TOLERANCE,
    NodeTree,
    Transform,
    rest_transform,
)
from deepphase.formats.gltf.tracks import Track
from deepphase.motion import quaternions
from deepphase.motion.quaternions import IDENTITY
from deepphase.motion.skeleton import Skeleton

# Share of the skeleton's size below which a joint keeps its place: programs that pass joints
# through float32 matrices shake them by as much.
_STILL = 5e-5
# Turns below this (1 - |w|) are an exporter's rounding.
_ROUNDING = 1e-12
# Rows of transforms that are computed at once, of all joints together.
_ROWS_A_BLOCK, _MIN_ROWS = 1 << 16, 16

# (node, path) -> (frames, components) values of its track.
Values = Mapping[tuple[int, str], Array]


@dataclass(frozen=True, eq=False)
class JointMotion:
    """Rest and motion of joints: as in `Clip`."""

    skeleton: Skeleton
    rotations: Array
    translations: Array
    translated_joints: Array
    notes: tuple[str, ...]


def sample_joints(
    tree: NodeTree, joints: JointTree, tracks: list[Track], seconds: Array
) -> JointMotion:
    """The joints' motion at times (frames,) in an animation."""
    folded = _Folding(tree, joints, _sampled(tracks, seconds, scales=True))
    at_rest = folded.relative({})
    axes = _axes_at_rest(joints, at_rest)
    above = np.stack([IDENTITY if parent < 0 else axes[parent] for parent in joints.parents])
    back = quaternions.conjugate(axes)
    # End sites have places, and no rotations.
    nodes, count = [*joints.nodes, *joints.ends], len(joints.nodes)
    outer = np.concatenate([above, axes[joints.end_parents]])
    rotations = np.empty((len(seconds), count, 4))
    places = np.empty((len(seconds), len(nodes), 3))
    block = max(_ROWS_A_BLOCK // count, _MIN_ROWS)
    for start in range(0, len(seconds), block):
        rows = slice(start, start + block)
        now = folded.relative(_sampled(tracks, seconds[rows]))
        for column, node in enumerate(nodes):
            moved, turned = now[node]
            places[rows, column] = quaternions.rotate(outer[column], moved)
            if column < count:
                turned = quaternions.multiply(above[column], turned)
                rotations[rows, column] = quaternions.multiply(turned, back[column])
    rest = np.concatenate([at_rest[node][0] for node in nodes])
    rest = quaternions.rotate(outer, rest)
    lowest, highest = places.min(axis=0), places.max(axis=0)
    reach = np.maximum(np.maximum(np.abs(lowest), np.abs(highest)), np.abs(rest))
    still = (highest - lowest).max(axis=1) <= _STILL * reach[1:].max(initial=0.0)
    offsets = np.where(still[:, None], (lowest + highest) / 2.0, rest)
    moving = np.append(True, ~still[1:count])
    offsets[0] = rest[0]
    notes: tuple[str, ...] = ()
    if (axes != IDENTITY).any():
        notes = ("joint axes were turned so that the rest pose has no rotations",)
    skeleton = Skeleton(
        joints.names,
        np.array(joints.parents),
        offsets[:count],
        np.array(joints.end_parents, np.int64),
        offsets[count:],
    )
    return JointMotion(
        skeleton, rotations, places[:, :count][:, moving], np.flatnonzero(moving), notes
    )


def _sampled(tracks: list[Track], seconds: Array, *, scales: bool = False) -> Values:
    """Values of the tracks of scales, or of all others."""
    located: dict[int, tuple[Array, Array]] = {}
    values = {}
    for track in tracks:
        if (track.path == "scale") == scales:
            if track.keys.index not in located:
                located[track.keys.index] = track.keys.located(seconds)
            values[track.node, track.path] = track.sampled(located[track.keys.index])
    return values


class _Folding:
    """Nodes folded into the joints below them, and their scales into lengths."""

    def __init__(self, tree: NodeTree, joints: JointTree, scales: Values) -> None:
        self._tree, self._nodes = tree, joints.path_nodes
        self._is_joint = set(joints.nodes)
        self._rest = {node: rest_transform(tree, node) for node in joints.path_nodes}
        self._units = self._lengths_of_units(scales)

    def _lengths_of_units(self, scales: Values) -> dict[int, float]:
        """Metres in one unit of each node's children."""
        bearing = {self._tree.parents[node] for node in self._nodes}
        units = {-1: 1.0}
        for node in self._nodes:
            above = units[self._tree.parents[node]]
            scale, values = self._rest[node].scale, scales.get((node, "scale"))
            # What nothing hangs from changes no place.
            if node not in bearing or (scale is NO_SCALE and values is None):
                units[node] = above
                continue
            if values is not None:
                scale = values[0]
                if (np.ptp(values, axis=0) > SCALE_TOLERANCE * np.abs(values).max(axis=0)).any():
                    raise self._scale_fault(node, "an animated scale")
            factor = float(np.mean(scale))
            if not (factor > 0 and np.abs(scale - factor).max() <= SCALE_TOLERANCE * factor):
                raise self._scale_fault(node, f"a scale of {' '.join(f'{s:.4g}' for s in scale)}")
            units[node] = above * (1.0 if abs(factor - 1.0) < 1e-6 else factor)
        return units

    def _scale_fault(self, node: int, what: str) -> Exception:
        return self._tree.item(node).fault(
            f"{self._tree.name(node)!r} has {what}, and joints hang from it: a clip has no scales",
            "apply scales in the exporter, or leave this joint's scale alone",
        )

    def relative(self, values: Values) -> dict[int, tuple[Array, Array]]:
        """Translation (1 or frames, 3) and rotation (.., 4) of nodes, from the joint above each."""
        found: dict[int, tuple[Array, Array]] = {}
        for node in self._nodes:
            rest: Transform = self._rest[node]
            parent = self._tree.parents[node]
            moved = values.get((node, "translation"), rest.translation[None]) * self._units[parent]
            turned = values.get((node, "rotation"), rest.rotation[None])
            if parent >= 0 and parent not in self._is_joint:
                places, turns = found[parent]
                moved = places + quaternions.rotate(turns, moved)
                turned = quaternions.multiply(turns, turned)
            found[node] = moved, turned
        return found


def _axes_at_rest(joints: JointTree, rest: dict[int, tuple[Array, Array]]) -> Array:
    """(joints, 4) world rotation of every joint at rest."""
    axes = np.empty((len(joints.nodes), 4))
    for joint, (node, parent) in enumerate(zip(joints.nodes, joints.parents, strict=True)):
        own = rest[node][1][0]
        axes[joint] = own if parent < 0 else quaternions.multiply(axes[parent], own)
        axes[joint] /= np.linalg.norm(axes[joint])
        if 1.0 - abs(axes[joint, 3]) < _ROUNDING:
            axes[joint] = IDENTITY
    return axes
