"""What a network sees of running characters: the rows of its inputs and of its gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from controllers.runtime.future_trajectory import FutureTrajectory, TrajectoryReader
from controllers.runtime.network_state import RunningPhases
from controllers.schema.config import POSE_BLOCKS
from controllers.schema.schema import ControllerSchema
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.trajectory import (
    TRAJECTORY_DIRECTION,
    TRAJECTORY_POSITION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
)
from deepphase.steering.springs import damping_share


class PoseHistory:
    """The last frames of roots in the world, as many as the schema's past samples reach back.

    Before a run begins the past is what the start's own samples say, with a cubic between them.

    Parameters
    ----------
    schema
        Whose `offsets_s` the samples are at.
    places, angles
        (characters, samples) complex metres and radians: the whole trajectory, in the world.
    velocities
        (characters, samples) complex m/s in the world; None where the start does not tell them.
    label
        (characters, values) one-hot label until now; no values where there is none.
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
        moments = offsets[offsets < 0.0] * schema.fps
        self._fps = schema.fps
        self._nearest = np.round(moments).astype(np.int64)
        self._before = np.floor(moments + 1e-3).astype(np.int64)
        share = moments - self._before
        self._share = None if (np.abs(share) < 1e-3).all() else share[:, None]
        length = max(2, 2 - int(self._before.min(initial=0)))
        self._frames = length
        times = np.maximum(np.arange(1 - length, 1) / schema.fps, offsets[0])
        place = CubicSpline(offsets, places, axis=1)
        self._places = place(times).T.copy()  # (frames, characters), as all of these
        self._angles = CubicSpline(offsets, angles, axis=1)(times).T.copy()
        moving = place.derivative() if velocities is None else CubicSpline(offsets, velocities, 1)
        self._velocities = moving(times).T.copy()
        self._labels = np.repeat(label[None], length, axis=0)
        self._now = length - 1
        self._recorded = 0

    @property
    def place(self) -> Array:
        """(characters,) complex metres: the roots now."""
        return self._places[self._now]

    @property
    def angle(self) -> Array:
        """(characters,) radians: their facing now."""
        return self._angles[self._now]

    @property
    def velocity(self) -> Array:
        """(characters,) complex m/s: theirs now."""
        return self._velocities[self._now]

    @property
    def rate(self) -> Array:
        """(characters,) rad/s of the last frame."""
        return (self.angle - self._angles[self._now - 1]) * self._fps

    def record(self, places: Array, angles: Array, velocities: Array, label: Array) -> None:
        """One frame more: its velocity as predicted, until the next frame tells it."""
        last, before = self._now, (self._now - 1) % self._frames
        self._now = now = (self._now + 1) % self._frames
        if self._recorded:
            # As the data's velocities are: by central differences.
            self._velocities[last] = 0.5 * self._fps * (places - self._places[before])
        self._places[now], self._angles[now] = places, angles
        self._velocities[now], self._labels[now] = velocities, label
        self._recorded += 1

    def samples(self) -> tuple[Array, Array, Array, Array]:
        """The past samples from where the root is now.

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
        behind = values[(self._now + self._before + 1) % self._frames]
        return before + self._share * (behind - before)


class DesiredLabels:
    """The label of each character, which follows what is wished.

    Parameters
    ----------
    schema
        Whose label and values.
    begun
        (characters, values) the label of the starts; no values where the schema has no label.
    halflife_s
        Seconds in which half of a change is made; 0 for at once.
    """

    def __init__(self, schema: ControllerSchema, begun: Array, halflife_s: float) -> None:
        self._name, self._values = schema.config.label, schema.label_values
        self._share = 1.0
        if halflife_s > 0:
            self._share = damping_share(halflife_s, 1.0 / schema.fps)
        self.now = np.array(begun, np.float32)
        self._goal = self.now.copy()
        self._last: list[Mapping[str, str]] | None = None

    def goal(self, labels: Sequence[Mapping[str, str]]) -> None:
        """Labels that each character shall have; who wishes none keeps its own.

        Raises
        ------
        ParameterError
            Where the controller does not know a label or a value.
        """
        if labels == self._last:
            return
        self._last = list(labels)
        for character, desired in enumerate(labels):
            for name, value in desired.items():
                if name != self._name:
                    raise ParameterError(
                        f"the wish has the label {name!r}, the controller "
                        + (f"{self._name!r}" if self._name else "none"),
                        hint="wish what the controller was trained with, or nothing",
                    )
                if value not in self._values:
                    raise ParameterError(
                        f"{name} {value!r}: the controller does not know it",
                        hint=f"known: {', '.join(self._values)}",
                    )
                self._goal[character] = 0.0
                self._goal[character, self._values.index(value)] = 1.0

    def advance(self) -> None:
        """Go on by one frame towards what is wished."""
        self.now = self.now + np.float32(self._share) * (self._goal - self.now)


def labels_of_each(labels: Mapping[str, str | Sequence[str]], count: int) -> list[dict[str, str]]:
    """Label -> value, or a value for each character -> the labels of each.

    Raises ParameterError where there are not as many values as characters.
    """
    for name, value in labels.items():
        if not isinstance(value, str) and len(value) != count:
            raise ParameterError(f"{len(value)} values of {name} for {count} characters")
    return [
        {name: value if isinstance(value, str) else value[i] for name, value in labels.items()}
        for i in range(count)
    ]


@dataclass(frozen=True, eq=False)
class WholeTrajectory:
    """The samples of a start's trajectory, past and later, seen from its root.

    Parameters
    ----------
    places
        (characters, samples) complex metres.
    angles
        (characters, samples) radians, continuous, 0 now.
    velocities
        (characters, samples) complex m/s, or None where the inputs do not have them.
    """

    places: Array
    angles: Array
    velocities: Array | None


class NetworkInput:
    """Rows of inputs and gate, filled block by block.

    Parameters
    ----------
    schema
        Their layouts.
    inputs, gate
        (characters, dims) raw: of the starts.
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
        feet = [schema.joints.index(name) for name in schema.feet]
        self._feet = (3 * np.array(feet)[:, None] + np.arange(3)).reshape(-1)
        self.pose = {
            name: self.inputs[:, self._slices[name]].copy()
            for name in POSE_BLOCKS
            if name in self._slices
        }

    @property
    def label(self) -> Array:
        """(characters, values) of now; no values where there is no label."""
        name, count = self._schema.config.label, len(self.inputs)
        if not name:
            return np.zeros((count, 0), np.float32)
        block = self.inputs[:, self._slices[name]]
        return block.reshape(count, len(self._offsets), -1)[:, self._now].copy()

    @property
    def trajectory(self) -> WholeTrajectory:
        """The samples of the trajectory."""
        blocks = self._trajectory
        places = blocks.read(self.inputs, TRAJECTORY_POSITION)
        facing = blocks.read(self.inputs, TRAJECTORY_DIRECTION)
        angles = np.unwrap(np.arctan2(facing.real, facing.imag), axis=1)
        velocities = None
        if TRAJECTORY_VELOCITY in blocks:
            velocities = blocks.read(self.inputs, TRAJECTORY_VELOCITY)
        return WholeTrajectory(places, angles - angles[:, self._now, None], velocities)

    @property
    def ahead(self) -> FutureTrajectory:
        """What lies ahead; its velocities from the gate, where only that has them."""
        ahead = TrajectoryReader(self._schema.inputs, self._schema).read(self.inputs)
        name = TRAJECTORY_VELOCITY
        if name not in self._trajectory and name in self._gate_trajectory:
            velocities = self._gate_trajectory.read(self.gate, name)
            return FutureTrajectory(ahead.places, ahead.angles, velocities)
        return ahead

    def set_pose(self, positions: Array, velocities: Array, numbers: Array) -> None:
        """The pose of the next frame: (characters, 3 or 6 * joints) each."""
        self.pose = dict(zip(POSE_BLOCKS, (positions, velocities, numbers), strict=True))

    def fill(
        self,
        past: PoseHistory,
        ahead: FutureTrajectory,
        label: Array,
        phases: RunningPhases | None,
        tracks: Mapping[str, Array] | None,
    ) -> None:
        """Write the rows of a frame.

        Raises ParameterError where a track is missing or of another shape or not finite.
        """
        count, now = len(self.inputs), self._now
        places, directions, velocities, labels = past.samples()
        trajectory = np.zeros((3, count, len(self._offsets)), np.complex128)
        for block, values in zip(trajectory, (places, directions, velocities), strict=True):
            block[:, :now] = values
        trajectory[1, :, now] = 1j
        trajectory[0, :, now + 1 :] = ahead.places
        trajectory[1, :, now + 1 :] = np.sin(ahead.angles) + 1j * np.cos(ahead.angles)
        trajectory[2, :, now:] = ahead.velocities
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
        self._trajectory.write(self.inputs, trajectory)
        self._gate_trajectory.write(self.gate, trajectory)
        for rows, slices in ((self.inputs, self._slices), (self.gate, self._gate_slices)):
            for name, place in slices.items():
                if name in blocks:
                    # Gates have the samples of now and later: a block's last ones.
                    rows[:, place] = blocks[name][:, place.start - place.stop :]
        if phases is not None:
            phases.fill(self.gate)

    def _of_tracks(self, tracks: Mapping[str, Array] | None) -> dict[str, Array]:
        found = {}
        for name in self._schema.config.tracks:
            place = self._slices[name]
            samples = len(self._offsets)
            shape = (len(self.inputs), samples, (place.stop - place.start) // samples)
            values = None if tracks is None else tracks.get(name)
            if values is None or np.shape(values) != shape or not np.isfinite(values).all():
                raise ParameterError(
                    f"the track {name!r} is missing, not finite or of another shape than {shape}",
                    hint="give it for every character and every offset of the schema",
                )
            found[name] = np.reshape(values, (shape[0], -1))
        return found
