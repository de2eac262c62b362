"""What a network sees of running characters: the rows of its inputs and of its gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from controllers.recorded_past import RecordedPast
from controllers.running_phases import RunningPhases
from controllers.schema import ControllerSchema
from controllers.schema_config import POSE_BLOCKS
from controllers.wished_trajectory import Ahead, AheadReader
from deepphase.errors import ParameterError
from deepphase.features.trajectory import (
    TRAJECTORY_DIRECTION,
    TRAJECTORY_POSITION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
)

Array = np.ndarray


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


class SeenFrame:
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
    def ahead(self) -> Ahead:
        """What lies ahead; its velocities from the gate, where only that has them."""
        ahead = AheadReader(self._schema.inputs, self._schema).read(self.inputs)
        name = TRAJECTORY_VELOCITY
        if name not in self._trajectory and name in self._gate_trajectory:
            velocities = self._gate_trajectory.read(self.gate, name)
            return Ahead(ahead.places, ahead.angles, velocities)
        return ahead

    def see_pose(self, positions: Array, velocities: Array, numbers: Array) -> None:
        """The pose of the next frame: (characters, 3 or 6 * joints) each."""
        self.pose = dict(zip(POSE_BLOCKS, (positions, velocities, numbers), strict=True))

    def fill(
        self,
        past: RecordedPast,
        ahead: Ahead,
        label: Array,
        phases: RunningPhases | None,
        tracks: Mapping[str, Array] | None,
    ) -> None:
        """Write the rows of a frame.

        Raises ParameterError where a track is missing or of another shape or not finite.
        """
        count, now = len(self.inputs), self._now
        places, directions, velocities, labels = past.seen()
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
