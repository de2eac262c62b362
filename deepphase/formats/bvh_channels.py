"""What the numbers of a BVH file's channels mean: local rotations and positions of joints."""

from __future__ import annotations

import numpy as np

from deepphase.formats.bvh_hierarchy import Hierarchy
from deepphase.formats.euler import completed_order, quaternions_from_euler
from deepphase.motion.skeleton import Array

# Angles in a block of frames, three a joint: its temporaries stay in a processor's cache.
_BLOCK_ANGLES = 1 << 14
# Shares of the skeleton's size below which a joint keeps its place, and a channel is empty.
STILL, _EMPTY = 1e-5, 1e-6


def rotation_order(channels: tuple[str, ...]) -> str:
    """The order of a joint's rotation channels, as in "ZXY"; empty where it has none."""
    return "".join(name[0] for name in channels if name.endswith("rotation"))


def _first_columns(hierarchy: Hierarchy) -> Array:
    """(joints,) the column in which each joint's channels begin."""
    counts = [len(channels) for channels in hierarchy.channels]
    return np.cumsum([0, *counts[:-1]])


def local_rotations(hierarchy: Hierarchy, values: Array) -> Array:
    """(frames, joints, 4) unit quaternions (x, y, z, w), from (frames, channels) of numbers."""
    rotations = np.zeros((len(values), len(hierarchy.names), 4))
    rotations[..., 3] = 1.0
    # Joints of one order are converted together: order -> their indices and their columns.
    groups: dict[str, tuple[list[int], list[list[int]]]] = {}
    for joint, first in enumerate(_first_columns(hierarchy)):
        channels = hierarchy.channels[joint]
        order = rotation_order(channels)
        if order:
            joints, columns = groups.setdefault(order, ([], []))
            joints.append(joint)
            columns.append([first + channels.index(f"{axis}rotation") for axis in order])
    for order, (joints, columns) in groups.items():
        block = max(_BLOCK_ANGLES // (3 * len(joints)), 1)
        transposed = np.array(columns).T
        target = slice(None) if len(joints) == rotations.shape[1] else joints
        for start in range(0, len(values), block):
            rows = slice(start, start + block)
            angles = np.zeros((3, len(values[rows]), len(joints)))
            for axis, own in zip(angles, transposed, strict=False):
                np.take(values[rows], own, axis=1, out=axis)
            rotations[rows, target] = quaternions_from_euler(angles, completed_order(order))
    return rotations


def local_positions(
    hierarchy: Hierarchy, values: Array
) -> tuple[Array, Array, Array, tuple[str, ...]]:
    """Where joints stand in their parents, from OFFSETs and position channels.

    Returns
    -------
    offsets : (joints, 3)
    translations : (frames, translated joints, 3)
    translated_joints : (translated joints,)
    notes
        All but the notes in units of the file.
    """
    offsets = hierarchy.offsets.copy()
    firsts = _first_columns(hierarchy)
    joints = np.array(
        [0]
        + [
            joint
            for joint, channels in enumerate(hierarchy.channels)
            if joint > 0 and any(name.endswith("position") for name in channels)
        ]
    )
    # Axes without a channel stay at the OFFSET.
    positions = np.broadcast_to(offsets[joints], (len(values), len(joints), 3)).copy()
    is_channel = np.zeros((len(joints), 3), bool)
    for slot, joint in enumerate(joints):
        for place, name in enumerate(hierarchy.channels[joint]):
            if name.endswith("position"):
                axis = "XYZ".index(name[0])
                positions[:, slot, axis] = values[:, firsts[joint] + place]
                is_channel[slot, axis] = True
    if len(joints) == 1:
        return offsets, positions, joints, ()
    notes: tuple[str, ...] = ()
    lowest, highest = positions.min(axis=0), positions.max(axis=0)
    farthest = np.maximum(np.abs(lowest), np.abs(highest)) * is_channel
    size = max(np.abs(hierarchy.offsets[1:]).max(), farthest[1:].max())
    named = offsets[joints] * is_channel
    if (farthest[1:] <= _EMPTY * size).all() and (np.abs(named[1:]) > STILL * size).any():
        positions[:, 1:] = offsets[joints[1:]]
        notes = ("position channels were added to the OFFSETs: they stay at zero",)
        moving = np.zeros(len(joints), bool)
    else:
        moving = (highest - lowest).max(axis=1) > STILL * size
        offsets[joints[1:]] = np.where(
            moving[1:, None], offsets[joints[1:]], (lowest[1:] + highest[1:]) / 2.0
        )
        apart = np.abs(offsets[joints] - hierarchy.offsets[joints]).max(axis=1)
        replaced = int((apart[1:] > 1e-3 * size).sum())
        if replaced:
            notes = (f"still position channels took the place of {replaced} OFFSETs",)
    moving[0] = True
    names = [hierarchy.names[joint] for joint in joints[moving]][1:]
    if names:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        notes += (f"joints that travel besides the root: {shown}",)
    return offsets, positions[:, moving], joints[moving], notes
