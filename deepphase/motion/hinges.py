"""Hinges of a body: knees, elbows and hocks bend about one axis, as far as captured poses do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepphase.arrays import Array, smoothstep
from deepphase.motion import quaternions
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton

# Percentiles of poses between which a joint bends, more of few poses; the margins around them of
# knees and elbows, and of hocks, radians; and the mean sine of bends that shows an axis.
_BAND, _FEW, _MARGIN, _SHOWN = 1.0, 300.0, (0.2, 0.4), 0.02
# Poses from which on they show how far hocks bend, which have no bounds of their own.
_HOCK_POSES = 30
# Bounds of the least and the largest bend of knees and elbows, radians.
_LEAST, _LARGEST = (-0.1, 0.0), (2.6, 3.0)
# Joints before, in and after a hinge; the last are the hocks of quadrupeds.
_PARTS = (("hip", "knee", "foot"), ("shoulder", "elbow", "hand"), ("knee", "foot", "toe"))


@dataclass(frozen=True, eq=False)
class Hinges:
    """Joints that bend about one axis, with the range in which captured poses bend them."""

    joints: Array  # (hinges,)
    above: Array  # (hinges, 3) direction in which the limb reaches the joint, in its parent's frame
    below: Array  # (hinges, 3) direction in which it goes on, in the joint's frame
    axes: Array  # (hinges, 3) unit axes in the frame of the joint's parent
    ranges: Array  # (hinges, 2) radians about them: the least and the largest bend

    @classmethod
    def from_poses(cls, skeleton: Skeleton, roles: Roles, poses: Array) -> Hinges:
        """Hinges of knees and elbows, and of a quadruped's hocks, from captured local rotations.

        Joints that `poses` (poses, joints, 4) do not bend, and limbs with more joints, have none;
        few poses do not show hocks.
        """
        rows = []
        has_hocks = roles.kind == "quadruped" and len(poses) >= _HOCK_POSES
        for side in ("left", "right"):
            for parts in _PARTS[: 3 if has_hocks else 2]:
                upper, joint, last = (getattr(roles, f"{side}_{part}") for part in parts)
                end = getattr(roles, f"{side}_foot_end") if last is None else None
                if upper is None or joint is None or skeleton.parents[joint] != upper:
                    continue
                if last is not None and skeleton.parents[last] == joint:
                    below = skeleton.offsets[last]
                elif end is not None and skeleton.end_parents[end] == joint:
                    below = skeleton.end_offsets[end]
                else:
                    continue
                rows.append((joint, skeleton.offsets[joint], below, parts[1] == "foot"))
        joints = np.array([row[0] for row in rows], np.int64)
        above, below = (
            directions / np.maximum(np.linalg.norm(directions, axis=-1, keepdims=True), 1e-12)
            for k in (1, 2)
            for directions in [np.array([row[k] for row in rows], float).reshape(-1, 3)]
        )
        own = quaternions.rotate(poses[:, joints].astype(np.float64), below)
        axes = np.cross(above, own).mean(axis=0)
        shown = np.linalg.norm(axes, axis=-1)
        kept = shown > _SHOWN
        axes = axes[kept] / shown[kept, None]
        found = cls(joints[kept], above[kept], below[kept], axes, np.zeros((kept.sum(), 2)))
        band = min(max(_BAND, _FEW / len(poses)), 50.0)
        least, largest = np.percentile(found.bends(poses), (band, 100.0 - band), axis=0)
        rigid = ~np.array([row[3] for row in rows], bool)[kept]
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

    def constrain(self, rotations: Array) -> None:
        """Turn the joints of local rotations (frames, joints, 4) into their ranges, in place."""
        bends, (least, largest) = self.bends(rotations), self.ranges.T
        beyond = (bends < least) | (bends > largest)
        if beyond.any():
            # From one end of the range round to the other, without a jump.
            gone = np.mod(least - bends, 2.0 * np.pi) / (2.0 * np.pi - (largest - least))
            goals = least + smoothstep(gone) * (largest - least)
            turns = quaternions.about_axis(self.axes, np.where(beyond, goals - bends, 0.0))
            rotations[:, self.joints] = quaternions.multiply(turns, rotations[:, self.joints])
