"""Least-squares solver of poses for point tracks: damped Gauss-Newton steps over all frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.resample import low_passed, low_passed_rotations
from deepphase.motion.skeleton import Skeleton, ancestors
from deepphase.solving.planning import JointPlan

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


@dataclass(frozen=True, eq=False)
class BodyModel:
    """A skeleton of constant lengths and the points attached to it."""

    plan: JointPlan
    skeleton: Skeleton
    # (points, 3) metres: position of each point in the frame of its carrier joint.
    point_offsets: Array
    size: float  # Metres: length of a leg, and of all limbs as measured
    measured: float


@dataclass(eq=False)
class SolverState:
    """Poses of a body."""

    local: Array  # (frames, joints, 3, 3) local rotation matrices
    root: Array  # (frames, 3) metres: the hips

    @classmethod
    def from_rotations(cls, rotations: Array, root: Array) -> SolverState:
        """Poses of (frames, joints, 4) local quaternions."""
        matrices = Rotation.from_quat(rotations.reshape(-1, 4)).as_matrix()
        return cls(matrices.reshape(*rotations.shape[:2], 3, 3), root)

    @property
    def rotations(self) -> Array:
        """(frames, joints, 4) local rotations, continuous in sign."""
        flat = Rotation.from_matrix(self.local.reshape(-1, 3, 3)).as_quat()
        return quaternions.sign_continuous(flat.reshape(*self.local.shape[:2], 4))

    def low_passed(self, cutoff_hz: float, fps: float) -> SolverState:
        """The poses with rotations and root low-passed."""
        rotations = low_passed_rotations(self.rotations, cutoff_hz, fps)
        return self.from_rotations(rotations, low_passed(self.root, cutoff_hz, fps))


class PoseSolver:
    """Solver of a body's poses whose points match those of a track."""

    def __init__(self, body: BodyModel) -> None:
        self.body = body
        plan, skeleton = body.plan, body.skeleton
        self._parents, self._offsets = skeleton.parents.tolist(), skeleton.offsets
        self._carriers = np.array(plan.carriers)
        at_joint = np.linalg.norm(body.point_offsets, axis=1) == 0
        # (joints, joints): whether a joint is another one or below it.
        below = np.zeros((len(skeleton), len(skeleton)), bool)
        for joint in range(len(skeleton)):
            below[joint, ancestors(skeleton, joint)] = True
        # Points below a joint, or several points apart from it, determine its rotation.
        carrying = np.bincount(self._carriers, minlength=len(skeleton)) > 0
        turning = (below & ~np.eye(len(skeleton), dtype=bool))[carrying].any(axis=0)
        turning |= np.bincount(self._carriers[~at_joint], minlength=len(skeleton)) > 1
        turning[0] = True
        self.turning = np.flatnonzero(turning)
        # (points, turning joints): whether a joint's rotation moves a point.
        own = self._carriers[:, None] == self.turning
        moves = below[self._carriers][:, self.turning] & ~(own & at_joint[:, None])
        self._moves = moves.astype(float)
        self._hinges = []
        place = {joint: index for index, joint in enumerate(self.turning.tolist())}
        for _, joint, child in plan.limbs:
            direction = self._offsets[child]
            if joint in place and np.linalg.norm(direction) > 0:
                direction = direction / np.linalg.norm(direction)
                self._hinges.append((place[joint], joint, hinge_axis(direction), direction))
        rest = np.full(len(skeleton), _TRUNK_M)
        rest[[0, *(joint for leg in plan.legs for joint in leg if joint >= 0)]] = 0.0
        rest[[joint for arm in plan.arms for joint in arm[:2]]] = 0.0
        rest[list(plan.loose)] = _NECK_M
        if plan.head in plan.loose:
            rest[plan.head] = _HEAD_M
        self._loose = np.flatnonzero(rest[self.turning])
        self._rest_m = rest[self.turning][self._loose]

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
        offsets = np.einsum("fpij,pj->fpi", turns[:, self._carriers], self.body.point_offsets)
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

        A `prior` pulls by metres per radian; `weights` are (points,) or (frames, points).
        """
        solved = SolverState(state.local.copy(), state.root.copy())
        weights = np.ones(1) if weights is None else weights
        weights = np.broadcast_to(weights, targets.shape[:2])
        for start in range(0, len(state.root), _FRAMES_AT_ONCE):
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
        arms = (predicted[:, :, None] - places[:, None, turning]) * self._moves[..., None]
        jacobian = np.zeros((frames, points, 3, len(turning) + 1, 3))
        # Column k of a joint's block: unit axis k x arm.
        jacobian[..., :-1, :] = _crossing(arms * weights[..., None, None]).swapaxes(2, 3)
        jacobian[..., -1, :] = weights[..., None, None] * np.eye(3)
        flat = jacobian.reshape(frames, 3 * points, count)
        transposed = flat.swapaxes(1, 2)
        matrix = transposed @ flat
        weighted = ((predicted - targets) * weights[..., None]).reshape(frames, -1, 1)
        slope = (transposed @ weighted)[..., 0]
        self._add_hinges(matrix, slope, turns)
        diagonal = np.arange(count)
        matrix[:, diagonal, diagonal] += _DAMPING_M**2
        # (frames, turning joints, 3, 3) world rotations of their parents.
        parents = np.array(self._parents)[turning]
        above = turns[:, np.maximum(parents, 0)]
        above[:, parents < 0] = np.eye(3)
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
    """(3,) hinge axis at rest: knees point down and bend back, elbows sideways and forwards."""
    if direction[1] < -0.5:
        return np.array([1.0, 0.0, 0.0])
    return np.array([0.0, -np.sign(direction[0]), 0.0])


def _crossing(vectors: Array) -> Array:
    """(..., 3, 3) matrices K with K d = d x v, of vectors (..., 3)."""
    matrix = np.zeros((*vectors.shape, 3))
    x, y, z = np.moveaxis(vectors, -1, 0)
    matrix[..., 0, 1], matrix[..., 0, 2] = z, -y
    matrix[..., 1, 0], matrix[..., 1, 2] = -z, x
    matrix[..., 2, 0], matrix[..., 2, 1] = y, -x
    return matrix
