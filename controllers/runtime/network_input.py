"""Inputs and gate of a network for running characters, and the history that they are read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from controllers.runtime.future_trajectory import FutureTrajectory, TrajectoryReader
from controllers.runtime.network_state import RunningPhases
from controllers.schema.config import POSE_BLOCKS, TRAJECTORY_HEIGHT
from controllers.schema.schema import ControllerSchema
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.run_measures import DESIRED_LABEL
from deepphase.features.trajectory import (
    TRAJECTORY_DIRECTION,
    TRAJECTORY_POSITION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
)
from deepphase.steering.springs import damping_share
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.underfoot import SIDES, ground_level, trajectory_heights


class PoseHistory:
    """History of roots in the world over the reach of the schema's past samples.

    Before the first frame it is a cubic spline through the samples of the initial state.

    Parameters
    ----------
    schema
        Schema with the `offsets_s` of the samples.
    places, angles
        (characters, samples) complex metres and radians: the whole trajectory, in the world.
    velocities
        (characters, samples) complex m/s in the world; None if the initial state has none.
    label
        (characters, values) one-hot label until now; no values for schemas without a label.
    """

    def __init__(
        self,
        schema: ControllerSchema,
        places: Array,
        angles: Array,
        velocities: Array | None,
        label: Array,
    ) -> None:
        offsets = np.array(schema.config.offsets_s)
        moments = _past_moments(schema)
        self._fps = schema.fps
        self._nearest = np.round(moments).astype(np.int64)
        self._before = _frames_before(moments)
        share = moments - self._before
        self._share = None if (np.abs(share) < 1e-3).all() else share[:, None]
        times = history_times(schema)
        length = len(times)
        self._frames = length
        place = CubicSpline(offsets, places, axis=1)
        self._places = place(times).T.copy()  # (frames, characters), like all arrays of the history
        self._angles = CubicSpline(offsets, angles, axis=1)(times).T.copy()
        moving = place.derivative() if velocities is None else CubicSpline(offsets, velocities, 1)
        self._velocities = moving(times).T.copy()
        self._labels = np.repeat(label[None], length, axis=0)
        self._now = length - 1
        self._recorded = 0

    @property
    def place(self) -> Array:
        """(characters,) complex metres: current roots."""
        return self._places[self._now]

    @property
    def angle(self) -> Array:
        """(characters,) radians: current facing."""
        return self._angles[self._now]

    @property
    def velocity(self) -> Array:
        """(characters,) complex m/s: current velocity."""
        return self._velocities[self._now]

    @property
    def rate(self) -> Array:
        """(characters,) rad/s: turning rate of the last frame."""
        return (self.angle - self._angles[self._now - 1]) * self._fps

    def record(self, places: Array, angles: Array, velocities: Array, label: Array) -> None:
        """Add a frame; its velocity is the predicted one until the next frame is known."""
        last, before = self._now, (self._now - 1) % self._frames
        self._now = now = (self._now + 1) % self._frames
        if self._recorded:
            # Central differences, as in the data.
            self._velocities[last] = 0.5 * self._fps * (places - self._places[before])
        self._places[now], self._angles[now] = places, angles
        self._velocities[now], self._labels[now] = velocities, label
        self._recorded += 1

    def samples(self) -> tuple[Array, Array, Array, Array]:
        """The past samples relative to the current root.

        Returns
        -------
        places, directions, velocities : (characters, past samples) complex
        labels : (characters, past samples, values)
        """
        nearest = (self._now + self._nearest) % self._frames
        places, angles = self._between(self._places), self._between(self._angles)
        turn = np.exp(1j * self.angle)
        return (
            ((places - self.place) * turn).T,
            (1j * np.exp(1j * (self.angle - angles))).T,
            (self._velocities[nearest] * turn).T,
            self._labels[nearest].swapaxes(0, 1),
        )

    def _between(self, values: Array) -> Array:
        before = values[(self._now + self._before) % self._frames]
        if self._share is None:
            return before
        after = values[(self._now + self._before + 1) % self._frames]
        return before + self._share * (after - before)


def history_times(schema: ControllerSchema) -> Array:
    """(frames,) seconds from now of the frames of a history, not before the first sample."""
    length = max(2, 2 - int(_frames_before(_past_moments(schema)).min(initial=0)))
    return np.maximum(np.arange(1 - length, 1) / schema.fps, schema.config.offsets_s[0])


def _past_moments(schema: ControllerSchema) -> Array:
    """(past samples,) frames from now, not rounded."""
    offsets = np.array(schema.config.offsets_s)
    return offsets[offsets < 0.0] * schema.fps


def _frames_before(moments: Array) -> Array:
    return np.floor(moments + 1e-3).astype(np.int64)


class DesiredLabels:
    """The label of each character, which approaches the desired one.

    Parameters
    ----------
    schema
        Schema with the label and its values.
    initial
        (characters, values) label of the initial states; no values for schemas without a label.
    halflife_s
        Half-life of a change in seconds; 0 changes it at once.
    """

    def __init__(self, schema: ControllerSchema, initial: Array, halflife_s: float) -> None:
        self._name, self._values = schema.config.label, schema.label_values
        self._share = 1.0
        if halflife_s > 0:
            self._share = damping_share(halflife_s, 1.0 / schema.fps)
        self.current = np.array(initial, np.float32)
        self._goals = self.current.copy()
        self._last: list[Mapping[str, str]] | None = None

    def set_goals(self, labels: Sequence[Mapping[str, str]]) -> None:
        """Set the desired labels of each character; characters without one keep their label.

        Raises
        ------
        ParameterError
            If the controller has no such label or value.
        """
        if labels == self._last:
            return
        self._last = list(labels)
        for character, desired in enumerate(labels):
            for name, value in desired.items():
                if name != self._name:
                    raise ParameterError(
                        f"the goals have the label {name!r}, the controller "
                        + (f"{self._name!r}" if self._name else "none"),
                        hint="use a label that the controller was trained with",
                    )
                if value not in self._values:
                    raise ParameterError(
                        f"{name} {value!r} is not among the controller's labels",
                        hint=f"known: {', '.join(self._values)}",
                    )
                self._goals[character] = 0.0
                self._goals[character, self._values.index(value)] = 1.0

    @property
    def tracks(self) -> dict[str, Array]:
        """The desired values as a track of runs; none for schemas without a label."""
        if not self._values:
            return {}
        return {DESIRED_LABEL: np.array(self._values)[self._goals.argmax(axis=1)]}

    def advance(self) -> None:
        """Advance by one frame towards the desired labels."""
        self.current = self.current + np.float32(self._share) * (self._goals - self.current)


def labels_of_each(labels: Mapping[str, str | Sequence[str]], count: int) -> list[dict[str, str]]:
    """The labels of each character, from one value for all or a value for each.

    Raises ParameterError if the number of values is not that of the characters.
    """
    for name, value in labels.items():
        if not isinstance(value, str) and len(value) != count:
            raise ParameterError(f"there are {len(value)} values of {name} for {count} characters")
    return [
        {name: value if isinstance(value, str) else value[i] for name, value in labels.items()}
        for i in range(count)
    ]


@dataclass(frozen=True, eq=False)
class WholeTrajectory:
    """Past and future samples of an initial state's trajectory, relative to its root.

    Parameters
    ----------
    places
        (characters, samples) complex metres.
    angles
        (characters, samples) radians, continuous, 0 now.
    velocities
        (characters, samples) complex m/s, or None if the inputs have none.
    """

    places: Array
    angles: Array
    velocities: Array | None


def _heights(ground: Heightmap | None, history: PoseHistory, trajectory: Array) -> Array:
    """(characters, samples * 3) metres of the ground at a trajectory relative to its root."""
    count, samples = trajectory.shape[1:]
    if ground is None:
        return np.zeros((count, SIDES * samples), np.float32)
    turn = np.exp(-1j * history.angle)[:, None]
    places, directions = history.place[:, None] + trajectory[0] * turn, trajectory[1] * turn
    level = root_level(ground, history.place, history.angle)
    found = trajectory_heights(
        ground,
        np.stack([places.real, places.imag], axis=-1),
        np.stack([directions.real, directions.imag], axis=-1),
        level,
    )
    return found.reshape(count, -1)


def root_level(ground: Heightmap, places: Array, angles: Array) -> Array:
    """(characters,) metres: `ground_level` at complex places, with facings in radians."""
    directions = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return ground_level(ground, np.stack([places.real, places.imag], axis=-1), directions)


class NetworkInput:
    """Raw rows of inputs and gate, filled block by block.

    Parameters
    ----------
    schema
        Schema with their layouts.
    inputs, gate
        (characters, dims) raw values of the initial states.
    """

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
        self._every = np.zeros((3, len(self.inputs), len(self._offsets)), np.complex128)
        self._every[1, :, self._now] = 1j
        feet = [schema.joints.index(name) for name in schema.feet]
        self._feet = (3 * np.array(feet)[:, None] + np.arange(3)).reshape(-1)
        self.pose = {
            name: self.inputs[:, self._slices[name]].copy()
            for name in POSE_BLOCKS
            if name in self._slices
        }

    @property
    def label(self) -> Array:
        """(characters, values) current label; no values for schemas without a label."""
        name, count = self._schema.config.label, len(self.inputs)
        if not name:
            return np.zeros((count, 0), np.float32)
        block = self.inputs[:, self._slices[name]]
        return block.reshape(count, len(self._offsets), -1)[:, self._now].copy()

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

    def fill(
        self,
        history: PoseHistory,
        future: FutureTrajectory,
        label: Array,
        phases: RunningPhases | None,
        tracks: Mapping[str, Array] | None,
        ground: Heightmap | None = None,
    ) -> None:
        """Write the rows of a frame.

        Heights are those of `ground`, by default of a flat floor.

        Raises ParameterError if a track is missing, has another shape or is not finite.
        """
        count, now = len(self.inputs), self._now
        places, directions, velocities, labels = history.samples()
        trajectory = self._every
        for block, values in zip(trajectory, (places, directions, velocities), strict=True):
            block[:, :now] = values
        trajectory[0, :, now + 1 :] = future.places
        trajectory[1, :, now + 1 :].real = np.sin(future.angles)
        trajectory[1, :, now + 1 :].imag = np.cos(future.angles)
        trajectory[2, :, now:] = future.velocities
        blocks: dict[str, Array] = {}
        if label.shape[1]:
            later = np.broadcast_to(
                label[:, None], (count, len(self._offsets) - now, label.shape[1])
            )
            every = np.concatenate([labels, later], axis=1)
            blocks[self._schema.config.label] = every.reshape(count, -1)
        blocks |= self.pose
        blocks["foot_velocity"] = self.pose["joint_velocity"][:, self._feet]
        blocks |= self._of_tracks(tracks)
        if self._schema.config.heights:
            blocks[TRAJECTORY_HEIGHT] = _heights(ground, history, trajectory)
        self._trajectory.write(self.inputs, trajectory)
        self._gate_trajectory.write(self.gate, trajectory)
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
