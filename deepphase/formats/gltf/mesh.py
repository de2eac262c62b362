"""A mesh for joints that have none: octahedra along rigid parts, capsules along the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.skeleton import Skeleton

# An octahedron is widest at this share of its length, and so wide.
_RING_SHARE, _WIDTH_SHARE = 0.15, 0.09
# Bounds of widths, as shares of the whole body's extent.
_THINNEST, _THICKEST, _BALL_RADIUS = 0.004, 0.03, 0.012
# A part of a body is no longer at most than at least by this share of its length; what is, joins
# nothing.
_LOOSEST = 0.5
_CORNERS = np.array(
    [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float64
)
# Triangles of the six corners, counter-clockwise from outside.
_BALL = np.array(
    [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
)
_EDGES = np.array([(a, b) for a in range(6) for b in range(a + 1, 6) if a // 2 != b // 2])
# Triangles of head (0), tip (1) and a ring of four (2 to 5).
_OCTAHEDRON = np.array(
    [[0, 2 + (i + 1) % 4, 2 + i] for i in range(4)]
    + [[1, 2 + i, 2 + (i + 1) % 4] for i in range(4)]
)


@dataclass(frozen=True, eq=False)
class JointMesh:
    """Triangles that follow joints.

    Parameters
    ----------
    positions, normals
        (vertices, 3) metres, in the world at rest.
    joints
        (vertices,) the joint that each vertex follows.
    triangles
        (triangles, 3) uint32, counter-clockwise from outside.
    """

    positions: Array
    normals: Array
    joints: Array
    triangles: Array


class _Builder:
    def __init__(self) -> None:
        self.parts: list[tuple[Array, Array, Array, Array]] = []
        self.vertices = 0

    def add(self, positions: Array, normals: Array, joints: Array, triangles: Array) -> None:
        self.parts.append((positions, normals, joints, triangles + self.vertices))
        self.vertices += len(positions)

    def octahedron(self, joint: int, head: Array, tip: Array, width: float) -> None:
        """Flat faces, all following one joint."""
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
        self.add(
            corners.reshape(-1, 3),
            np.repeat(normals, 3, axis=0),
            np.full(count, joint),
            np.arange(count).reshape(-1, 3),
        )

    def ball(self, joint: int, centre: Array, radius: float) -> None:
        self.add(centre + radius * _CORNERS, _CORNERS, np.full(6, joint), _BALL)

    def capsule(self, joints: tuple[int, int], centres: tuple[Array, Array], radius: float) -> None:
        """A ball at either joint and what lies between, wherever the joints go."""
        first, second = (centre + radius * _CORNERS for centre in centres)
        a, b = _EDGES.T
        sides = np.concatenate([np.stack([a, b, b + 6], 1), np.stack([a, b + 6, a + 6], 1)])
        self.add(
            np.concatenate([first, second]),
            np.tile(_CORNERS, (2, 1)),
            np.repeat(joints, 6),
            np.concatenate([_BALL, _BALL + 6, sides]),
        )


def joint_mesh(skeleton: Skeleton, rest: Array, reaches: Array) -> JointMesh:
    """The mesh of a skeleton.

    Parameters
    ----------
    rest
        (joints, 3) metres: the joints in the world at rest.
    reaches
        (joints, 2) metres: how near each joint comes to its parent and how far it goes, where its
        place, seen from the parent, changes; NaN where it does not. What reaches to a joint of
        changing place follows both.
    """
    travelling = np.isfinite(reaches[:, 0])
    nearest, farthest = np.where(travelling[:, None], reaches, 0.0).T
    lengths = (nearest + farthest) / 2.0
    loose = travelling & (farthest - nearest > _LOOSEST * lengths)
    if len(skeleton.children(0)) == 1 and not travelling[1:].all():
        # The root stands on the floor while the hips walk.
        loose |= travelling & (skeleton.parents == 0)
    lengths[loose] = 0.0
    builder = _Builder()
    tips = rest[skeleton.end_parents] + skeleton.end_offsets
    points = np.concatenate([rest, tips])
    extent = max(float(np.ptp(points, axis=0).max()), float(lengths.max()))
    # A single joint has no extent, and is still to be seen.
    extent = extent or 1.0
    thinnest, thickest = _THINNEST * extent, _THICKEST * extent
    shown: set[int] = set()

    def reach(joint: int, tip: Array) -> None:
        length = float(np.linalg.norm(tip - rest[joint]))
        if length > thinnest:
            width = float(np.clip(_WIDTH_SHARE * length, thinnest, thickest))
            builder.octahedron(joint, rest[joint], tip, width)
            shown.add(joint)

    for joint, parent in enumerate(skeleton.parents.tolist()):
        if parent < 0 or loose[joint]:
            continue
        if travelling[joint]:
            radius = float(np.clip(_WIDTH_SHARE * lengths[joint], thinnest, thickest))
            builder.capsule((parent, joint), (rest[parent], rest[joint]), radius)
            shown.update((parent, joint))
        else:
            reach(parent, rest[joint])
    for parent, tip in zip(skeleton.end_parents.tolist(), tips, strict=True):
        reach(parent, tip)
    for joint in range(len(skeleton)):
        if joint not in shown:
            builder.ball(joint, rest[joint], _BALL_RADIUS * extent)
    positions, normals, joints, triangles = map(np.concatenate, zip(*builder.parts, strict=True))
    return JointMesh(
        positions,
        normals,
        joints,
        triangles.astype(np.uint32),
    )
