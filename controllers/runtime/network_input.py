"""Inputs and gate of a network for running characters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.runtime.network_state import RunningPhases
from deepphase.controllers.runtime.roots import PoseHistory
from deepphase.controllers.schema.config import POSE_BLOCKS
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import ParameterError
from deepphase.features.feature import (
    TRAJECTORY_DIRECTION,
    TRAJECTORY_POSITION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
    complex_of,
    pairs,
)
from deepphase.features.layout import FeatureLayout
from deepphase.steering.goal_limits import GoalLimits
from deepphase.steering.goal_sources import GoalSource, LedGoals, RootStates
from deepphase.steering.springs import wrapped_angle


@dataclass(frozen=True, eq=False)
class FutureTrajectory:
    """Trajectories from now on, relative to the current roots."""

    places: Array  # (characters, samples) complex metres, without now
    angles: Array  # (characters, samples) radians from the current facing, without now
    # (characters, 1 + samples) complex m/s, world velocities in root axes, from now on.
    velocities: Array

    def in_world(self, places: Array, angles: Array) -> tuple[Array, Array]:
        """(characters, samples, 2) metres and (characters, samples) radians in the world."""
        turned = self.places * np.exp(-1j * angles)[:, None]
        return pairs(places[:, None] + turned), angles[:, None] + self.angles


class TrajectoryReader:
    """Reads future trajectories from rows of inputs or outputs."""

    def __init__(self, layout: FeatureLayout, schema: ControllerSchema) -> None:
        self._blocks = TrajectoryBlocks(layout.slices, len(schema.config.later_s))
        self._step = schema.config.step_s

    def read(self, rows: Array) -> FutureTrajectory:
        """The trajectories in raw rows (characters, dims)."""
        blocks = self._blocks
        places = blocks.read_later(rows, TRAJECTORY_POSITION)[:, 1:]
        facing = blocks.read_later(rows, TRAJECTORY_DIRECTION)[:, 1:]
        if TRAJECTORY_VELOCITY in blocks:
            velocities = blocks.read_later(rows, TRAJECTORY_VELOCITY)
        else:
            from_now = np.concatenate([np.zeros_like(places[:, :1]), places], axis=1)
            velocities = np.gradient(from_now, self._step, axis=1)
        return FutureTrajectory(places, np.arctan2(facing.real, facing.imag), velocities)


class TrajectoryBlend:
    """Blends predictions with goals (Holden, Komura and Saito 2017, section 6)."""

    def __init__(
        self,
        schema: ControllerSchema,
        position_bias: float,
        direction_bias: float,
        limits: GoalLimits,
    ) -> None:
        later = np.array([time for time in schema.config.later_s if time > 0.0])
        self._samples, frame = len(later), 1.0 / schema.fps
        # A frame before and after each sample gives its velocity.
        self._moments = np.concatenate([later, later - frame, later + frame])
        self._fps, self._biases = schema.fps, (position_bias, direction_bias)
        self._limits = limits
        self._weights = desired_weights(self._samples, position_bias)
        desired_weights(self._samples, direction_bias)

    def blended(
        self, predicted: FutureTrajectory, goal_source: GoalSource, root_states: RootStates
    ) -> tuple[FutureTrajectory, Array, Array, Array]:
        """The trajectory blended with the goals, and these.

        Desired places within the limits, (characters, samples, 2) metres in the world; whether the
        goals were out of the limits, (characters,) bool; and the desired facing at the end,
        (characters,) radians in the world.
        """
        count, samples = len(root_states.angles), self._samples
        desired, facings = goal_source.trajectory(root_states, np.arange(count), self._moments)
        if isinstance(goal_source, LedGoals):
            leads = goal_source.leads(root_states)
            desired = desired + leads[:, None] * self._moments[:, None]
        within = self._limits.projected(desired, facings, root_states, self._moments)
        desired, facings, limited = within
        if not (np.isfinite(desired).all() and np.isfinite(facings).all()):
            raise ParameterError(
                "the desired trajectory is not finite",
                hint="give goals with finite places and facings",
            )
        here, turn = complex_of(root_states.positions), np.exp(1j * root_states.angles)[:, None]
        relative = (complex_of(desired.reshape(count, -1)) - here) * turn
        before, after = relative[:, samples : 2 * samples], relative[:, 2 * samples :]
        wanted, too_fast = self._limits.limited_velocities(
            pairs(0.5 * self._fps * (after - before))
        )
        velocities = predicted.velocities.copy()
        velocities[:, 1:] += self._weights * (
            complex_of(wanted.reshape(count, -1)) - velocities[:, 1:]
        )
        places = blended_positions(
            pairs(predicted.places), pairs(relative[:, :samples]), self._biases[0]
        )
        angles = facings[:, :samples] - root_states.angles[:, None]
        return (
            FutureTrajectory(
                complex_of(places.reshape(count, -1)),
                blended_angles(predicted.angles, angles, self._biases[1]),
                velocities,
            ),
            desired[:, :samples],
            limited | too_fast,
            facings[:, samples - 1],
        )


def desired_weights(count: int, bias: float) -> Array:
    """(count,) weights of the goal at evenly spaced future samples.

    1 - (1 - t)^bias with t from 0, now, to 1, the last sample. A bias above 1 responds sooner, one
    below 1 follows the prediction longer.

    Holden, Komura and Saito 2017, section 6, eq. 9, in the reading of their released code.
    """
    if count < 1 or not bias > 0:
        raise ParameterError(f"{count} samples blended with the bias {bias}: both must be above 0")
    time = np.arange(1, count + 1) / count
    return 1.0 - (1.0 - time) ** bias


def blended_positions(predicted: Array, desired: Array, bias: float) -> Array:
    """Future places (..., samples, axes) relative to now, as the sum of blended steps."""
    samples, axes = predicted.shape[-2:]
    blends = _step_blends(samples, axes, bias)
    return sum(
        rows.reshape(-1, samples * axes) @ blend
        for rows, blend in zip((predicted, desired), blends, strict=True)
    ).reshape(predicted.shape)


@lru_cache(maxsize=32)
def _step_blends(samples: int, axes: int, bias: float) -> tuple[Array, Array]:
    """Matrices (samples * axes,) * 2 that predicted and desired places are multiplied by."""
    weights = desired_weights(samples, bias)
    differences = np.eye(samples) - np.eye(samples, k=-1)
    sums = np.tril(np.ones((samples, samples)))
    predicted, desired = (
        np.kron(sums @ (share * differences), np.eye(axes)).T
        for share in (1.0 - weights[:, None], weights[:, None])
    )
    return predicted, desired


def blended_angles(predicted: Array, desired: Array, bias: float) -> Array:
    """(..., samples) radians: future facings turned towards the desired ones, the shorter way."""
    weights = desired_weights(predicted.shape[-1], bias)
    return predicted + weights * wrapped_angle(desired - predicted)


@dataclass(frozen=True, eq=False)
class WholeTrajectory:
    """Past and future samples of an initial state's trajectory, relative to its root."""

    places: Array  # (characters, samples) complex metres
    angles: Array  # (characters, samples) radians, continuous, 0 now
    velocities: Array | None  # (characters, samples) complex m/s, or None if the inputs have none


class NetworkInput:
    """Raw rows (characters, dims) of inputs and gate, filled block by block."""

    def __init__(self, schema: ControllerSchema, inputs: Array, gate: Array) -> None:
        self._schema = schema
        self.inputs, self.gate = np.array(inputs, np.float32), np.array(gate, np.float32)
        self._offsets = schema.config.offsets_s
        self._slices = schema.inputs.slices
        self._gate_slices = {} if schema.gate is None else schema.gate.slices
        later = len(schema.config.later_s)
        self._trajectory = TrajectoryBlocks(self._slices, later)
        self._gate_trajectory = TrajectoryBlocks(self._gate_slices, later)
        self._now = self._offsets.index(0.0)
        # Places, directions and velocities of all samples; a root is at 0 now, and faces +Z.
        self._path = np.zeros((3, len(self.inputs), len(self._offsets)), np.complex128)
        self._path[1, :, self._now] = 1j
        feet = [schema.joints.index(name) for name in schema.feet]
        self._feet = (3 * np.array(feet)[:, None] + np.arange(3)).reshape(-1)
        self.pose = {
            name: self.inputs[:, self._slices[name]].copy()
            for name in POSE_BLOCKS
            if name in self._slices
        }

    @property
    def trajectory(self) -> WholeTrajectory:
        """The whole trajectory of the inputs."""
        blocks = self._trajectory
        places = blocks.read(self.inputs, TRAJECTORY_POSITION)
        facing = blocks.read(self.inputs, TRAJECTORY_DIRECTION)
        angles = np.unwrap(np.arctan2(facing.real, facing.imag), axis=1)
        velocities = None
        if TRAJECTORY_VELOCITY in blocks:
            velocities = blocks.read(self.inputs, TRAJECTORY_VELOCITY)
        return WholeTrajectory(places, angles - angles[:, self._now, None], velocities)

    @property
    def future(self) -> FutureTrajectory:
        """The future trajectory; its velocities come from the gate if only the gate has them."""
        future = TrajectoryReader(self._schema.inputs, self._schema).read(self.inputs)
        name = TRAJECTORY_VELOCITY
        if name not in self._trajectory and name in self._gate_trajectory:
            velocities = self._gate_trajectory.read(self.gate, name)
            return FutureTrajectory(future.places, future.angles, velocities)
        return future

    def set_pose(self, positions: Array, velocities: Array, numbers: Array) -> None:
        """Set the pose of the next frame: (characters, 3 or 6 * joints) each."""
        self.pose = dict(zip(POSE_BLOCKS, (positions, velocities, numbers), strict=True))

    def path(self, history: PoseHistory, future: FutureTrajectory) -> Array:
        """(3, characters, samples) complex places, facings and velocities, until the next call."""
        now, path = self._now, self._path
        for block, values in zip(path, history.samples(), strict=True):
            block[:, :now] = values
        path[0, :, now + 1 :] = future.places
        path[1, :, now + 1 :].real = np.sin(future.angles)
        path[1, :, now + 1 :].imag = np.cos(future.angles)
        path[2, :, now:] = future.velocities
        return path

    def fill(
        self,
        path: Array,
        parts: Mapping[str, Array],
        phases: RunningPhases | None,
        tracks: Mapping[str, Array] | None,
    ) -> None:
        """Write the rows of a frame."""
        blocks = {**parts, **self.pose, **self._of_tracks(tracks)}
        blocks["foot_velocity"] = self.pose["joint_velocity"][:, self._feet]
        self._trajectory.write(self.inputs, path)
        self._gate_trajectory.write(self.gate, path)
        for rows, slices in ((self.inputs, self._slices), (self.gate, self._gate_slices)):
            for name, place in slices.items():
                if name in blocks:
                    # Gates have the samples from now on, the last ones of a block.
                    rows[:, place] = blocks[name][:, place.start - place.stop :]
        if phases is not None:
            phases.fill(self.gate)

    def _of_tracks(self, tracks: Mapping[str, Array] | None) -> dict[str, Array]:
        blocks = {}
        for name in self._schema.config.tracks:
            place = self._slices[name]
            samples = len(self._offsets)
            shape = (len(self.inputs), samples, (place.stop - place.start) // samples)
            values = None if tracks is None else tracks.get(name)
            if values is None or np.shape(values) != shape or not np.isfinite(values).all():
                raise ParameterError(
                    f"the track {name!r} is missing, not finite or does not have the shape {shape}",
                    hint="give it for every character and every offset of the schema",
                )
            blocks[name] = np.reshape(values, (shape[0], -1))
        return blocks
