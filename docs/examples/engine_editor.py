"""In-betweens from an exported editor, by docs/engines.md: NumPy and ONNX Runtime."""

import json

import numpy as np
import onnxruntime


class Editor:
    """What an editor's file does with motion of its body."""

    def __init__(self, path):
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        metadata = self.session.get_modelmeta().custom_metadata_map
        self.facts = facts = json.loads(metadata["editor"])
        self.fps, self.stride = facts["frame_rate"], facts["stride"]
        self.joints = np.array(facts["joints"])
        self.parents = np.array(facts["joint_parents"])
        self.carriers = np.array(facts["points"]["carriers"])
        self.owners = np.array(facts["points"]["joints"])
        self.offsets = np.array(facts["points"]["offsets"])
        self.depends = np.array(facts["depends"], bool)

    def rows(self, rotations, places, root, angles, contacts, floor=0.0):
        """(frames, values) rows of a motion at the file's rate.

        rotations (frames, joints, 3, 3) of the body's joints in the world, whose rows are the
        rotated axes, and their places (frames, joints, 3) in metres; the root's places
        (frames,) as complex numbers x + i z, and its angles (frames,); contacts (frames, feet).
        """
        carriers = np.maximum(self.carriers, 0)
        arms = np.einsum("pi,tpij->tpj", self.offsets, rotations[:, carriers])
        points = places[:, carriers] + arms
        turn = np.exp(1j * angles)
        flat = (points[..., 0] + 1j * points[..., 2] - root[:, None]) * turn[:, None]
        points = np.stack([flat.real, points[..., 1] - floor, flat.imag], axis=-1)
        velocity, turning = np.diff(root) * turn[:-1] * self.fps, np.diff(angles) * self.fps
        steps = np.stack([velocity.real, velocity.imag, turning], axis=1)
        steps = np.concatenate([steps, steps[-1:]])
        return np.concatenate([points.reshape(len(points), -1), steps, contacts], axis=1)

    def known(self, joints, root):
        """What is known of groups of values, of what is known of joints (frames, joints) and root.

        A point is known where all rotations above it are; the root's velocity leads to the next
        frame.
        """
        whole = np.concatenate([root[:, None], joints], axis=1).astype(np.float32)
        known = np.stack([whole[:, needed].min(axis=1) for needed in self.depends], axis=1)
        known[:-1, 0] = np.minimum(known[:-1, 0], known[1:, 0])
        return known

    def restored(self, rows, known):
        """(frames, values) the network's estimate of all values."""
        extra = -len(rows) % self.stride
        padded = [
            np.pad(each, ((0, extra), (0, 0)), mode="edge")[None].astype(np.float32)
            for each in (rows, known)
        ]
        (made,) = self.session.run(["restored"], dict(zip(("rows", "known"), padded, strict=True)))
        return made[0, : len(rows)]

    def between(self, rows, first, stop):
        """Rows in which the frames from `first` on and before `stop` are made by the network.

        The estimate is moved so that it continues the frames beside the gap.
        """
        inside = (np.arange(len(rows)) >= first) & (np.arange(len(rows)) < stop)
        whole = np.repeat(~inside[:, None], len(self.joints), axis=1)
        made = self.restored(rows, self.known(whole, ~inside))
        points = slice(0, 3 * len(self.carriers))
        away = (rows - made)[:, points]
        share = (np.arange(first, stop) - first + 1)[:, None] / (stop - first + 1)
        ease = share**2 * (3.0 - 2.0 * share)
        result = rows.copy()
        result[inside, points.stop :] = made[inside, points.stop :]
        result[inside, points] = (
            made[inside, points] + (1.0 - ease) * away[first - 1] + ease * away[stop]
        )
        return result

    def pose(self, rows):
        """Local rotations (frames, joints, 3, 3) and the hips' places (frames, 3) in root space.

        Each joint takes the rotation that fits the points that it carries best (Kabsch 1976). The
        hips' rotation is in root space.
        """
        points = rows[:, : 3 * len(self.carriers)].reshape(len(rows), -1, 3).astype(np.float64)
        world = np.empty((len(rows), len(self.joints), 3, 3))
        for joint in range(len(self.joints)):
            own = np.flatnonzero(self.carriers == joint)
            centre = points[:, np.flatnonzero(self.owners == joint)]
            moments = self.offsets[own].T @ (points[:, own] - centre)
            left, _, right = np.linalg.svd(moments)
            left[..., 2] *= np.linalg.det(left @ right)[:, None]
            world[:, joint] = left @ right
        local = world.copy()
        local[:, 1:] = world[:, 1:] @ world[:, self.parents[1:]].swapaxes(-1, -2)
        return local, points[:, 0]
