"""Nodes and tracks of a glTF animation to the motion of a skeleton's joints.

Nodes between joints and above the root are folded into the joints below them, and scales into
lengths. A node's axes at rest may lie anywhere; a clip's lie as the world's, so that its offsets
are its rest pose. With A the world rotations of the nodes at rest, p the parent joint and r, t
a joint's rotation and translation relative to it,

    rotation = A(p) r A(joint)^-1,      translation = A(p) t.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deepphase.arrays import Array
from deepphase.formats.gltf.joints import JointTree
from deepphase.formats.gltf.nodes import (
    NO_SCALE,
    NO_TURN,
    ORIGIN,
    SCALE_TOLERANCE,
    NodeTree,
    Place,
    Quaternion,
    Transform,
    multiplied,
    rest_transform,
    straightened,
    turned,
)
from deepphase.formats.gltf.tracks import Track
from deepphase.motion import quaternions
from deepphase.motion.quaternions import IDENTITY
from deepphase.motion.skeleton import Skeleton

# Share of the skeleton's size below which a joint keeps its place: programs that pass joints
# through float32 matrices shake them by as much.
_STILL = 5e-5
# Components of a quaternion that differ less, over all keys, do not turn.
_STILL_ROTATION = 1e-7


@dataclass(frozen=True, eq=False, slots=True)
class RelativeMotion:
    """Translations (1 or frames, 3) and rotations (1 or frames, 4) relative to something above."""

    translations: Array
    rotations: Array

    @classmethod
    def of(cls, place: Place) -> RelativeMotion:
        return cls(np.array([place.translation]), np.array([place.rotation]))

    def holding(self, below: RelativeMotion) -> RelativeMotion:
        """`below`, which hangs from this, seen from above."""
        moved = self.translations + quaternions.rotate(self.rotations, below.translations)
        return RelativeMotion(moved, quaternions.multiply(self.rotations, below.rotations))


class Attachment(NamedTuple):
    """A place in a moving node, or in the joint above where `carrier` is -1.

    Of a moving node the place is its parent's, for its own changes.
    """

    carrier: int
    place: Place


class NodeMotion:
    """One animation of the nodes at which joints hang.

    Parameters
    ----------
    tree, joints
        The file's nodes and which of them are joints.
    tracks
        Of the animation; those of other nodes are passed over.

    Raises
    ------
    FormatError
        Where a scale cannot be folded into lengths.
    """

    def __init__(self, tree: NodeTree, joints: JointTree, tracks: list[Track]) -> None:
        self.tree, self.joints = tree, joints
        on_path = set(joints.path_nodes)
        self.tracks = [track for track in tracks if track.node in on_path]
        self._is_joint = set(joints.nodes)
        self._rest = {node: rest_transform(tree, node) for node in joints.path_nodes}
        self._unit = self._lengths_of_units()
        self._steady, self._moving = self._split()

    def _lengths_of_units(self) -> dict[int, float]:
        """Metres in one unit of each node's children."""
        scale_tracks = {each.node: each for each in self.tracks if each.path == "scale"}
        bearing = {self.tree.parents[node] for node in self.joints.path_nodes}
        units = {-1: 1.0}
        for node in self.joints.path_nodes:
            above = units[self.tree.parents[node]]
            scale = self._rest[node].scale
            if scale is NO_SCALE and node not in scale_tracks:
                units[node] = above
                continue
            if node in scale_tracks:
                lowest, highest = scale_tracks[node].extent()
                if node in bearing and not self._is_still(lowest, highest):
                    raise self._scale_fault(node, "an animated scale")
                scale = scale_tracks[node].table.rows(slice(0, 1))[0]
                if scale_tracks[node].interpolation == "CUBICSPLINE":
                    scale = lowest
            factor = float(np.mean(scale))
            # What nothing hangs from changes no place.
            if node in bearing and not (
                factor > 0 and np.abs(scale - factor).max() <= SCALE_TOLERANCE * factor
            ):
                raise self._scale_fault(node, f"a scale of {' '.join(f'{s:.4g}' for s in scale)}")
            units[node] = above * (1.0 if abs(factor - 1.0) < 1e-6 else factor)
        return units

    @staticmethod
    def _is_still(lowest: Array, highest: Array) -> bool:
        span = highest - lowest
        return bool((span <= SCALE_TOLERANCE * np.abs(highest)).all())

    def _scale_fault(self, node: int, what: str) -> Exception:
        return self.tree.item(node).fault(
            f"{self.tree.name(node)!r} has {what}, and joints hang from it: a clip has no scales",
            "apply scales in the exporter, or leave this joint's scale alone",
        )

    def _split(self) -> tuple[dict[int, Transform], dict[tuple[int, str], Track]]:
        """Every node's transform with the tracks that stand still, and the tracks that move."""
        steady, moving = dict(self._rest), {}
        places = [track for track in self.tracks if track.path == "translation"]
        tolerance = _STILL * self._size(places)
        for track in self.tracks:
            if track.path == "scale":
                continue
            lowest, highest = track.extent()
            if track.path == "rotation":
                still = (highest - lowest).max() <= _STILL_ROTATION
            else:
                above = self._unit[self.tree.parents[track.node]]
                still = (highest - lowest).max() * above <= tolerance
            if not still:
                moving[track.node, track.path] = track
                continue
            if track.path == "rotation":
                value = track.sampled((np.zeros(1, np.int64), np.zeros(1)))[0]
            else:
                value = (lowest + highest) / 2.0
            steady[track.node] = replace(steady[track.node], **{track.path: value})
        return steady, moving

    def _size(self, places: list[Track]) -> float:
        """The longest distance between a node and its parent, but for the root: in metres."""
        root = self.joints.nodes[0]
        below = self.joints.path_nodes[self.joints.path_nodes.index(root) + 1 :]
        lengths = [0.0]
        for node in below:
            above = self._unit[self.tree.parents[node]]
            lengths.append(above * max(map(abs, self._rest[node].translation.tolist())))
        inner = set(below)
        for track in places:
            reach = np.abs(np.stack(track.extent()))
            if track.node in inner and np.isfinite(reach).all():
                lengths.append(self._unit[self.tree.parents[track.node]] * float(reach.max()))
        return max(lengths)

    def _local(self, node: int, transforms: dict[int, Transform]) -> Place:
        transform = transforms[node]
        if transform.rotation is IDENTITY and not transform.translation.any():
            return ORIGIN
        above = self._unit[self.tree.parents[node]]
        x, y, z = transform.translation.tolist()
        qx, qy, qz, qw = transform.rotation.tolist()
        return Place((above * x, above * y, above * z), (qx, qy, qz, qw))

    def places_at_rest(self) -> dict[int, Place]:
        """Every node as seen from the joint above it, before the animation touches it."""
        return {node: each.place for node, each in self._attachments(self._rest, ()).items()}

    def steady_places(self) -> dict[int, Place]:
        """The same with the tracks that stand still."""
        return {node: each.place for node, each in self._attachments(self._steady, ()).items()}

    def attachments(self) -> dict[int, Attachment]:
        """Every node as seen from what moves it."""
        return self._attachments(self._steady, {node for node, _ in self._moving})

    def _attachments(
        self, transforms: dict[int, Transform], moving: Collection[int]
    ) -> dict[int, Attachment]:
        """Where every node stands in the nearest node above it that moves, up to a joint."""
        carried: dict[int, Attachment] = {}
        for node in self.joints.path_nodes:
            parent = self.tree.parents[node]
            if parent < 0 or parent in self._is_joint:
                carrier, above = -1, ORIGIN
            elif parent in moving:
                carrier, above = parent, ORIGIN
            else:
                carrier, above = carried[parent]
            if node not in moving:
                above = above.holding(self._local(node, transforms))
            carried[node] = Attachment(carrier, above)
        return carried

    def travelling(self) -> set[int]:
        """Nodes whose place, seen from the joint above, changes."""
        travelling: set[int] = set()
        swept: set[int] = set()
        for node in self.joints.path_nodes:
            parent = self.tree.parents[node]
            carried = parent >= 0 and parent not in self._is_joint
            if (node, "translation") in self._moving or (carried and parent in swept):
                travelling.add(node)
            turns = (node, "rotation") in self._moving
            if turns or node in travelling:
                swept.add(node)
        return travelling

    def moving_paths(
        self, seconds: Array, carried: dict[int, Attachment]
    ) -> dict[int, RelativeMotion]:
        """Every moving node as seen from the joint above it."""
        located: dict[int, tuple[Array, Array]] = {}
        values: dict[tuple[int, str], Array] = {}
        for target, track in self._moving.items():
            if track.keys.index not in located:
                located[track.keys.index] = track.keys.located(seconds)
            values[target] = track.sampled(located[track.keys.index])
        paths: dict[int, RelativeMotion] = {}
        nodes = {node for node, _ in self._moving}
        for node in self.joints.path_nodes:
            if node not in nodes:
                continue
            path = RelativeMotion.of(self._local(node, self._steady))
            moved, rotated = values.get((node, "translation")), values.get((node, "rotation"))
            above = self._unit[self.tree.parents[node]]
            path = RelativeMotion(
                path.translations if moved is None else above * moved,
                path.rotations if rotated is None else rotated,
            )
            carrier, place = carried[node]
            if place is not ORIGIN:
                path = RelativeMotion.of(place).holding(path)
            paths[node] = path if carrier < 0 else paths[carrier].holding(path)
        return paths


def relative_to_joint(
    node: int, paths: dict[int, RelativeMotion], carried: dict[int, Attachment]
) -> RelativeMotion:
    """A node as seen from the joint above it, where `paths` are those of all that move."""
    if node in paths:
        return paths[node]
    carrier, place = carried[node]
    path = RelativeMotion.of(place)
    return path if carrier < 0 else paths[carrier].holding(path)


# Rows of transforms that are computed at once, of all joints together.
_ROWS_A_BLOCK, _MIN_ROWS = 1 << 16, 16


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
    carried = motion.attachments()
    block = max(_ROWS_A_BLOCK // len(joints.nodes), _MIN_ROWS)
    for start in range(0, len(seconds), block):
        rows = slice(start, start + block)
        paths = motion.moving_paths(seconds[rows], carried)
        for joint, node in enumerate(joints.nodes):
            path = relative_to_joint(node, paths, carried)
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
