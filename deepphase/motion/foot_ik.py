"""Two-joint inverse kinematics of limbs: feet reach targets at constant limb lengths."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.limb_kernel import limb_transforms, turn_limbs
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton, ancestors, joint_depths

_NO_TILTS = np.zeros((0, 4))


@dataclass(frozen=True, eq=False)
class LegChains:
    """Limbs of a skeleton that end in feet."""

    upper: Array  # (limbs,) joints: hip, knee and ankle, or shoulder, elbow and front paw
    middle: Array
    last: Array
    tips: Array  # (limbs,) joints that touch the floor: toes, or `last` where a limb has none
    # (limbs,) direction in which a straight limb bends: 1 forward (knees), -1 backward (elbows).
    bends: Array

    @classmethod
    def from_skeleton(cls, skeleton: Skeleton, roles: Roles) -> LegChains:
        """Legs, left first, then the front legs of a quadruped; without limbs that lack roles."""
        parts: list[tuple[tuple[str, ...], float]] = [(("hip", "knee", "foot", "toe"), 1.0)]
        if roles.kind == "quadruped":
            parts.append((("shoulder", "elbow", "hand", "hand"), -1.0))
        rows, bends = [], []
        for names, bend in parts:
            for side in ("left", "right"):
                upper, middle, last, tip = (getattr(roles, f"{side}_{name}") for name in names)
                # The upper joint of a limb has a parent: it is not the root.
                if upper != 0 and all(
                    below is not None and above in ancestors(skeleton, below)
                    for above, below in ((upper, middle), (middle, last))
                ):
                    rows.append([upper, middle, last, last if tip is None else tip])
                    bends.append(bend)
        uppers, middles, lasts, tips = np.array(rows, np.int64).reshape(-1, 4).T
        return cls(uppers, middles, lasts, tips, np.array(bends))

    def __len__(self) -> int:
        return len(self.upper)

    def ends(self, skeleton: Skeleton, roles: Roles) -> Array:
        """(limbs, 3) metres from each tip, in its frame, to the end that touches the floor.

        Hocks and wrists of quadrupeds are over the floor and turn about the ends of their feet.
        """
        found = np.zeros((len(self), 3))
        for joint, end in _feet_and_ends(roles, ("foot", "hand")):
            found[self.tips == joint] = skeleton.end_offsets[end]
        return found

    def on_floor(self, skeleton: Skeleton, roles: Roles) -> LegChains:
        """The limbs with the joints that stand on the floor as tips.

        Front paws of some quadrupeds have a joint of their own below the wrist, from which
        their ends go on.
        """
        tips = self.tips.copy()
        for hand, end in _feet_and_ends(roles, ("hand",)):
            tips[(self.tips == hand) & (self.last == hand)] = skeleton.end_parents[end]
        return replace(self, tips=tips)

    def ending_in(self, feet: Collection[int]) -> LegChains:
        """The limbs whose last joint is one of these."""
        chosen = np.isin(self.last, list(feet))
        return LegChains(*(getattr(self, item.name)[chosen] for item in fields(self)))


def _feet_and_ends(roles: Roles, parts: tuple[str, ...]) -> list[tuple[int, int]]:
    """Joints and end sites of a quadruped's feet that have both."""
    names = [f"{side}_{part}" for side in ("left", "right") for part in parts]
    both = [(getattr(roles, name), getattr(roles, f"{name}_end")) for name in names]
    return [pair for pair in both if None not in pair] if roles.kind == "quadruped" else []


@dataclass(frozen=True, eq=False)
class LimbTransforms:
    """World transforms of limbs."""

    # (3, limbs, frames, 3, 3) rotation matrices of the parents of upper, middle and last joints.
    above: Array
    positions: Array  # (4, limbs, frames, 3) metres: upper, middle and last joints, and tips

    @property
    def lengths(self) -> Array:
        """(limbs, frames) metres: from the upper to the last joint along the limb."""
        upper, middle, last = self.positions[:3]
        thigh, shin = middle - upper, last - middle
        return np.sqrt(np.vecdot(thigh, thigh)) + np.sqrt(np.vecdot(shin, shin))


class LimbSolver:
    """Forward and inverse kinematics of a skeleton's limbs, for many frames or characters at once.

    `ends` (limbs, 3), as of `LegChains.ends`, are the points that count as tips, in metres from the
    tips' joints, which are then last joints.
    """

    def __init__(self, skeleton: Skeleton, limbs: LegChains, ends: Array | None = None) -> None:
        self.limbs = limbs
        self._ends = None if ends is None or not ends.any() else ends
        chain = np.stack([limbs.upper, limbs.middle, limbs.last, limbs.tips])
        needed = {above for joint in chain.flat for above in ancestors(skeleton, int(joint))}
        # Parents come before children, in order of depth.
        joints = np.array(sorted(needed), np.int64)
        self._joints = joints[np.argsort(joint_depths(skeleton)[joints], kind="stable")]
        # The last place is that of the parent of the root.
        place = np.full(len(skeleton) + 1, -1)
        place[self._joints] = np.arange(len(joints))
        self._parents = place[skeleton.parents[self._joints]]
        self._solved, self._chain = chain[:3], place[chain]
        self._bends = np.ascontiguousarray(limbs.bends, np.float64)
        self._above = self._parents[self._chain[:3]]

    def transforms(self, rotations: Array, local_positions: Array) -> LimbTransforms:
        """Forward kinematics of local rotations (frames, joints, 4) and positions."""
        frames, limbs = len(rotations), len(self.limbs)
        matrices = np.empty((3, limbs * frames, 3, 3))
        positions = np.empty((4, limbs * frames, 3))
        limb_transforms(
            rotations.take(self._joints, axis=1).astype(np.float64),
            local_positions.take(self._joints, axis=1).astype(np.float64),
            self._parents,
            self._chain,
            self._above,
            matrices,
            positions,
        )
        found = LimbTransforms(
            matrices.reshape(3, limbs, frames, 3, 3), positions.reshape(4, limbs, frames, 3)
        )
        if self._ends is not None:
            own = rotations[:, self.limbs.last].swapaxes(0, 1)
            ends = quaternions.rotate(own.astype(np.float64), self._ends[:, None])
            found.positions[3] += np.einsum("lfij,lfj->lfi", found.above[2], ends)
        return found

    @property
    def joints(self) -> Array:
        """(joints,) of the skeleton that `reach` turns."""
        return self._solved.reshape(-1)

    def reach(
        self,
        rotations: Array,
        transforms: LimbTransforms,
        targets: Array,
        left: Array,
        tilts: Array | None = None,
    ) -> None:
        """Change local rotations (frames, joints, 4) so that last joints are at (limbs, frames, 3).

        Knees bend about unit vectors to the body's left (frames, 3). The last joints keep their
        orientation in the world, or are turned there by `tilts` (limbs, frames, 4).
        """
        local = rotations.take(self.joints, axis=1).astype(np.float64)
        turn_limbs(
            np.ascontiguousarray(transforms.positions).reshape(4, -1, 3),
            np.ascontiguousarray(transforms.above).reshape(3, -1, 3, 3),
            np.array(targets, np.float64, order="C").reshape(-1, 3),
            np.array(np.broadcast_to(left, (len(rotations), 3)), np.float64, order="C"),
            self._bends,
            _NO_TILTS if tilts is None else np.array(tilts, np.float64, order="C").reshape(-1, 4),
            local,
        )
        rotations[:, self.joints] = local
