"""Hinges of a body: knees, elbows and hocks bend about one axis, as far as captured poses do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepphase.arrays import Array, smoothstep
from deepphase.motion import quaternions
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton, ancestors

# Percentiles of poses between which a joint bends, more of few poses; the margins around them of
# knees and elbows, and of hocks, radians; and the mean sines of bends that show axes of hocks, and
# of knees and elbows.
_BAND, _FEW, _MARGIN, _SHOWN, _LEAST_SHOWN = 1.0, 300.0, (0.2, 0.4), 0.02, 1e-6
# Radians by which a bend may be beyond its range, or have changed, unnoticed.
_SLACK = 1e-6
# Radians beyond its range from which on a captured joint is taken for one below a rolled part.
_ROLLED = 0.9
# Poses from which on they show how far hocks bend, which have no bounds of their own.
_HOCK_POSES = 30
# Bounds of the least and the largest bend of knees and elbows, radians.
_LEAST, _LARGEST = (-0.1, 0.0), (2.6, 3.0)
# Joints before, in and after a hinge, and the share of the body's own left in its axis, which tells
# the side of limbs that stay straight; the last are the hocks of quadrupeds.
_PARTS = (("hip", "knee", "foot", 0.02), ("shoulder", "elbow", "hand", -0.02))
_HOCKS = ("knee", "foot", "toe", 0.0)


@dataclass(frozen=True, eq=False)
class Hinges:
    """Joints that bend about one axis, with the range in which captured poses bend them."""

    joints: Array  # (hinges,)
    parents: Array  # (hinges,)
    above: Array  # (hinges, 3) direction in which the limb reaches the joint, in its parent's frame
    below: Array  # (hinges, 3) direction in which it goes on, in the joint's frame
    axes: Array  # (hinges, 3) unit axes in the frame of the joint's parent
    ranges: Array  # (hinges, 2) radians about them: the least and the largest bend

    @classmethod
    def from_poses(cls, skeleton: Skeleton, roles: Roles, poses: Array | None = None) -> Hinges:
        """Hinges of knees and elbows, and of a quadruped's hocks, from captured local rotations.

        Without `poses` (poses, joints, 4) the rest pose tells the sides of limbs, and hocks have
        none, as they have of few poses and of those that do not bend them.
        """
        if poses is None or not len(poses):
            poses = np.tile(quaternions.IDENTITY, (1, len(skeleton), 1))
        parts = list(_PARTS)
        if roles.kind == "quadruped" and len(poses) >= _HOCK_POSES:
            parts.append(_HOCKS)
        rows, rest = [], skeleton.rest_positions
        for first, second, third, share in parts:
            uppers = roles.both(first)
            across = np.zeros(3) if uppers is None else rest[uppers[0]] - rest[uppers[1]]
            across *= share / max(float(np.linalg.norm(across)), 1e-12)
            for side in ("left", "right"):
                joint, last = (getattr(roles, f"{side}_{part}") for part in (second, third))
                end = getattr(roles, f"{side}_foot_end") if last is None else None
                if joint is None or getattr(roles, f"{side}_{first}") is None:
                    continue
                if last is not None and joint in ancestors(skeleton, last)[1:]:
                    path = ancestors(skeleton, last)
                    below = skeleton.offsets[path[path.index(joint) - 1]]
                elif end is not None and skeleton.end_parents[end] == joint:
                    below = skeleton.end_offsets[end]
                else:
                    continue
                rows.append((joint, skeleton.offsets[joint], below, across, share != 0.0))
        joints = np.array([row[0] for row in rows], np.int64)
        above, below, across = (
            np.array([row[k] for row in rows], float).reshape(-1, 3) for k in (1, 2, 3)
        )
        rigid = np.array([row[4] for row in rows], bool)
        above, below = (
            bone / np.maximum(np.linalg.norm(bone, axis=-1, keepdims=True), 1e-12)
            for bone in (above, below)
        )
        own = quaternions.rotate(poses[:, joints].astype(np.float64), below)
        axes = np.cross(above, own).mean(axis=0)
        axes += across - np.vecdot(across, above)[:, None] * above
        shown = np.linalg.norm(axes, axis=-1)
        kept = shown > np.where(rigid, _LEAST_SHOWN, _SHOWN)
        axes, rigid = axes[kept] / shown[kept, None], rigid[kept]
        joints, ranges = joints[kept], np.zeros((kept.sum(), 2))
        found = cls(joints, skeleton.parents[joints], above[kept], below[kept], axes, ranges)
        band = min(max(_BAND, _FEW / len(poses)), 50.0)
        least, largest = np.percentile(found.bends(poses), (band, 100.0 - band), axis=0)
        margin = np.where(rigid, *_MARGIN)
        found.ranges[:] = np.stack([least - margin, largest + margin], axis=1)
        for column, bounds in enumerate((_LEAST, _LARGEST)):
            found.ranges[rigid, column] = np.clip(found.ranges[rigid, column], *bounds)
        return found

    @cached_property
    def _forms(self) -> Array:
        """(2, hinges, 4, 4): forms of quaternions that are the sine and the cosine of a bend."""
        across = self.above - np.vecdot(self.above, self.axes)[:, None] * self.axes
        ends = np.stack([np.cross(self.axes, across), across])
        real, pairs = np.vecdot(ends, self.below), ends[..., None] * self.below[:, None]
        forms = np.empty((*real.shape, 4, 4))
        forms[..., :3, :3] = pairs + pairs.swapaxes(-1, -2) - real[..., None, None] * np.eye(3)
        forms[..., :3, 3] = forms[..., 3, :3] = np.cross(self.below, ends)
        forms[..., 3, 3] = real
        return forms

    def bends(self, rotations: Array) -> Array:
        """(frames, hinges) radians about the axes, of local rotations (frames, joints, 4)."""
        turns = rotations.take(self.joints, axis=1).astype(np.float64)
        sine, cosine = np.einsum("nhi,shij,nhj->snh", turns, self._forms, turns)
        return np.asarray(np.arctan2(sine, cosine))

    def unroll(self, rotations: Array) -> None:
        """Roll back, in place, parts of limbs that captures have rolled half round.

        Their joints bend far to the wrong side. No joint moves. `rotations` (frames, joints, 4).
        """
        bends = self.bends(rotations)
        rolled = np.maximum(self.ranges[:, 0] - bends, bends - self.ranges[:, 1]) > _ROLLED
        if rolled.any():
            own = quaternions.rotate(rotations[:, self.joints].astype(np.float64), self.below)
            aside = np.vecdot(own, np.cross(self.axes, self.above))
            angles = np.where(rolled, np.arctan2(np.vecdot(own, self.axes), aside), 0.0)
            rolls = quaternions.about_axis(self.above, angles)
            rotations[:, self.parents] = quaternions.multiply(rotations[:, self.parents], rolls)
            back = quaternions.conjugate(rolls)
            rotations[:, self.joints] = quaternions.multiply(back, rotations[:, self.joints])

    def constrain(self, rotations: Array, before: Array | None = None) -> Array:
        """Turn the joints of local rotations (frames, joints, 4) into their ranges, in place.

        Those that bend as `before` (frames, hinges), radians, stay as they are. Returns (frames,)
        bool: any was turned.
        """
        bends, (least, largest) = self.bends(rotations), self.ranges.T
        beyond = (bends < least - _SLACK) | (bends > largest + _SLACK)
        if before is not None:
            beyond &= np.abs(bends - before) > _SLACK
        if beyond.any():
            # From one end of the range round to the other, without a jump.
            gone = np.mod(least - bends, 2.0 * np.pi) / (2.0 * np.pi - (largest - least))
            goals = least + smoothstep(gone) * (largest - least)
            turns = quaternions.about_axis(self.axes, np.where(beyond, goals - bends, 0.0))
            rotations[:, self.joints] = quaternions.multiply(turns, rotations[:, self.joints])
        return np.asarray(beyond.any(axis=1))


_NONE, _NO_WAYS = np.zeros(0, np.int64), np.zeros((0, 3))
NO_HINGES = Hinges(_NONE, _NONE, _NO_WAYS, _NO_WAYS, _NO_WAYS, np.zeros((0, 2)))
"""Of solvers of forward kinematics alone."""
