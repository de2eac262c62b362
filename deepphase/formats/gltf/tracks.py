"""Animation channels: the keys of a node's translation, rotation or scale, and values between."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepphase.arrays import Array
from deepphase.formats.gltf.buffers import (
    BYTE,
    FLOAT,
    SHORT,
    UNSIGNED_BYTE,
    UNSIGNED_SHORT,
    AccessorTable,
    read_accessor,
)
from deepphase.formats.gltf.document import GltfFile, Item
from deepphase.motion import quaternions

_KINDS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}
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


@dataclass(frozen=True, eq=False)
class Keys:
    """The key times of samplers."""

    # Of their accessor
    index: int
    # (keys,) float64 seconds, rising
    times: Array

    @cached_property
    def _snap(self) -> Array:
        rounding = _LAST_PLACES * np.spacing(self.times.astype(np.float32)).astype(np.float64)
        spacing = np.diff(self.times).min() if len(self.times) > 1 else 0.0
        return np.minimum(np.maximum(rounding, _SHARE_OF_SPACING * spacing), 0.25 * spacing)

    def located(self, seconds: Array) -> tuple[Array, Array]:
        """The key at or before each time, and the share of the way to the next key, 0 to 1.

        Before the first key and behind the last, those hold.
        """
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

    # Its target: "translation", "rotation" or "scale"
    node: int
    path: str
    # Its sampler
    keys: Keys
    table: AccessorTable
    interpolation: str

    def _at(self, keys: Array, part: int = 1) -> Array:
        """The value at keys, or its tangent before (0) or behind (2) them."""
        if self.interpolation != "CUBICSPLINE":
            return self.table.rows(keys)
        return self.table.rows(_SPLINE_VALUES * keys + part)

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
            mixed = _hermite(self._at(own), leaving, arriving, following, mix)
            values[between] = quaternions.normalized(mixed) if is_rotation else mixed
        elif is_rotation:
            values[between] = _slerp(values[between], quaternions.normalized(following), mix)
        else:
            values[between] += mix * (following - values[between])
        return values


def read_tracks(file: GltfFile, animation: Item, known_keys: dict[int, Keys]) -> list[Track]:
    """What an animation does to nodes; channels of weights and of extensions are passed over."""
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
            _check_directions(track)
        tracks[node, path] = track
    return list(tracks.values())


def channel_target(channel: Item, nodes: int) -> tuple[int | None, str]:
    """The node and path of a channel; no node where it moves none."""
    target = channel.item("target")
    path = target.text("path")
    if path not in _KINDS or not target.has("node"):
        return None, path
    return target.integer("node", below=nodes), path


def _read_keys(file: GltfFile, index: int) -> Keys:
    table = read_accessor(file, index, "SCALAR")
    times = table.rows(slice(None))[:, 0]
    if times[0] < 0:
        raise table.item.fault(f"a key at {times[0]:g} s, before the animation's start")
    late = np.flatnonzero(np.diff(times) <= 0)
    if late.size:
        raise table.item.fault(f"key times that do not rise at element {late[0] + 1}")
    return Keys(index, times)


def _check_directions(track: Track) -> None:
    step, first = (_SPLINE_VALUES, 1) if track.interpolation == "CUBICSPLINE" else (1, 0)
    for start in range(first, len(track.table), step * _KEYS_A_CHECK):
        part = track.table.rows(slice(start, start + step * _KEYS_A_CHECK, step))
        short = np.einsum("kc,kc->k", part, part) < _SHORTEST_ROTATION**2
        if short.any():
            element = start + step * int(np.argmax(short))
            raise track.table.item.fault(f"element {element}: a rotation without direction")


def _hermite(start: Array, leaving: Array, arriving: Array, end: Array, share: Array) -> Array:
    """glTF 2.0, appendix C.5: the cubic with these values and tangents at its ends."""
    square, cube = share**2, share**3
    return (
        (2 * cube - 3 * square + 1) * start
        + (cube - 2 * square + share) * leaving
        + (cube - square) * arriving
        + (3 * square - 2 * cube) * end
    )


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
