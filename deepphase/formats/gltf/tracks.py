"""Animation channels of a glTF file, and the motion of a skeleton's joints by them.

Nodes between joints and above the root are folded into the joints below them, and scales into
lengths. A node's axes at rest may lie anywhere; a clip's lie as the world's, so that its offsets
are its rest pose. With A the world rotations of the nodes at rest, p the parent joint and r, t
a joint's rotation and translation relative to it,

    rotation = A(p) r A(joint)^-1,      translation = A(p) t.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepphase.arrays import Array
from deepphase.formats.gltf.document import (
    BYTE,
    FLOAT,
    SHORT,
    UNSIGNED_BYTE,
    UNSIGNED_SHORT,
    AccessorTable,
    GltfFile,
    Item,
    read_accessor,
)
from deepphase.formats.gltf.nodes import NO_SCALE, SCALE_TOLERANCE, JointTree, NodeTree
from deepphase.motion import quaternions
from deepphase.motion.quaternions import IDENTITY
from deepphase.motion.skeleton import Skeleton

_KINDS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}
# What the extension of pointers names a transform of a node by.
_POINTER_EXTENSION = "KHR_animation_pointer"
_POINTER = re.compile(r"/nodes/([0-9]{1,9})/(translation|rotation|scale)")
_ROTATION_TYPES = (FLOAT, BYTE, UNSIGNED_BYTE, SHORT, UNSIGNED_SHORT)
_INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")
# Of a cubic spline's three values a key the middle one is the value; tangents stand around it.
_SPLINE_VALUES = 3
# Times are written as float32: a frame this near to a key (in units of their last place, and as a
# share of the keys' spacing) is meant to be on it.
_LAST_PLACES, _SHARE_OF_SPACING = 2.0, 1e-3
# Below this angle between keys (cosine), a chord is as good as the arc and does not divide by 0.
_NEARLY_EQUAL = 1.0 - 1e-9
_SHORTEST_ROTATION = 1e-3
_KEYS_A_CHECK = 1 << 14
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
class Keys:
    """The key times of samplers."""

    index: int  # Of their accessor
    times: Array  # (keys,) float64 seconds, rising

    @cached_property
    def _snap(self) -> Array:
        rounding = _LAST_PLACES * np.spacing(self.times.astype(np.float32)).astype(np.float64)
        spacing = np.diff(self.times).min() if len(self.times) > 1 else 0.0
        return np.minimum(np.maximum(rounding, _SHARE_OF_SPACING * spacing), 0.25 * spacing)

    def located(self, seconds: Array) -> tuple[Array, Array]:
        """The key at or before each time, and the share of the way to the next key, 0 to 1."""
        times, last = self.times, len(self.times) - 1
        after = np.searchsorted(times, seconds, side="right")
        left = np.clip(after - 1, 0, last)
        right = np.clip(after, 0, last)
        left = np.where(times[right] - seconds <= self._snap[right], right, left)
        right = np.minimum(left + 1, last)
        past = np.maximum(seconds - times[left], 0.0)
        past[past <= self._snap[left]] = 0.0
        span = times[right] - times[left]
        share = np.divide(past, span, out=np.zeros_like(past), where=span > 0)
        return left, np.minimum(share, 1.0)


@dataclass(frozen=True, eq=False, slots=True)
class Track:
    """What one channel does to its node."""

    node: int
    path: str  # "translation", "rotation" or "scale"
    keys: Keys  # Its sampler
    table: AccessorTable
    interpolation: str

    def _at(self, keys: Array, part: int = 1) -> Array:
        """The value at keys, or its tangent before (0) or behind (2) them."""
        is_spline = self.interpolation == "CUBICSPLINE"
        return self.table.rows(_SPLINE_VALUES * keys + part if is_spline else keys)

    def sampled(self, located: tuple[Array, Array]) -> Array:
        """(frames, components) values at `keys.located` times; rotations are of unit length."""
        left, share = located
        values = self._at(left)
        is_rotation = self.path == "rotation"
        if is_rotation:
            values = quaternions.normalized(values)
        between = np.flatnonzero(share > 0)
        if self.interpolation == "STEP" or not len(between):
            return values
        own, mix = left[between], share[between, None]
        following = self._at(own + 1)
        if self.interpolation == "CUBICSPLINE":
            span = (self.keys.times[own + 1] - self.keys.times[own])[:, None]
            leaving, arriving = span * self._at(own, 2), span * self._at(own + 1, 0)
            # glTF 2.0, appendix C.5: the cubic with these values and tangents at its ends.
            square, cube = mix**2, mix**3
            mixed = (
                (2 * cube - 3 * square + 1) * self._at(own)
                + (cube - 2 * square + mix) * leaving
                + (cube - square) * arriving
                + (3 * square - 2 * cube) * following
            )
            values[between] = quaternions.normalized(mixed) if is_rotation else mixed
        elif is_rotation:
            values[between] = _slerp(values[between], quaternions.normalized(following), mix)
        else:
            values[between] += mix * (following - values[between])
        return values

    def check_directions(self) -> None:
        """Refuse rotations of no length."""
        step, first = (_SPLINE_VALUES, 1) if self.interpolation == "CUBICSPLINE" else (1, 0)
        for start in range(first, len(self.table), step * _KEYS_A_CHECK):
            part = self.table.rows(slice(start, start + step * _KEYS_A_CHECK, step))
            short = np.einsum("kc,kc->k", part, part) < _SHORTEST_ROTATION**2
            if short.any():
                element = start + step * int(np.argmax(short))
                raise self.table.item.fault(f"element {element}: a rotation without direction")


def read_tracks(file: GltfFile, animation: Item, known_keys: dict[int, Keys]) -> list[Track]:
    """What an animation does to transforms of nodes; other channels are passed over."""
    document = file.document
    nodes, accessors = len(document.array("nodes")), len(document.array("accessors"))
    tracks: dict[tuple[int, str], Track] = {}
    for channel in animation.elements("channels"):
        node, path = channel_target(channel, nodes)
        if node is None:
            continue
        if (node, path) in tracks:
            raise channel.fault(f"a second channel for the {path} of node {node}")
        number = channel.integer("sampler", below=len(animation.array("samplers")))
        sampler = animation.element("samplers", number)
        interpolation = sampler.text("interpolation", "LINEAR")
        if interpolation not in _INTERPOLATIONS:
            raise sampler.fault(f"an interpolation {interpolation[:20]!r}")
        index = sampler.integer("input", below=accessors)
        if index not in known_keys:
            known_keys[index] = _read_keys(file, index)
        types = _ROTATION_TYPES if path == "rotation" else (FLOAT,)
        output = sampler.integer("output", below=accessors)
        table = read_accessor(file, output, _KINDS[path], types)
        keys = known_keys[index]
        needed = len(keys.times) * (_SPLINE_VALUES if interpolation == "CUBICSPLINE" else 1)
        if len(table) != needed:
            raise sampler.fault(
                f"accessors[{output}] has {len(table):,} values for {len(keys.times):,} keys, "
                f"expected {needed:,}"
            )
        track = Track(node, path, keys, table, interpolation)
        if path == "rotation":
            track.check_directions()
        tracks[node, path] = track
    return list(tracks.values())


def channel_target(channel: Item, nodes: int) -> tuple[int | None, str]:
    """The node and path of a channel; no node where it moves none."""
    target = channel.item("target")
    path = target.text("path")
    if path == "pointer" and target.has("extensions"):
        pointer = target.item("extensions").item(_POINTER_EXTENSION)
        path = pointer.text("pointer")
        if (named := _POINTER.fullmatch(path)) and int(named[1]) < nodes:
            return int(named[1]), named[2]
    if path not in _KINDS or not target.has("node"):
        return None, path
    return target.integer("node", below=nodes), path


def _read_keys(file: GltfFile, index: int) -> Keys:
    table = read_accessor(file, index, "SCALAR")
    times = table.rows(slice(None))[:, 0]
    late = np.flatnonzero(np.diff(times) <= 0)
    if late.size:
        raise table.item.fault(f"key times that do not rise at element {late[0] + 1}")
    return Keys(index, times)


def _slerp(start: Array, end: Array, share: Array) -> Array:
    """The shorter arc between unit quaternions (keys, 4), at shares (keys, 1) of its angle."""
    cosine = np.einsum("kc,kc->k", start, end)[:, None]
    end = np.where(cosine < 0, -end, end)
    cosine = np.minimum(np.abs(cosine), 1.0)
    angle = np.arccos(cosine)
    sine = np.sin(angle)
    near = cosine > _NEARLY_EQUAL
    sine[near] = 1.0
    first = np.where(near, 1.0 - share, np.sin((1.0 - share) * angle) / sine)
    second = np.where(near, share, np.sin(share * angle) / sine)
    return quaternions.normalized(first * start + second * end)


def sample_joints(
    tree: NodeTree, joints: JointTree, tracks: list[Track], seconds: Array
) -> tuple[Skeleton, Array, Array, Array, tuple[str, ...]]:
    """Skeleton, rotations, translations and translated joints (as in `Clip`) at times; notes."""
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
    rest = quaternions.rotate(outer, np.concatenate([at_rest[node][0] for node in nodes]))
    lowest, highest = places.min(axis=0), places.max(axis=0)
    reach = np.maximum(np.maximum(np.abs(lowest), np.abs(highest)), np.abs(rest))
    still = (highest - lowest).max(axis=1) <= _STILL * reach[1:].max(initial=0.0)
    offsets = np.where(still[:, None], (lowest + highest) / 2.0, rest)
    offsets[0] = rest[0]
    moving = np.append(True, ~still[1:count])
    notes: tuple[str, ...] = ()
    if (axes != IDENTITY).any():
        notes = ("joint axes were turned so that the rest pose has no rotations",)
    parents, end_parents = np.array(joints.parents), np.array(joints.end_parents, np.int64)
    skeleton = Skeleton(joints.names, parents, offsets[:count], end_parents, offsets[count:])
    return skeleton, rotations, places[:, :count][:, moving], np.flatnonzero(moving), notes


def _sampled(tracks: list[Track], seconds: Array, *, scales: bool = False) -> Values:
    """Values of the tracks of scales, or of all others."""
    chosen = [track for track in tracks if (track.path == "scale") == scales]
    keys = {track.keys.index: track.keys for track in chosen}
    located = {index: own.located(seconds) for index, own in keys.items()}
    return {(track.node, track.path): track.sampled(located[track.keys.index]) for track in chosen}


class _Folding:
    """Nodes folded into the joints below them, and their scales into lengths."""

    def __init__(self, tree: NodeTree, joints: JointTree, scales: Values) -> None:
        self._tree, self._nodes = tree, joints.path_nodes
        self._is_joint = set(joints.nodes)
        self._rest = {node: tree.rest_transform(node) for node in joints.path_nodes}
        # Metres in one unit of each node's children.
        self._units = {-1: 1.0}
        bearing = {tree.parents[node] for node in self._nodes}
        for node in self._nodes:
            self._units[node] = self._units[tree.parents[node]]
            # What nothing hangs from changes no place.
            if node in bearing:
                self._units[node] *= self._scale_of(node, scales.get((node, "scale")))

    def _scale_of(self, node: int, values: Array | None) -> float:
        """One factor for all axes and frames."""
        scale = self._rest[node].scale
        if scale is NO_SCALE and values is None:
            return 1.0
        fact = ""
        if values is not None:
            scale = values[0]
            if (np.ptp(values, axis=0) > SCALE_TOLERANCE * np.abs(values).max(axis=0)).any():
                fact = "an animated scale"
        factor = float(np.mean(scale))
        if not (factor > 0 and np.abs(scale - factor).max() <= SCALE_TOLERANCE * factor):
            fact = fact or f"a scale of {' '.join(f'{s:.4g}' for s in scale)}"
        if fact:
            fact = f"{self._tree.name(node)!r} has {fact}, and joints hang from it"
            hint = "apply scales in the exporter, or leave this joint's scale alone"
            raise self._tree.item(node).fault(f"{fact}: a clip has no scales", hint)
        return 1.0 if abs(factor - 1.0) < 1e-6 else factor

    def relative(self, values: Values) -> dict[int, tuple[Array, Array]]:
        """Translation (1 or frames, 3) and rotation (.., 4) of nodes, from the joint above each."""
        found: dict[int, tuple[Array, Array]] = {}
        for node in self._nodes:
            rest, parent = self._rest[node], self._tree.parents[node]
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
