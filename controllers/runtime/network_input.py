"""Inputs and gate of a network for running characters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.runtime.future_trajectory import FutureTrajectory, TrajectoryReader
from deepphase.controllers.runtime.network_state import RunningPhases
from deepphase.controllers.runtime.roots import PoseHistory
from deepphase.controllers.schema.config import POSE_BLOCKS
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import ParameterError
from deepphase.features.trajectory import (
    TRAJECTORY_DIRECTION,
    TRAJECTORY_POSITION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
)


@dataclass(frozen=True, eq=False)
class WholeTrajectory:
    """Past and future samples of an initial state's trajectory, relative to its root."""

    places: Array  # (characters, samples) complex metres
    angles: Array  # (characters, samples) radians, continuous, 0 now
    velocities: Array | None  # (characters, samples) complex m/s, or None if the inputs have none


class NetworkInput:
    """Raw rows of inputs and gate, filled block by block.

    Parameters
    ----------
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
        """(3, characters, samples) complex: the whole trajectory relative to the root.

        Its places in metres, facings as unit vectors, and velocities in m/s; the next call
        overwrites them.
        """
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
        """Write the rows of a frame.

        Parameters
        ----------
        parts
            Name -> (characters, values): blocks of `CharacterPart.blocks`.
        """
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
