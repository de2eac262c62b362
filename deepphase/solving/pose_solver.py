"""Least-squares solver of poses for point tracks: damped Gauss-Newton steps over all frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.resample import low_passed, low_passed_rotations
from deepphase.motion.skeleton import Skeleton
from deepphase.solving.body import BodyModel


def low_passed_state(state: SolverState, cutoff_hz: float, fps: float) -> SolverState:
    """Low-pass the rotations and the root of poses."""
    rotations = low_passed_rotations(quaternions_of(state), cutoff_hz, fps)
    matrices = Rotation.from_quat(rotations.reshape(-1, 4)).as_matrix()
    return SolverState(matrices.reshape(state.local.shape), low_passed(state.root, cutoff_hz, fps))


def quaternions_of(state: SolverState) -> Array:
    """(frames, joints, 4) local rotations, continuous in sign."""
    flat = Rotation.from_matrix(state.local.reshape(-1, 3, 3)).as_quat()
    return quaternions.sign_continuous(flat.reshape(*state.local.shape[:2], 4))


# Weights in metres of point residual per radian: rotation off a hinge's axis, and bend of a knee or
# elbow to the wrong side; and the sine up to which the latter is free.
_HINGE_M, _LIMIT_M, _LIMIT_SINE = 0.06, 0.3, -0.03
# Metres per radian of rotation from rest, for neck and head joints with too few points.
_NECK_M, _HEAD_M = 0.1, 0.04
# The same for other joints of trunk and hands: points do not determine how a twist spreads over a
# spine.
_TRUNK_M = 0.02
# Metres per radian of damping: rotations that no point determines do not change.
_DAMPING_M = 0.01
# Largest rotation of a joint in one step, radians.
_MAX_STEP = 0.6
# Frames per block: the matrices of a block stay in the cache.
_FRAMES_AT_ONCE = 256


@dataclass(eq=False)
class SolverState:
    """Poses of a body.

    Parameters
    ----------
    local
        (frames, joints, 3, 3) local rotation matrices.
    root
        (frames, 3) metres: the hips.
    """

    local: Array
    root: Array

    def __len__(self) -> int:
        return len(self.root)

    def copy(self) -> SolverState:
        return SolverState(self.local.copy(), self.root.copy())


class PoseSolver:
    """Solver of a body's poses whose points match those of a track."""

    def __init__(self, body: BodyModel) -> None:
        self.body = body
        skeleton = body.skeleton
        self._parents = skeleton.parents.tolist()
        self._offsets = skeleton.offsets
        self._carriers = np.array(body.plan.carriers)
        self._point_offsets = body.point_offsets
        turning = rotating_joints(skeleton, self._carriers, body.point_offsets)
        self.turning = np.flatnonzero(turning)
        # (points, turning joints): whether a joint's rotation moves a point.
        above = np.zeros((len(skeleton), len(skeleton)), bool)
        for joint, parent in enumerate(self._parents):
            if parent >= 0:
                above[joint] = above[parent]
            above[joint, joint] = True
        moves = above[self._carriers][:, self.turning]
        own = self._carriers[:, None] == self.turning[None]
        at_joint = np.linalg.norm(body.point_offsets, axis=1) == 0
        self._moves = (moves & ~(own & at_joint[:, None])).astype(float)
        hinges = []
        place = {int(joint): index for index, joint in enumerate(self.turning)}
        for joint, child in body.plan.hinges:
            direction = self._offsets[child]
            if joint in place and np.linalg.norm(direction) > 0:
                direction = direction / np.linalg.norm(direction)
                hinges.append((place[joint], joint, hinge_axis(direction), direction))
        self._hinges = hinges
        head = body.plan.head
        limbs = {0, *(joint for leg in body.plan.legs for joint in leg)}
        limbs |= {joint for arm in body.plan.arms for joint in arm[:2]}
        rest = [
            (_HEAD_M if joint == head else _NECK_M)
            if joint in body.plan.loose
            else 0.0
            if joint in limbs
            else _TRUNK_M
            for joint in self.turning.tolist()
        ]
        self._loose = np.flatnonzero(rest)
        self._rest_m = np.array(rest)[self._loose]

    def forward(self, state: SolverState) -> tuple[Array, Array]:
        """World rotations (frames, joints, 3, 3) and positions (frames, joints, 3)."""
        turns = np.empty_like(state.local)
        places = np.empty((*state.local.shape[:2], 3))
        turns[:, 0], places[:, 0] = state.local[:, 0], state.root
        for joint, parent in enumerate(self._parents[1:], start=1):
            turns[:, joint] = turns[:, parent] @ state.local[:, joint]
            places[:, joint] = places[:, parent] + turns[:, parent] @ self._offsets[joint]
        return turns, places

    def points(self, state: SolverState, world: tuple[Array, Array] | None = None) -> Array:
        """(frames, points, 3) metres: positions of the body's points."""
        turns, places = self.forward(state) if world is None else world
        offsets = np.einsum("fpij,pj->fpi", turns[:, self._carriers], self._point_offsets)
        return places[:, self._carriers] + offsets

    def solve(
        self,
        state: SolverState,
        targets: Array,
        steps: int,
        *,
        prior: SolverState | None = None,
        prior_m: float = 0.0,
        weights: Array | None = None,
    ) -> SolverState:
        """The state after a number of Gauss-Newton steps towards (frames, points, 3) targets.

        Parameters
        ----------
        prior, prior_m
            A state that the rotations stay close to, and the weight of a difference in metres per
            radian.
        weights
            (points,) or (frames, points) weights of the residuals of each point.
        """
        solved = state.copy()
        weights = np.ones(1) if weights is None else weights
        weights = np.broadcast_to(weights, targets.shape[:2])
        for start in range(0, len(state), _FRAMES_AT_ONCE):
            here = slice(start, start + _FRAMES_AT_ONCE)
            part = SolverState(solved.local[here], solved.root[here])
            prior_rotations = None if prior is None else prior.local[here][:, self.turning]
            for _ in range(steps):
                self._step(part, targets[here], prior_rotations, prior_m, weights[here])
            solved.local[here], solved.root[here] = part.local, part.root
        return solved

    def _step(
        self,
        state: SolverState,
        targets: Array,
        prior_rotations: Array | None,
        prior_m: float,
        weights: Array,
    ) -> None:
        turns, places = self.forward(state)
        frames, points = targets.shape[:2]
        turning = self.turning
        count = 3 * len(turning) + 3
        predicted = self.points(state, (turns, places))
        residual = predicted - targets
        arms = (predicted[:, :, None] - places[:, None, turning]) * self._moves[..., None]
        arms *= weights[..., None, None]
        jacobian = np.zeros((frames, points, 3, len(turning) + 1, 3))
        # Column k of a joint's block: unit axis k x arm.
        x, y, z = np.moveaxis(arms, -1, 0)
        blocks = jacobian[..., :-1, :]
        blocks[:, :, 0, :, 1], blocks[:, :, 0, :, 2] = z, -y
        blocks[:, :, 1, :, 0], blocks[:, :, 1, :, 2] = -z, x
        blocks[:, :, 2, :, 0], blocks[:, :, 2, :, 1] = y, -x
        jacobian[..., -1, :] = weights[..., None, None] * np.eye(3)
        flat = jacobian.reshape(frames, 3 * points, count)
        transposed = flat.swapaxes(1, 2)
        matrix = transposed @ flat
        weighted = (residual * weights[..., None]).reshape(frames, -1, 1)
        slope = (transposed @ weighted)[..., 0]
        self._add_hinges(matrix, slope, turns)
        diagonal = np.arange(count)
        matrix[:, diagonal, diagonal] += _DAMPING_M**2
        above = self._above(turns)
        if prior_rotations is not None and prior_m > 0:
            off = state.local[:, turning] @ prior_rotations.swapaxes(-1, -2)
            pulls = np.full(len(turning), prior_m)
            _add_pull(matrix, slope, np.arange(len(turning)), off, above, pulls)
        if len(self._loose):
            off = state.local[:, turning[self._loose]]
            _add_pull(matrix, slope, self._loose, off, above[:, self._loose], self._rest_m)
        change = -np.linalg.solve(matrix, slope[..., None])[..., 0]
        state.root = state.root + change[:, -3:]
        turn = change[:, :-3].reshape(frames, -1, 3)
        size = np.linalg.norm(turn, axis=-1, keepdims=True)
        turn *= np.minimum(1.0, _MAX_STEP / np.maximum(size, 1e-12))
        turn = (above.swapaxes(-1, -2) @ turn[..., None])[..., 0]
        step = Rotation.from_rotvec(turn.reshape(-1, 3)).as_matrix().reshape(frames, -1, 3, 3)
        state.local[:, turning] = step @ state.local[:, turning]

    def _above(self, turns: Array) -> Array:
        """(frames, turning joints, 3, 3) world rotations of their parents."""
        parents = np.array(self._parents)[self.turning]
        above = turns[:, np.maximum(parents, 0)].copy()
        above[:, parents < 0] = np.eye(3)
        return above

    def _add_hinges(self, matrix: Array, slope: Array, turns: Array) -> None:
        for index, joint, axis, direction in self._hinges:
            place = slice(3 * index, 3 * index + 3)
            parent = self._parents[joint]
            still, turned = turns[:, parent] @ axis, turns[:, joint] @ axis
            columns = _crossing(turned) * _HINGE_M
            matrix[:, place, place] += columns.swapaxes(1, 2) @ columns
            off = (turned - still)[..., None] * _HINGE_M
            slope[:, place] += (columns.swapaxes(1, 2) @ off)[..., 0]
            straight, now = turns[:, parent] @ direction, turns[:, joint] @ direction
            across = np.cross(still, straight)
            over = np.minimum(np.vecdot(across, now) - _LIMIT_SINE, 0.0)[:, None]
            gradient = np.cross(now, across) * (over < 0) * _LIMIT_M
            matrix[:, place, place] += gradient[:, :, None] * gradient[:, None]
            slope[:, place] += gradient * over * _LIMIT_M


def _add_pull(
    matrix: Array, slope: Array, joints: Array, off: Array, above: Array, pulls: Array
) -> None:
    """Add quadratic penalties on the rotations `off` (frames, joints, 3, 3) of joints."""
    vectors = Rotation.from_matrix(off.reshape(-1, 3, 3)).as_rotvec().reshape(*off.shape[:3])
    places = (3 * joints[:, None] + np.arange(3)).ravel()
    squares = np.repeat(pulls**2, 3)
    slope[:, places] += squares * (above @ vectors[..., None]).reshape(len(off), -1)
    matrix[:, places, places] += squares


def hinge_axis(direction: Array) -> Array:
    """(3,) unit hinge axis of a knee or elbow, from the direction of its lower part at rest.

    Knees point down and bend backwards; elbows point sideways and bend forwards.
    """
    if direction[1] < -0.5:
        return np.array([1.0, 0.0, 0.0])
    return np.array([0.0, -np.sign(direction[0]), 0.0])


def _crossing(vectors: Array) -> Array:
    """(frames, 3, 3) matrices K with K d = d x v."""
    matrix = np.zeros((*vectors.shape, 3))
    x, y, z = vectors.T
    matrix[:, 0, 1], matrix[:, 0, 2] = z, -y
    matrix[:, 1, 0], matrix[:, 1, 2] = -z, x
    matrix[:, 2, 0], matrix[:, 2, 1] = y, -x
    return matrix


def rotating_joints(skeleton: Skeleton, carriers: Array, offsets: Array) -> Array:
    """(joints,) bool: joints whose rotation can be determined from points.

    For the last joint of a limb this needs several points apart from the joint.
    """
    off_joint = carriers[np.linalg.norm(offsets, axis=1) > 0]
    turning = np.bincount(off_joint, minlength=len(skeleton)) > 1
    held = np.bincount(carriers, minlength=len(skeleton)) > 0
    for joint in range(len(skeleton) - 1, 0, -1):
        parent = int(skeleton.parents[joint])
        held[parent] |= held[joint]
        turning[parent] |= held[joint]
    turning[0] = True
    return turning
