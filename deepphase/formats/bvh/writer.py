"""Clips to BVH files."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.files import atomic_write
from deepphase.formats.bvh.hierarchy import EULER_ORDERS, STILL, completed_order
from deepphase.formats.reading import (
    check_writable_body,
    checked_body,
    metres_per_unit,
    unique_names,
)
from deepphase.motion.clip import Clip
from deepphase.motion.orientation import infer_unit, rotate_from_y_up, scaled
from deepphase.motion.skeleton import Skeleton, children_of, depth_first

_LOG = logging.getLogger("deepphase")
_MAX_DECIMALS = 15
# Readers that split a line at its blanks keep the first word of a name, and three.js takes what is
# before a colon for a folder.
_ODD = re.compile(r"[^\w.|+\-#]+")
# Indentation is for the eye; without a bound, a chain of joints grows a file with its square.
_DEEPEST_INDENT = 40
_FRAMES_A_BLOCK = 256
# Cosine of the middle angle below which the outer two turn about one axis.
_GIMBAL_LOCK = 1e-6


def save_bvh(
    clip: Clip,
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rotation_order: str | Sequence[str] | None = None,
    decimals: int = 6,
    keep_names: bool = False,
) -> None:
    """Write a clip as a BVH file, by default as its source wrote it, whole or not at all.

    The root and every joint that travels have three position channels, and an OFFSET of zeros,
    which some programs add to them. Angles are continuous, may pass 180 degrees. A rotation order
    such as "ZXY" is for all joints, or there is one for each. Names are written as by
    `plain_names`, which a note says, unless `keep_names`.
    """
    path = Path(path)
    unit_m = metres_per_unit(clip.source.unit_m if unit is None else unit)
    orders = _orders(clip, rotation_order)
    if not 0 <= decimals <= _MAX_DECIMALS:
        hint = f"choose 0 to {_MAX_DECIMALS}"
        raise ParameterError(f"{decimals} decimals cannot be written", hint=hint)
    names = clip.skeleton.names if keep_names else plain_names(clip.skeleton.names)
    _note_changes(clip.skeleton.names, names)
    _check_names(names, path)
    clip = replace(clip, skeleton=replace(clip.skeleton, names=names))
    written = rotate_from_y_up(clip, clip.source.up if up is None else up)
    check_writable_body(clip, path)
    written = _without_still_joints(scaled(written, 1.0 / unit_m))
    # Lengths may be too large in the unit that a reader infers.
    rounded = replace(written.skeleton, offsets=np.round(written.skeleton.offsets, decimals))
    checked_body(scaled(written, infer_unit(rounded)[0]), path)
    written, orders = _depth_first(written, orders)
    with atomic_write(path) as file:
        file.writelines(f"{line}\n".encode() for line in _hierarchy(written, orders, decimals))
        file.write(f"MOTION\nFrames: {len(clip)}\n".encode())
        file.write(f"Frame Time: {1.0 / clip.fps:.10g}\n".encode())
        # Adding zero turns -0.0 into 0.0.
        values = np.round(_channel_values(written, orders), decimals) + 0.0
        row = " ".join([f"%.{decimals}f"] * values.shape[1]) + "\n"
        for start in range(0, len(values), _FRAMES_A_BLOCK):
            block = values[start : start + _FRAMES_A_BLOCK]
            file.write((row * len(block) % tuple(block.ravel().tolist())).encode())


def plain_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names that every program reads: "_" is in place of blanks, colons, brackets and quotes."""
    plain = (_ODD.sub("_", name.strip().encode("utf-8", "replace").decode()) for name in names)
    return unique_names([name or "joint" for name in plain])[0]


def _note_changes(names: Sequence[str], written: Sequence[str]) -> None:
    changed = [pair for pair in zip(names, written, strict=True) if len(set(pair)) > 1]
    if changed:
        (name, plain), *others = changed
        more = f", and {len(others)} more" if others else ""
        why = "other programs misread such names; `convert --keep-names` keeps them"
        _LOG.info("joint %r is written to BVH as %r%s: %s", name, plain, more, why)


def _orders(clip: Clip, given: str | Sequence[str] | None) -> list[str]:
    joints = len(clip.skeleton)
    if given is None:
        source = clip.source.rotation_orders
        source = source if len(source) == joints else ("",) * joints
        return [o if o in EULER_ORDERS else completed_order(o) for o in source]
    given = [given] * joints if isinstance(given, str) else given
    orders = [str(order).upper() for order in given]
    if len(orders) != joints or not set(orders) <= EULER_ORDERS.keys():
        raise ParameterError(
            f"rotation orders {', '.join(dict.fromkeys(orders))[:80]!r} are not possible for "
            f"{joints} joints",
            hint=f"give one of {', '.join(EULER_ORDERS)} for all, or one for each",
        )
    return orders


def _check_names(names: Sequence[str], path: Path) -> None:
    fault = partial(FormatError, path=path)
    for name in names:
        if not name or name != name.strip() or any(mark in name for mark in "{}\n\r"):
            raise fault(
                f"a joint name that BVH cannot hold: {name!r}",
                hint="rename the joint: no braces, no line breaks, no blanks around the name",
            )
        if name != name.encode(errors="ignore").decode():
            raise fault(f"a joint name that is not text: {name!r}")


def _without_still_joints(clip: Clip) -> Clip:
    """A joint that keeps its place needs no channels; its place is its offset, as when read."""
    moving, skeleton = clip.translated_joints, clip.skeleton
    if len(moving) == 1:
        return clip
    lowest, highest = clip.translations.min(axis=0), clip.translations.max(axis=0)
    size = max(np.abs(skeleton.offsets[1:]).max(), np.abs(clip.translations[:, 1:]).max())
    still = (highest - lowest).max(axis=1) <= STILL * size
    still[0] = False
    offsets = skeleton.offsets.copy()
    offsets[moving[still]] = (lowest[still] + highest[still]) / 2.0
    return replace(
        clip,
        skeleton=replace(skeleton, offsets=offsets),
        translations=clip.translations[:, ~still],
        translated_joints=moving[~still],
    )


def _depth_first(clip: Clip, orders: list[str]) -> tuple[Clip, list[str]]:
    """The clip with every joint right behind what hangs from its parent's earlier children."""
    skeleton = clip.skeleton
    sequence = depth_first(0, children_of(skeleton.parents.tolist()))
    if sequence == sorted(sequence):
        return clip, orders
    rank = np.argsort(sequence)
    parents = skeleton.parents[sequence]
    parents[1:] = rank[parents[1:]]
    names = tuple(skeleton.names[joint] for joint in sequence)
    reordered = clip.in_order_of(Skeleton(names, parents, skeleton.offsets[sequence]))
    return reordered, [orders[joint] for joint in sequence]


def _hierarchy(clip: Clip, orders: list[str], decimals: int) -> Iterator[str]:
    skeleton, depth = clip.skeleton, 0

    def line(text: str, deeper: int = 0) -> str:
        return "\t" * min(depth + deeper, _DEEPEST_INDENT) + text

    def offset(vector: Array) -> str:
        return "OFFSET " + " ".join(f"{value:.{decimals}f}" for value in vector.tolist())

    ends: dict[int, list[Array]] = {}
    for parent, end in zip(skeleton.end_parents.tolist(), skeleton.end_offsets, strict=True):
        ends.setdefault(parent, []).append(end)
    places = set(clip.translated_joints.tolist())
    offsets = skeleton.offsets.copy()
    offsets[clip.translated_joints] = 0.0
    open_joints: list[int] = []
    yield "HIERARCHY"
    for joint, parent in enumerate([*skeleton.parents.tolist(), -1]):
        while open_joints and open_joints[-1] != parent:
            open_joints.pop()
            depth -= 1
            yield line("}")
        if joint == len(skeleton):
            return
        yield line(f"{'JOINT' if joint else 'ROOT'} {skeleton.names[joint]}")
        yield line("{")
        open_joints.append(joint)
        depth += 1
        yield line(offset(offsets[joint]))
        axes = [f"{axis}position" for axis in "XYZ"] if joint in places else []
        axes += [f"{axis}rotation" for axis in orders[joint]]
        yield line(f"CHANNELS {len(axes)} {' '.join(axes)}")
        for end in ends.get(joint, ()):
            yield from (line("End Site"), line("{"), line(offset(end), 1), line("}"))


def _channel_values(clip: Clip, orders: list[str]) -> Array:
    """(frames, channels) float64: units of the file and degrees."""
    joints = len(orders)
    widths = np.full(joints, 3)
    widths[clip.translated_joints] = 6
    stops = np.cumsum(widths)
    values = np.empty((len(clip), stops[-1]))
    for slot, joint in enumerate(clip.translated_joints):
        values[:, stops[joint] - 6 : stops[joint] - 3] = clip.translations[:, slot]
    for order in sorted(set(orders)):
        group = np.array([joint for joint in range(joints) if orders[joint] == order])
        columns = stops[group, None] - 3 + np.arange(3)
        values[:, columns] = continuous_euler(clip.rotations[:, group], order)
    return values


def continuous_euler(rotations: Array, order: str) -> Array:
    """Euler angles (frames, ..., 3), degrees, that follow quaternions (frames, ..., 4) smoothly."""
    with warnings.catch_warnings():
        # SciPy warns of gimbal lock, which is dealt with below.
        warnings.simplefilter("ignore", UserWarning)
        turns = Rotation.from_quat(rotations.reshape(-1, 4).astype(np.float64))
        angles = turns.as_euler(order).reshape(*rotations.shape[:-1], 3)
    _hold_third_angle(angles, EULER_ORDERS[order])
    other = angles + np.pi
    other[..., 1] = np.pi - angles[..., 1]
    to_same = _turn_between(angles[:-1], angles[1:])
    to_other = _turn_between(angles[:-1], other[1:])
    # Both triples are equally far from both of the next frame's, so a change of triple is found
    # from one frame to the next and adds up.
    is_other = np.cumsum(to_other < to_same, axis=0) % 2 == 1
    angles[1:][is_other] = other[1:][is_other]
    return np.rad2deg(np.unwrap(angles, axis=0))


def _turn_between(before: Array, after: Array) -> Array:
    turn = after - before
    turn -= 2.0 * np.pi * np.rint(turn / (2.0 * np.pi))
    return np.abs(turn).sum(axis=-1)


def _hold_third_angle(angles: Array, parity: int) -> None:
    """Hold the third angle in gimbal lock from the last frame that was free."""
    locked = np.abs(np.cos(angles[..., 1])) < _GIMBAL_LOCK
    if not locked.any():
        return
    frames = np.arange(len(angles)).reshape(-1, *(1,) * (locked.ndim - 1))
    last_free = np.maximum.accumulate(np.where(locked, -1, frames), axis=0)
    held = np.take_along_axis(angles[..., 2], np.maximum(last_free, 0), axis=0)
    held = np.where(locked & (last_free >= 0), held, angles[..., 2])
    angles[..., 0] -= parity * np.sign(angles[..., 1]) * (held - angles[..., 2])
    angles[..., 2] = held
