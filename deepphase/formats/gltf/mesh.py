"""A mesh for joints that have none: octahedra along rigid parts, and balls at other joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.skeleton import Skeleton

# An octahedron is widest at this share of its length, and so wide.
_RING_SHARE, _WIDTH_SHARE = 0.15, 0.09
# Bounds of widths, as shares of the whole body's extent.
_THINNEST, _THICKEST, _BALL_RADIUS = 0.004, 0.03, 0.012
_CORNERS = np.array(
    [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float64
)
# Triangles of the six corners, counter-clockwise from outside.
_BALL = np.array(
    [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
)
# Triangles of head (0), tip (1) and a ring of four (2 to 5).
_OCTAHEDRON = np.array(
    [[0, 2 + (i + 1) % 4, 2 + i] for i in range(4)]
    + [[1, 2 + i, 2 + (i + 1) % 4] for i in range(4)]
)


@dataclass(frozen=True, eq=False)
class JointMesh:
    """Triangles that follow joints."""

    # (vertices, 3) metres, in the world at rest
    positions: Array
    normals: Array
    # (vertices,) the joint that each vertex follows
    joints: Array
    # (triangles, 3) uint32, counter-clockwise from outside
    triangles: Array


def joint_mesh(skeleton: Skeleton, rest: Array, moving: Array) -> JointMesh:
    """The mesh of a skeleton.

    Parameters
    ----------
    rest : (joints, 3) metres
        The joints in the world at rest.
    moving : (joints,) bool
        Joints whose places change in their parents' frames: no octahedron reaches to them.
    """
    parents = [int(parent) for parent in skeleton.parents]
    ends = [int(parent) for parent in skeleton.end_parents]
    tips = rest[ends] + skeleton.end_offsets
    # A single joint has no extent, and is still to be seen.
    extent = float(np.ptp(np.concatenate([rest, tips]), axis=0).max()) or 1.0
    thinnest, thickest = _THINNEST * extent, _THICKEST * extent
    bones = [
        (parent, rest[joint])
        for joint, parent in enumerate(parents)
        if parent >= 0 and not moving[joint]
    ]
    parts, shown = [], set()
    for joint, tip in [*bones, *zip(ends, tips, strict=True)]:
        length = float(np.linalg.norm(tip - rest[joint]))
        if length > thinnest:
            width = float(np.clip(_WIDTH_SHARE * length, thinnest, thickest))
            parts.append((joint, *_octahedron(rest[joint], tip, width)))
            shown.add(joint)
    radius = _BALL_RADIUS * extent
    parts += [
        (joint, rest[joint] + radius * _CORNERS, _CORNERS, _BALL)
        for joint in range(len(skeleton))
        if joint not in shown
    ]
    counts = [len(positions) for _, positions, _, _ in parts]
    starts = np.cumsum([0, *counts[:-1]])
    return JointMesh(
        np.concatenate([positions for _, positions, _, _ in parts]),
        np.concatenate([normals for _, _, normals, _ in parts]),
        np.repeat([joint for joint, _, _, _ in parts], counts),
        np.concatenate([start + part[3] for start, part in zip(starts, parts, strict=True)]).astype(
            np.uint32
        ),
    )


def _octahedron(head: Array, tip: Array, width: float) -> tuple[Array, Array, Array]:
    """Positions, normals and triangles of flat faces from a joint to another."""
    along = tip - head
    # Any direction across will do; the axis that it has least of is far enough from it.
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    across /= np.linalg.norm(across)
    other = np.cross(along, across) / np.linalg.norm(along)
    middle = head + _RING_SHARE * along
    ring = [middle + width * side for side in (across, other, -across, -other)]
    corners = np.stack([head, tip, *ring])[_OCTAHEDRON]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    count = 3 * len(corners)
    return corners.reshape(-1, 3), np.repeat(normals, 3, axis=0), np.arange(count).reshape(-1, 3)
