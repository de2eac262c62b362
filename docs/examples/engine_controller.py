"""A character from an exported controller, by docs/engines.md: NumPy and ONNX Runtime."""

import base64
import json

import numpy as np
import onnxruntime

POSITION, DIRECTION, VELOCITY = (
    f"trajectory_{each}" for each in ("position", "direction", "velocity")
)
PHASE_BLEND, POSITION_BIAS, DIRECTION_BIAS = 0.5, 2.0, 5.0


class Character:
    """A character of a controller without labels or with one fixed label, gated by a manifold."""

    def __init__(self, path, start=0, place=0j, angle=0.0):
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        metadata = self.session.get_modelmeta().custom_metadata_map
        self.facts = facts = json.loads(metadata["controller"])
        self.blocks = facts["layouts"]
        self.offsets = np.array(facts["offsets_s"])
        self.now, self.fps = int(np.flatnonzero(self.offsets == 0)[0]), facts["frame_rate"]
        self.past = np.round(self.offsets[: self.now] * self.fps).astype(int)
        self.inputs, self.gate = (
            np.frombuffer(base64.b64decode(metadata[f"starts_{name}"]), "<f4")
            .copy()
            .reshape(-1, max(stop for _, stop in self.blocks[name].values()))[start][None]
            for name in ("inputs", "gate")
        )
        # The frames before the start, out of the samples of the start state.
        spline = np.array(facts["history"]["values"])
        turn = np.exp(-1j * angle)
        self.places = list(
            spline @ (place + self.trajectory("inputs", self.inputs, POSITION) * turn)
        )
        facing = self.trajectory("inputs", self.inputs, DIRECTION)
        angles = np.unwrap(np.arctan2(facing.real, facing.imag))
        self.angles = list(spline @ (angle + angles - angles[self.now]))
        self.velocities = list(spline @ (self.trajectory("inputs", self.inputs, VELOCITY) * turn))
        self.future = self.read_future("inputs", self.inputs)
        self.read_start_phases()

    def block(self, layout, row, name):
        begin, end = self.blocks[layout][name]
        return row[0, begin:end]

    def trajectory(self, layout, row, name):
        """Samples of a trajectory block as complex numbers x + i z."""
        values = self.block(layout, row, name).astype(np.float64)
        return values[::2] + 1j * values[1::2]

    def read_future(self, layout, row):
        """Places and angles after now, and velocities from now on, relative to the root."""
        later = len(self.offsets) - self.now
        places, facing, velocities = (
            self.trajectory(layout, row, name)[-later:] for name in (POSITION, DIRECTION, VELOCITY)
        )
        return places[1:], np.arctan2(facing.real, facing.imag)[1:], velocities

    def read_start_phases(self):
        """Phase vectors as complex numbers cos + i sin, from `past` frames ago to the future."""
        channels = self.facts["channels"]
        values = self.block("gate", self.gate, "phase_manifold").reshape(-1, channels, 2)
        vectors = values[..., 1] + 1j * values[..., 0]
        # Most gates have the samples from now on.
        offsets = self.offsets[-len(vectors) :]
        self.past_phases = np.round(offsets[offsets < 0] * self.fps).astype(int)
        steps = (np.diff(np.angle(vectors), axis=0) + 0.5 * np.pi) % (2 * np.pi) - 0.5 * np.pi
        angles = np.angle(vectors[:1]) + np.concatenate([0 * steps[:1], steps.cumsum(axis=0)])
        times = np.arange(self.past_phases.min(initial=0), 1) / self.fps
        angle, length = (
            np.stack([np.interp(times, offsets, column) for column in table.T], axis=1)
            for table in (angles, np.abs(vectors))
        )
        self.later_phases = vectors[len(self.past_phases) :]
        self.phases = list(length * np.exp(1j * angle))
        self.phases[-1] = self.later_phases[0]

    def blended(self, velocity, facing):
        """The future, drawn towards a constant velocity (complex m/s) and facing (radians)."""
        places, angles, velocities = self.future
        times = self.offsets[self.now + 1 :]
        share = np.arange(1, len(times) + 1) / len(times)
        weights, turning = (1 - (1 - share) ** bias for bias in (POSITION_BIAS, DIRECTION_BIAS))
        goal = velocity * np.exp(1j * self.angles[-1])
        steps = (1 - weights) * np.diff(places, prepend=0) + weights * np.diff(
            goal * times, prepend=0
        )
        apart = facing - self.angles[-1] - angles
        angles = angles + turning * ((apart + np.pi) % (2 * np.pi) - np.pi)
        velocities = velocities.copy()
        velocities[1:] += weights * (goal - velocities[1:])
        return np.cumsum(steps), angles, velocities

    def fill(self, future):
        """Write the trajectory and the phases of a frame; the pose was written by the last one."""
        turn = np.exp(1j * self.angles[-1])
        frames = self.past - 1
        places = (np.array(self.places)[frames] - self.places[-1]) * turn
        directions = 1j * np.exp(1j * (self.angles[-1] - np.array(self.angles)[frames]))
        later = np.sin(future[1]) + 1j * np.cos(future[1])
        whole = {
            POSITION: np.concatenate([places, [0], future[0]]),
            DIRECTION: np.concatenate([directions, [1j], later]),
            VELOCITY: np.concatenate([np.array(self.velocities)[frames] * turn, future[2]]),
        }
        for name, values in whole.items():
            self.block("inputs", self.inputs, name)[:] = np.stack(
                [values.real, values.imag], 1
            ).ravel()
        past = np.array(self.phases)[self.past_phases - 1]
        vectors = np.concatenate([past, self.later_phases])
        pairs = np.stack([vectors.imag, vectors.real], axis=-1)
        self.block("gate", self.gate, "phase_manifold")[:] = pairs.ravel()

    def step(self, velocity, facing):
        """One frame towards a velocity (x + i z m/s) and a facing (radians).

        Returns (joints, 3, 3) rotations, whose rows are the rotated axes, and (joints, 3) positions
        of the schema's joints in root space; the root is `places[-1]` and `angles[-1]`.
        """
        self.fill(self.blended(velocity, facing))
        return self.advance()

    def advance(self):
        """Run the network on the inputs of the frame, and move to the next one."""
        (outputs,) = self.session.run(["outputs"], {"inputs": self.inputs, "gate": self.gate})
        out = {name: self.block("outputs", outputs, name) for name in self.blocks["outputs"]}
        moved = complex(*out["root_velocity"]) * np.exp(-1j * self.angles[-1]) / self.fps
        self.future = self.read_future("outputs", outputs)
        self.angles.append(self.angles[-1] + out["root_turn"][0] / self.fps)
        if len(self.places) > len(self.facts["history"]["values"]):
            self.velocities[-1] = 0.5 * self.fps * (self.places[-1] + moved - self.places[-2])
        self.places.append(self.places[-1] + moved)
        self.velocities.append(self.future[2][0] * np.exp(-1j * self.angles[-1]))
        self.advance_phases(out)
        return self.read_pose(out)

    def advance_phases(self, out):
        """Turn each phase forward, then half way to the predicted one (DeepPhase, equation 9)."""
        samples = len(self.later_phases)
        pairs = out["phase_manifold"].reshape(samples, -1, 2)
        frequency, amplitude = (
            np.maximum(out[name].reshape(samples, -1), 0)
            for name in ("phase_frequency", "phase_amplitude")
        )
        turned = np.angle(self.later_phases) + 2 * np.pi * frequency / self.fps
        apart = np.angle((pairs[..., 1] + 1j * pairs[..., 0]) * np.exp(-1j * turned))
        self.later_phases = amplitude * np.exp(1j * (turned + PHASE_BLEND * apart))
        self.phases.append(self.later_phases[0])

    def read_pose(self, out):
        """Orthonormal rotations and forward kinematics, which are the next frame's inputs."""
        numbers = out["joint_rotation"].reshape(-1, 2, 3).astype(np.float64)
        x = numbers[:, 0] / np.linalg.norm(numbers[:, 0], axis=1, keepdims=True)
        y = numbers[:, 1] - np.sum(numbers[:, 1] * x, axis=1, keepdims=True) * x
        y /= np.linalg.norm(y, axis=1, keepdims=True)
        rotations = np.stack([x, y, np.cross(x, y)], axis=1)
        skeleton, joints = self.facts["skeleton"], self.facts["joints"]
        positions = np.zeros((len(joints), 3))
        positions[0] = out["joint_position"][:3]
        for index, joint in enumerate(joints[1:], start=1):
            parent = joints.index(skeleton["parents"][joint])
            positions[index] = positions[parent] + skeleton["offsets"][joint] @ rotations[parent]
        self.block("inputs", self.inputs, "joint_position")[:] = positions.ravel()
        self.block("inputs", self.inputs, "joint_velocity")[:] = out["joint_velocity"]
        self.block("inputs", self.inputs, "joint_rotation")[:] = rotations[:, :2].ravel()
        return rotations, positions
