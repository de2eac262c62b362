"""Two-joint inverse kinematics of limbs: feet reach targets at constant limb lengths."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.kinematics import joint_depths
from deepphase.motion.limb_kernel import limb_transforms
from deepphase.motion.limbs import ancestors
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton

# Sine of the angle at the middle joint up to which the hinge axis of the body is blended into the
# limb's own plane, and its share for a straight limb: a stretched knee passes through straight
# and ten degrees beyond, where the limb's own plane would flip.
_NEARLY_STRAIGHT, _STRAIGHT_SHARE = 0.5, 0.4
# A nearly straight limb bends as if it were bent by this angle, radians: for a straight knee a
# tiny change of length is a large change of angle. This damping fades out at twice the angle, and
# for target bends of up to four times. The remaining error at the target is millimetres.
_FIRM_BEND = 0.15
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class LegChains:
    """Limbs of a skeleton that end in feet.

    Parameters
    ----------
    upper, middle, last
        (limbs,) joints: hip, knee and ankle, or shoulder, elbow and front paw.
    tips
        (limbs,) joints that touch the floor: toes, or `last` where a limb has none.
    bends
        (limbs,) direction in which a straight limb bends: 1 forward (knees), -1 backward (elbows).
    """

    upper: Array
    middle: Array
    last: Array
    tips: Array
    bends: Array

    @classmethod
    def of_skeleton(cls, skeleton: Skeleton, roles: Roles) -> LegChains:
        """Legs, left first, then the front legs of a quadruped; without limbs that lack roles."""
        parts: list[tuple[tuple[str, ...], float]] = [(("hip", "knee", "foot", "toe"), 1.0)]
        if roles.kind == "quadruped":
            parts.append((("shoulder", "elbow", "hand"), -1.0))
        rows, bends = [], []
        for names, bend in parts:
            for side in ("left", "right"):
                joints = [getattr(roles, f"{side}_{name}") for name in names]
                # The upper joint of a limb has a parent: it is not the root.
                in_line = joints[0] != 0 and all(
                    below is not None and above in ancestors(skeleton, below)
                    for above, below in pairwise(joints[:3])
                )
                if in_line:
                    tip = joints[3] if len(joints) == 4 and joints[3] is not None else joints[2]
                    rows.append([*joints[:3], tip])
                    bends.append(bend)
        table = np.array(rows, np.int64).reshape(-1, 4)
        upper, middle, last, tips = table.T
        return cls(upper, middle, last, tips, np.array(bends))

    def __len__(self) -> int:
        return len(self.upper)

    def of_feet(self, feet: Collection[int]) -> LegChains:
        """The limbs whose last joint is one of these."""
        chosen = np.array([int(last) in feet for last in self.last], bool)
        return LegChains(
            *(getattr(self, name)[chosen] for name in ("upper", "middle", "last", "tips", "bends"))
        )


def two_joint_turns(
    upper: Array, middle: Array, last: Array, target: Array, hinge: Array
) -> tuple[Array, Array]:
    """Rotations of the upper and the middle joint that bring the last joint to its target.

    The middle joint bends until the limb is as long as the distance to the target; then the whole
    limb swings there by the smallest rotation. A limb that is at its target does not change.

    Parameters
    ----------
    upper, middle, last, target : (..., 3)
        Metres, in the world.
    hinge : (..., 3)
        Unit axis about which a straight limb bends, from its upper part to its lower one. A limb
        bent by more than 30 degrees stays in its plane.

    Returns
    -------
    turn_upper, turn_middle : (..., 4)
        Rotations in the world: `turn_upper` rotates the upper part of the limb, and `turn_upper`
        times `turn_middle` the part below the middle joint. Lengths do not change; a limb points
        at a target out of reach, straight except for the damping of :data:`_FIRM_BEND`.
    """
    thigh, shin, way = middle - upper, last - middle, target - upper
    lines = np.empty((*way.shape[:-1], 4, 3))
    for place, line in enumerate((thigh, shin, way, hinge)):
        lines[..., place, :] = line
    products = lines @ lines.swapaxes(-1, -2)
    first2, second2, target2 = products[..., 0, 0], products[..., 1, 1], products[..., 2, 2]
    both = np.maximum(np.sqrt(first2 * second2), _TINY)
    normal, sine_along = _hinge(thigh, shin, hinge, products, both)
    # This part of the cosine does not change if the axis is not perpendicular to the limb.
    along = _dot(normal[..., None, :], lines[..., :2, :])
    askew = along[..., 0] * along[..., 1] / both
    cosine = products[..., 0, 1] / both - askew
    bend = np.arctan2(sine_along, cosine)
    wanted = 0.5 * (target2 - first2 - second2) / both - askew
    size = np.maximum(np.hypot(sine_along, cosine), _TINY)
    goal = np.arccos(np.minimum(np.maximum(wanted / size, -1.0), 1.0))
    change = _bend_change(bend, goal)
    sine, one_less = np.sin(change), 1.0 - np.cos(change)
    turned = shin + sine[..., None] * _cross(normal, shin)
    turned += one_less[..., None] * (along[..., 1:] * normal - shin)
    turn_middle = np.empty((*change.shape, 4))
    turn_middle[..., :3] = np.sin(0.5 * change)[..., None] * normal
    turn_middle[..., 3] = np.cos(0.5 * change)
    return _shortest_turn(thigh + turned, way, normal), turn_middle


def _hinge(
    thigh: Array, shin: Array, hinge: Array, products: Array, both: Array
) -> tuple[Array, Array]:
    """Unit axis (..., 3) about which the limb bends, and the sine of its bend about it.

    `products` are those of thigh, shin, way and hinge, `both` the product of the lengths.
    """
    own = _cross(thigh, shin) / both[..., None]
    sine = np.sqrt(_dot(own, own))
    share = _STRAIGHT_SHARE * np.maximum(1.0 - sine / _NEARLY_STRAIGHT, 0.0) ** 2
    whole2 = products[..., 0, 0] + 2.0 * products[..., 0, 1] + products[..., 1, 1]
    lean = (products[..., 0, 3] + products[..., 1, 3]) / np.maximum(whole2, _TINY)
    axis = own + share[..., None] * (hinge - lean[..., None] * (thigh + shin))
    axis /= np.maximum(np.sqrt(_dot(axis, axis)), _TINY)[..., None]
    return axis, _dot(axis, own)


def _bend_change(bend: Array, goal: Array) -> Array:
    """Radians from a bend to `goal`, damped for small bends."""
    least = _FIRM_BEND + np.maximum(bend, 0.0) ** 2 / (4.0 * _FIRM_BEND)
    firm = np.where(bend < 2.0 * _FIRM_BEND, least, bend)
    damped = np.sqrt(np.maximum(firm * firm + goal * goal - bend * bend, 0.0)) - firm
    exact = np.minimum(np.maximum(goal / (2.0 * _FIRM_BEND) - 1.0, 0.0), 1.0)
    return damped + exact * (goal - bend - damped)


def _shortest_turn(start: Array, goal: Array, across: Array) -> Array:
    """(..., 4) the smallest rotation from the direction of one vector to that of another.

    If they are opposite, the axis is `across` (..., 3), a unit vector.
    """
    lengths = np.sqrt(_dot(start, start) * _dot(goal, goal))
    real = lengths + _dot(start, goal)
    turn = np.empty((*real.shape, 4))
    turn[..., :3] = _cross(start, goal)
    turn[..., 3] = real
    opposite = real <= 1e-9 * lengths
    if opposite.any():
        turn[opposite, :3], turn[opposite, 3] = np.broadcast_to(across, start.shape)[opposite], 0.0
    return turn / np.sqrt(_dot(turn, turn))[..., None]


def _dot(first: Array, second: Array) -> Array:
    return np.vecdot(first, second)


def _cross(first: Array, second: Array) -> Array:
    # np.cross takes several times as long for checks of its arguments.
    return first.take(_YZX, -1) * second.take(_ZXY, -1) - first.take(_ZXY, -1) * second.take(
        _YZX, -1
    )


_YZX, _ZXY = np.array([1, 2, 0]), np.array([2, 0, 1])


@dataclass(frozen=True, eq=False)
class LimbTransforms:
    """World transforms of limbs.

    Parameters
    ----------
    above
        (3, limbs, frames, 3, 3) rotation matrices of the parents of upper, middle and last joints.
    positions
        (4, limbs, frames, 3) metres: upper, middle and last joints, and tips.
    """

    above: Array
    positions: Array

    @property
    def lengths(self) -> Array:
        """(limbs, frames) metres: from the upper to the last joint along the limb."""
        upper, middle, last = self.positions[:3]
        return np.sqrt(_dot(middle - upper, middle - upper)) + np.sqrt(
            _dot(last - middle, last - middle)
        )


class LimbSolver:
    """Forward and inverse kinematics of a skeleton's limbs, for many frames or characters at once.

    Parameters
    ----------
    skeleton
        The skeleton of the rotations.
    limbs
        Its limbs.
    """

    def __init__(self, skeleton: Skeleton, limbs: LegChains) -> None:
        self.limbs = limbs
        above = {int(tip): ancestors(skeleton, int(tip)) for tip in (*limbs.tips, *limbs.last)}
        # Parents come before children, in order of depth.
        needed = {joint for path in above.values() for joint in path}
        joints = sorted(needed, key=joint_depths(skeleton).__getitem__)
        self._joints = np.array(joints, np.int64)
        place = {joint: index for index, joint in enumerate(joints)}
        self._parents = np.array(
            [place.get(int(skeleton.parents[joint]), -1) for joint in joints], np.int64
        )
        self._solved = np.stack([limbs.upper, limbs.middle, limbs.last])
        self._bends = limbs.bends[:, None, None]
        at = np.vectorize(lambda joint: place[int(joint)], otypes=[np.int64])
        chain = np.stack([limbs.upper, limbs.middle, limbs.last, limbs.tips])
        self._chain = at(chain) if len(limbs) else chain
        self._above = self._parents[self._chain[:3]] if len(limbs) else chain[:3]

    def transforms(self, rotations: Array, local_positions: Array) -> LimbTransforms:
        """Forward kinematics of the limbs.

        Parameters
        ----------
        rotations : (frames, joints, 4)
            Local rotations of all joints; the root's is relative to the world.
        local_positions : (frames, joints, 3)
            Metres: offsets, replaced at translated joints.
        """
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
        return LimbTransforms(
            matrices.reshape(3, limbs, frames, 3, 3), positions.reshape(4, limbs, frames, 3)
        )

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
        """Change the local rotations so that the limbs' last joints are at their targets.

        The last joints keep their orientation in the world, or are turned by tilts.

        Parameters
        ----------
        rotations : (frames, joints, 4)
            Local rotations as given to `transforms`; changed in place.
        targets : (limbs, frames, 3)
            Metres: targets of the `last` joints.
        left : (frames, 3)
            Unit vector to the body's left, about which knees bend.
        tilts : (limbs, frames, 4), optional
            Rotations of the last joints in the world.
        """
        upper, middle, last = transforms.positions[:3]
        hinge = self._bends * left
        turns = np.empty((3, *targets.shape[:2], 4))
        turns[0], turns[1] = two_joint_turns(upper, middle, last, targets, hinge)
        turns[2] = quaternions.conjugate(quaternions.multiply(turns[0], turns[1]))
        if tilts is not None:
            turns[2] = quaternions.multiply(turns[2], tilts)
        # Local rotations are in the frame of the joint's parent.
        turns[..., :3] = (turns[..., None, :3] @ transforms.above)[..., 0, :]
        local = rotations.take(self._solved, axis=1).transpose(1, 2, 0, 3)
        rotations[:, self._solved] = quaternions.multiply(turns, local).transpose(2, 0, 1, 3)
