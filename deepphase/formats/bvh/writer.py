"""Clips to BVH files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.bvh.channels import EULER_ORDERS, STILL, completed_order, continuous_euler
from deepphase.formats.reading import (
    check_writable_body,
    checked_body,
    children_of,
    depth_first,
    metres_per_unit,
)
from deepphase.motion.clip import Clip
from deepphase.motion.orientation import infer_unit, rotate_from_y_up, scaled
from deepphase.motion.skeleton import Skeleton

_MAX_DECIMALS = 15
# Indentation is for the eye; without a bound, a chain of joints grows a file with its square.
_DEEPEST_INDENT = 40
_FRAMES_A_BLOCK = 256


def save_bvh(
    clip: Clip,
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rotation_order: str | Sequence[str] | None = None,
    decimals: int = 6,
) -> None:
    """Write a clip as a BVH file, by default as its source wrote it.

    Joints are written depth first. Every joint has three rotation channels, the root and
    every joint that travels three position channels before them. Angles are continuous over time
    and may pass 180 degrees. The file appears whole or not at all.

    Parameters
    ----------
    unit
        "m", "cm", "mm", "inch", "foot" or metres in one unit; None takes the source's.
    up
        The file's up axis, "x", "y", "z", "-x", "-y" or "-z"; None takes the source's.
    rotation_order
        One order such as "ZXY" for all joints, or one for each; None takes the source's, filled
        up to three axes, or "ZXY".
    """
    path = Path(path)
    unit_m = metres_per_unit(clip.source.unit_m if unit is None else unit)
    orders = _orders(clip, rotation_order)
    if not 0 <= decimals <= _MAX_DECIMALS:
        raise ParameterError(
            f"{decimals} decimals cannot be written", hint=f"choose 0 to {_MAX_DECIMALS}"
        )
    for name in clip.skeleton.names:
        _check_name(name, path)
    written = rotate_from_y_up(clip, clip.source.up if up is None else up)
    check_writable_body(clip, path)
    written = _without_still_joints(scaled(written, 1.0 / unit_m))
    _check_size(written, decimals, path)
    written, orders = _depth_first(written, orders)
    with atomic_write(path) as file:
        header = _hierarchy(written.skeleton, orders, written.translated_joints, decimals)
        file.writelines(f"{line}\n".encode() for line in header)
        file.write(f"MOTION\nFrames: {len(clip)}\n".encode())
        file.write(f"Frame Time: {1.0 / clip.fps:.10g}\n".encode())
        file.writelines(_frames(_channel_values(written, orders), decimals))


def _check_size(clip_in_file_units: Clip, decimals: int, path: Path) -> None:
    """Refuse lengths that are too large in the unit that a reader will infer."""
    clip = clip_in_file_units
    rounded = replace(clip.skeleton, offsets=np.round(clip.skeleton.offsets, decimals))
    unit_m, _ = infer_unit(rounded)
    checked_body(scaled(clip, unit_m), path)


def _orders(clip: Clip, given: str | Sequence[str] | None) -> list[str]:
    joints = len(clip.skeleton)
    if given is None:
        source = clip.source.rotation_orders
        if len(source) != joints:
            source = ("",) * joints
        return [completed_order(order) for order in source]
    orders = [given] * joints if isinstance(given, str) else list(given)
    if len(orders) != joints:
        raise ParameterError(
            f"there are {len(orders)} rotation orders for {joints} joints",
            hint="give one for all, or one for each",
        )
    orders = [str(order).upper() for order in orders]
    wrong = next((order for order in orders if order not in EULER_ORDERS), None)
    if wrong is not None:
        raise ParameterError(
            f"a rotation order {wrong!r} is not possible",
            hint=f"choose one of {', '.join(EULER_ORDERS)}",
        )
    return orders


def _check_name(name: str, path: Path) -> None:
    if not name or name != name.strip() or any(mark in name for mark in "{}\n\r"):
        raise FormatError(
            f"a joint name that BVH cannot hold: {name!r}",
            hint="rename the joint: no braces, no line breaks, no blanks around the name",
            path=path,
        )
    try:
        name.encode()
    except UnicodeEncodeError:
        raise FormatError(f"a joint name that is not text: {name!r}", path=path) from None


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


def _hierarchy(
    skeleton: Skeleton, orders: list[str], translated: Array, decimals: int
) -> Iterator[str]:
    def offset(vector: Array) -> str:
        return "OFFSET " + " ".join(f"{value:.{decimals}f}" for value in vector.tolist())

    ends: dict[int, list[Array]] = {}
    for parent, end in zip(skeleton.end_parents.tolist(), skeleton.end_offsets, strict=True):
        ends.setdefault(parent, []).append(end)
    places = set(translated.tolist())
    yield "HIERARCHY"
    open_joints: list[int] = []
    for joint, parent in enumerate(skeleton.parents.tolist()):
        while open_joints and open_joints[-1] != parent:
            open_joints.pop()
            yield _indent(len(open_joints)) + "}"
        outer = _indent(len(open_joints))
        open_joints.append(joint)
        inner = _indent(len(open_joints))
        yield f"{outer}{'JOINT' if joint else 'ROOT'} {skeleton.names[joint]}"
        yield outer + "{"
        yield inner + offset(skeleton.offsets[joint])
        axes = [f"{axis}position" for axis in "XYZ"] if joint in places else []
        axes += [f"{axis}rotation" for axis in orders[joint]]
        yield f"{inner}CHANNELS {len(axes)} {' '.join(axes)}"
        for end in ends.get(joint, ()):
            yield f"{inner}End Site"
            yield inner + "{"
            yield _indent(len(open_joints) + 1) + offset(end)
            yield inner + "}"
    while open_joints:
        open_joints.pop()
        yield _indent(len(open_joints)) + "}"


def _indent(depth: int) -> str:
    return "\t" * min(depth, _DEEPEST_INDENT)


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


def _frames(values: Array, decimals: int) -> Iterator[bytes]:
    # Adding zero turns -0.0 into 0.0.
    values = np.round(values, decimals) + 0.0
    row = " ".join([f"%.{decimals}f"] * values.shape[1]) + "\n"
    for start in range(0, len(values), _FRAMES_A_BLOCK):
        block = values[start : start + _FRAMES_A_BLOCK]
        yield (row * len(block) % tuple(block.ravel().tolist())).encode()
