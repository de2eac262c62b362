"""Least-squares solver of poses for point tracks: damped Gauss-Newton steps over all frames."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms
from deepphase.motion.skeleton import Skeleton, subtree_mask
from deepphase.solving.planning import JointPlan

# Weights in metres of point residual per radian: rotation off a hinge's axis, and bend of a knee or
# elbow to the wrong side; and the sine up to which the latter is free.
_HINGE_M, _LIMIT_M, _LIMIT_SINE = 0.06, 0.3, -0.03
# Metres per radian of rotation from rest, for neck and head joints with too few points.
_NECK_M, _HEAD_M = 0.1, 0.04
# The same for other joints of trunk and hands: points do not determine how a twist spreads over a
# spine.
_TRUNK_M = 0.02
# Metres per radian of rotation from poses that are given.
_PRIOR_M = 0.1
# Metres per radian of damping: rotations that no point determines do not change.
_DAMPING_M = 0.01
# Largest rotation of a joint in one step, radians.
_MAX_STEP = 0.6
# Frames per block: the matrices of a block stay in the cache.
_FRAMES_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class BodyModel:
    """A skeleton of constant lengths and the points attached to it."""

    plan: JointPlan
    skeleton: Skeleton
    # (points, 3) metres: position of each point in the frame of its carrier joint.
    point_offsets: Array
    size: float  # Metres: length of a leg, and of all limbs as measured
    measured: float


class PoseSolver:
    """Solver of a body's poses, clips of its skeleton, whose points match those of a track."""

    def __init__(self, body: BodyModel) -> None:
        self.body = body
        plan, skeleton = body.plan, body.skeleton
        self._carriers = np.array(plan.carriers)
        # (points, joints): whether a joint carries a point, and whether its rotation moves it.
        own = self._carriers[:, None] == np.arange(len(skeleton))
        below = np.stack([subtree_mask(skeleton, joint) for joint in range(len(skeleton))], axis=1)
        at_joint = np.linalg.norm(body.point_offsets, axis=1) == 0
        moves = below[self._carriers] & ~(own & at_joint[:, None])
        # Points below a joint, or several points apart from it, determine its rotation.
        turning = (moves & ~own).any(axis=0) | ((moves & own).sum(axis=0) > 1)
        turning[0] = True
        self._turning = np.flatnonzero(turning)
        self._moves = moves[:, turning].astype(float)
        self._hinges = []
        for _, joint, child in plan.limbs:
            direction = skeleton.offsets[child]
            length = np.linalg.norm(direction)
            if turning[joint] and length > 0:
                place = 3 * int(np.searchsorted(self._turning, joint))
                self._hinges.append((place, joint, hinge_axis(direction), direction / length))
        rest = np.full(len(skeleton), _TRUNK_M)
        rest[[0, *(joint for leg in plan.legs for joint in leg if joint >= 0)]] = 0.0
        rest[[joint for arm in plan.arms for joint in arm[:2]]] = 0.0
        rest[list(plan.loose)] = _NECK_M
        if plan.head in plan.loose:
            rest[plan.head] = _HEAD_M
        self._rest_m = rest[turning]

    def points(self, poses: Clip, transforms: tuple[Array, Array] | None = None) -> Array:
        """(frames, points, 3) metres: positions of the body's points."""
        turns, places = global_transforms(poses) if transforms is None else transforms
        offsets = quaternions.rotate(turns[:, self._carriers], self.body.point_offsets)
        return places[:, self._carriers] + offsets

    def solve(
        self,
        poses: Clip,
        targets: Array,
        steps: int,
        *,
        prior: Clip | None = None,
        weights: Array | None = None,
    ) -> Clip:
        """The poses after a number of Gauss-Newton steps towards (frames, points, 3) targets.

        Poses stay near those of a `prior`; `weights` are (points,) or (frames, points).
        """
        weights = np.ones(1) if weights is None else weights
        weights = np.broadcast_to(weights, targets.shape[:2])
        rotations, roots = poses.rotations.copy(), poses.translations.copy()
        for start in range(0, len(poses), _FRAMES_AT_ONCE):
            here = slice(start, start + _FRAMES_AT_ONCE)
            part = poses.sliced(here.start, here.stop)
            near = None if prior is None else prior.rotations[here][:, self._turning]
            for _ in range(steps):
                part = self._stepped(part, targets[here], near, weights[here])
            rotations[here], roots[here] = part.rotations, part.translations
        return replace(poses, rotations=rotations, translations=roots)

    def _stepped(self, poses: Clip, targets: Array, prior: Array | None, weights: Array) -> Clip:
        turns, places = global_transforms(poses)
        local, parents = poses.rotations[:, self._turning], poses.skeleton.parents
        # (frames, turning joints, 4) world rotations of their parents.
        above = turns[:, parents[self._turning]]
        above[:, 0] = quaternions.IDENTITY
        predicted = self.points(poses, (turns, places))
        arms = (predicted[:, :, None] - places[:, None, self._turning]) * self._moves[..., None]
        jacobian = np.zeros((*predicted.shape, len(self._turning) + 1, 3))
        # Column k of a joint's block: unit axis k x arm.
        for k, second, third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            jacobian[:, :, second, :-1, k] = -arms[..., third]
            jacobian[:, :, third, :-1, k] = arms[..., second]
        jacobian[..., -1, :] = np.eye(3)
        jacobian *= weights[..., None, None, None]
        flat = jacobian.reshape(len(poses), 3 * len(self._carriers), -1)
        transposed = flat.swapaxes(1, 2)
        matrix = transposed @ flat
        weighted = ((predicted - targets) * weights[..., None]).reshape(len(poses), -1, 1)
        slope = (transposed @ weighted)[..., 0]
        self._add_hinges(matrix, slope, turns, parents)
        squares = np.full(slope.shape[1], _DAMPING_M**2)
        pulls = [(quaternions.IDENTITY, self._rest_m)]
        if prior is not None:
            pulls.append((prior, np.full(len(self._turning), _PRIOR_M)))
        for goal, metres in pulls:
            off = quaternions.rotate(above, quaternions.vectors_between(goal, local))
            slope[:, :-3] += (metres[:, None] ** 2 * off).reshape(len(poses), -1)
            squares[:-3] += np.repeat(metres**2, 3)
        diagonal = np.arange(len(squares))
        matrix[:, diagonal, diagonal] += squares
        change = -np.linalg.solve(matrix, slope[..., None])[..., 0]
        turn = change[:, :-3].reshape(*local.shape[:2], 3)
        size = np.linalg.norm(turn, axis=-1, keepdims=True)
        turn *= np.minimum(1.0, _MAX_STEP / np.maximum(size, 1e-12))
        step = quaternions.from_rotation_vectors(
            quaternions.rotate(quaternions.conjugate(above), turn)
        )
        rotations = poses.rotations.copy()
        rotations[:, self._turning] = quaternions.normalized(quaternions.multiply(step, local))
        roots = poses.translations + change[:, None, -3:]
        return replace(poses, rotations=rotations, translations=roots)

    def _add_hinges(self, matrix: Array, slope: Array, turns: Array, parents: Array) -> None:
        for first, joint, axis, direction in self._hinges:
            place = slice(first, first + 3)
            parent, own = turns[:, parents[joint]], turns[:, joint]
            still, turned = quaternions.rotate(parent, axis), quaternions.rotate(own, axis)
            rows = np.cross(np.eye(3), turned[:, None]) * _HINGE_M
            matrix[:, place, place] += rows @ rows.swapaxes(1, 2)
            slope[:, place] += (rows @ (turned - still)[..., None])[..., 0] * _HINGE_M
            now = quaternions.rotate(own, direction)
            across = np.cross(still, quaternions.rotate(parent, direction))
            over = np.minimum(np.vecdot(across, now) - _LIMIT_SINE, 0.0)[:, None]
            gradient = np.cross(now, across) * (over < 0) * _LIMIT_M
            matrix[:, place, place] += gradient[:, :, None] * gradient[:, None]
            slope[:, place] += gradient * over * _LIMIT_M


def hinge_axis(direction: Array) -> Array:
    """(3,) hinge axis at rest: knees point down and bend back, elbows sideways and forwards."""
    if direction[1] < -0.5 * np.linalg.norm(direction):
        return np.array([1.0, 0.0, 0.0])
    return np.array([0.0, -np.sign(direction[0]), 0.0])
