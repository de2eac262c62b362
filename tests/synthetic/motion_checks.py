"""What every made motion must hold to, measured from its clip alone and from its truth."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.motion.clip import Clip, global_transforms, joint_positions
from deepphase.motion.quaternions import IDENTITY, rotate
from deepphase.synthetic.bodies import Body, body_named
from deepphase.synthetic.gait_motion import SyntheticMotion, synthetic_clip


def stances(contact: np.ndarray) -> list[slice]:
    """Runs of frames in which one limb touches the ground."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], contact.astype(int), [0]])))
    return [slice(start, stop) for start, stop in edges.reshape(-1, 2)]


def largest_slide(motion: SyntheticMotion) -> float:
    """Metres: how far a contact joint strays from its place on the ground within a stance."""
    ground = joint_positions(motion.clip)[..., [0, 2]].astype(np.float64)
    return max(
        float(np.linalg.norm(ground[run, joint] - ground[run.start, joint], axis=1).max())
        for limb, joint in enumerate(motion.contact_joints)
        for run in stances(motion.contacts[:, limb])
    )


def lowest_points(motion: SyntheticMotion, body: Body) -> np.ndarray:
    """(frames, limbs) metres: the lowest of heel, toe joint and tip of each foot."""
    rotations, positions = global_transforms(motion.clip)
    points = []
    for limb in body.limbs:
        ends = body.skeleton.end_parents == limb.toe
        tip = body.skeleton.end_offsets[ends][0]
        heights = [
            positions[:, limb.toe, 1] - limb.standing[1],
            (positions[:, limb.toe] + rotate(rotations[:, limb.toe], tip))[:, 1]
            - (limb.standing[1] + tip[1]),
        ]
        if limb.heel is not None:
            heel = positions[:, limb.foot] + rotate(rotations[:, limb.foot], limb.heel)
            heights.append(heel[:, 1])
        points.append(np.min(heights, axis=0))
    return np.stack(points, axis=1)


def largest_phase_error(motion: SyntheticMotion) -> float:
    """Cycles: the phase's steps against frequency times time."""
    mean = 0.5 * (motion.frequency[1:] + motion.frequency[:-1]) / motion.clip.fps
    error = np.diff(motion.phase, axis=0) - mean
    return float(np.abs(error - np.round(error)).max())


def largest_acceleration(motion: SyntheticMotion) -> float:
    """m/s^2, of any joint."""
    positions = joint_positions(motion.clip).astype(np.float64)
    second = np.diff(positions, 2, axis=0) * motion.clip.fps**2
    return float(np.linalg.norm(second, axis=-1).max())


def largest_angular_acceleration(motion: SyntheticMotion) -> float:
    """rad/s^2, of any joint's local rotation."""
    q = motion.clip.rotations.astype(np.float64)
    shape = (len(q) - 1, q.shape[1], 3)
    steps = Rotation.from_quat(q[:-1].reshape(-1, 4)).inv() * Rotation.from_quat(
        q[1:].reshape(-1, 4)
    )
    speed = steps.as_rotvec().reshape(shape) * motion.clip.fps
    return float(np.linalg.norm(np.diff(speed, axis=0), axis=-1).max() * motion.clip.fps)


def constant_pose(seconds: float, body: str = "biped", fps: float = 60.0) -> Clip:
    """The rest pose (a person's T-pose), without any motion."""
    its_body, frames = body_named(body), round(seconds * fps)
    rotations = np.tile(IDENTITY, (frames, len(its_body.skeleton), 1))
    root = np.tile(its_body.skeleton.offsets[0], (frames, 1))
    labels = {"body": body, "gait": "constant_pose"}
    return synthetic_clip(its_body, rotations, root, fps, labels, "constant_pose")
