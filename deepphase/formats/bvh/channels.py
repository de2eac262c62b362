"""Conversion between the channels of a BVH file and local rotations and positions of joints."""

from __future__ import annotations

import warnings

import numpy as np

from deepphase.arrays import Array
from deepphase.formats.bvh.hierarchy import Hierarchy
from deepphase.formats.bvh.kernels import Kernels, loaded_kernels
from deepphase.motion import quaternions

# Each with the parity of its axes: even orders turn XYZ in a circle.
EULER_ORDERS = {"XYZ": 1, "YZX": 1, "ZXY": 1, "XZY": -1, "ZYX": -1, "YXZ": -1}
# A quarter of a degree, in radians.
_QUARTER_DEGREE = np.pi / 720.0
# Cosine of the middle angle below which the outer two turn about one axis.
_GIMBAL_LOCK = 1e-6


def completed_order(order: str) -> str:
    """An order of three axes that begins as `order` does, "ZXY" where none does."""
    return next((full for full in ("ZXY", *EULER_ORDERS) if full.startswith(order)), "ZXY")


def quaternions_from_euler(angles: Array, order: str) -> Array:
    """Unit quaternions (x, y, z, w) of Euler angles.

    Parameters
    ----------
    angles : (3, ...)
        Degrees, in the order's order.

    Returns
    -------
    (..., 4). Angles that grow past 180 degrees keep the quaternion's sign continuous.
    """
    # sin and cos of the half angle from the tangent of the quarter: one transcendental function
    # in place of two.
    tangent = np.tan(angles * _QUARTER_DEGREE)
    ratio = 2.0 / (1.0 + tangent * tangent)
    s1, s2, s3 = tangent * ratio
    c1, c2, c3 = ratio - 1.0
    parity = EULER_ORDERS[order]
    first, second, third = ("XYZ".index(axis) for axis in order)
    quaternions = np.empty((*angles.shape[1:], 4))
    sc, cs, cc, ss = s1 * c2, c1 * s2, c1 * c2, (s1 * s2) * parity
    quaternions[..., first] = sc * c3 + (cs * s3) * parity
    quaternions[..., second] = cs * c3 - (sc * s3) * parity
    quaternions[..., third] = ss * c3 + cc * s3
    quaternions[..., 3] = cc * c3 - ss * s3
    return quaternions


def continuous_euler(rotations: Array, order: str) -> Array:
    """Euler angles that follow a motion without jumps.

    Of the two triples that give a rotation, each frame takes the one nearer to the frame before,
    and whole turns are added where that is nearer still. In gimbal lock, where only the sum of
    the outer angles counts, the third angle is held from the last frame that was free.

    Parameters
    ----------
    rotations : (frames, ..., 4)
        Quaternions (x, y, z, w).

    Returns
    -------
    (frames, ..., 3), degrees, in the order's order.
    """
    shape = rotations.shape[:-1]
    with warnings.catch_warnings():
        # SciPy warns of gimbal lock, which is dealt with below.
        warnings.simplefilter("ignore", UserWarning)
        from scipy.spatial.transform import Rotation

        angles = Rotation.from_quat(rotations.reshape(-1, 4).astype(np.float64)).as_euler(order)
    angles = angles.reshape(*shape, 3)
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
    locked = np.abs(np.cos(angles[..., 1])) < _GIMBAL_LOCK
    if not locked.any():
        return
    frames = np.arange(len(angles)).reshape(-1, *(1,) * (locked.ndim - 1))
    last_free = np.maximum.accumulate(np.where(locked, -1, frames), axis=0)
    held = np.take_along_axis(angles[..., 2], np.maximum(last_free, 0), axis=0)
    held = np.where(locked & (last_free >= 0), held, angles[..., 2])
    moved = held - angles[..., 2]
    angles[..., 0] -= parity * np.sign(angles[..., 1]) * moved
    angles[..., 2] = held


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
    rotations = np.empty((len(values), len(hierarchy.names), 4))
    # Joints of one order are converted together: order -> their indices and their columns.
    groups: dict[str, tuple[list[int], list[list[int]]]] = {}
    for joint, first in enumerate(_first_columns(hierarchy)):
        channels = hierarchy.channels[joint]
        order = rotation_order(channels)
        if order:
            joints, columns = groups.setdefault(order, ([], []))
            joints.append(joint)
            columns.append([first + channels.index(f"{axis}rotation") for axis in order])
    still = [
        joint for joint, channels in enumerate(hierarchy.channels) if not rotation_order(channels)
    ]
    rotations[:, still] = (0.0, 0.0, 0.0, 1.0)
    kernels = loaded_kernels()
    for order, (joints, columns) in groups.items():
        block = max(_BLOCK_ANGLES // (3 * len(joints)), 1)
        for start in range(0, len(values), block):
            rows = slice(start, start + block)
            if kernels is None:
                _rotate(values[rows], order, joints, columns, rotations[rows])
            else:
                _rotate_compiled(kernels, values[rows], order, joints, columns, rotations[rows])
    return rotations


def _rotate(
    values: Array, order: str, joints: list[int], columns: list[list[int]], rotations: Array
) -> None:
    """Fill the (frames, joints, 4) `rotations` of the joints that have one order of channels."""
    angles = np.zeros((3, len(values), len(joints)))
    for axis, own in zip(angles, np.array(columns).T, strict=False):
        np.take(values, own, axis=1, out=axis)
    target = slice(None) if len(joints) == rotations.shape[1] else joints
    rotations[:, target] = quaternions_from_euler(angles, completed_order(order))


def _rotate_compiled(
    kernels: Kernels,
    values: Array,
    order: str,
    joints: list[int],
    columns: list[list[int]],
    rotations: Array,
) -> None:
    """The same values, bit by bit."""
    full = completed_order(order)
    places = np.full((len(joints), 3), -1)
    places[:, : len(order)] = columns
    kernels.rotate_joints(
        np.tan(values * _QUARTER_DEGREE),
        places,
        np.array(joints),
        np.array(["XYZ".index(axis) for axis in full]),
        float(EULER_ORDERS[full]),
        rotations,
    )


def rest_axes(hierarchy: Hierarchy) -> Array:
    """(joints, 4) rotations of the joints' axes at rest in the world."""
    assert hierarchy.rests is not None
    axes = np.empty((len(hierarchy.names), 4))
    for joint, parent in enumerate(hierarchy.parents.tolist()):
        order = completed_order(rotation_order(hierarchy.channels[joint]))
        angles = hierarchy.rests[joint][["XYZ".index(axis) for axis in order]]
        own = quaternions_from_euler(angles, order)
        axes[joint] = own if parent < 0 else quaternions.multiply(axes[parent], own)
    return axes


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
