"""A small body that swings by formula: motion whose phase is known."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Clip, Source
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.config import PhaseConfig

NAMES = ("Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg", "RightFoot")
NAMES += ("Chest", "LeftArm", "LeftHand", "RightArm", "RightHand", "Head")
# Changes of the default config of phases, for a training of a second.
TINY_PHASES = {
    "network.channels": 2,
    "network.window_s": 0.5,
    "network.kernel_s": 0.2,
    "network.hidden": 4,
    "training.windows": 320,
    "training.batch_size": 16,
    "training.held_out": 0.25,
}


def body() -> Skeleton:
    """Thirteen joints, 1.7 m, facing +Z."""
    parents = [-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 7, 10, 7]
    offsets = np.array(
        [
            [0, 0.95, 0],
            [0.1, -0.05, 0],
            [0, -0.42, 0],
            [0, -0.42, 0],
            [-0.1, -0.05, 0],
            [0, -0.42, 0],
            [0, -0.42, 0],
            [0, 0.45, 0],
            [0.2, 0, 0],
            [0, -0.55, 0],
            [-0.2, 0, 0],
            [0, -0.55, 0],
            [0, 0.25, 0],
        ]
    )
    return Skeleton(NAMES, np.array(parents), offsets)


def swinging(
    frequency: float, seconds: float = 6.0, fps: float = 60.0, *, start: float = 0.0, seed: int = 0
) -> tuple[Clip, np.ndarray]:
    """A walk-like swing at `frequency` Hz, and its phase (frames,) in cycles, not wrapped.

    Legs swing as sin(2 pi phase), arms against them; the body travels along +Z.
    """
    rng = np.random.default_rng(seed)
    times = np.arange(round(seconds * fps)) / fps
    phase = start + frequency * times
    swing = np.sin(2 * np.pi * phase)
    angles = np.zeros((len(times), len(NAMES)))
    angles[:, 1], angles[:, 4] = -0.5 * swing, 0.5 * swing
    angles[:, 2] = 0.3 * (1 - np.cos(2 * np.pi * phase))
    angles[:, 5] = 0.3 * (1 + np.cos(2 * np.pi * phase))
    angles[:, 8], angles[:, 10] = 0.4 * swing, -0.4 * swing
    angles *= 1.0 + 0.1 * rng.standard_normal(len(NAMES))
    vectors = np.zeros((*angles.shape, 3))
    vectors[..., 0] = angles
    rotations = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_quat().reshape(*angles.shape, 4)
    travel = np.zeros((len(times), 1, 3))
    travel[:, 0, 1] = 0.95 + 0.02 * np.cos(4 * np.pi * phase)
    travel[:, 0, 2] = 1.2 * times
    name = f"swing-{frequency:g}-{seed}"
    return Clip(body(), rotations, travel, fps, source=Source(path=f"{name}.bvh"), name=name), phase


def swings(count: int = 8, seconds: float = 4.0) -> ClipStore:
    """Clips of the body at several rates."""
    rates = np.linspace(0.8, 1.6, count)
    return ClipStore.from_clips(
        [swinging(rate, seconds, start=0.3 * i, seed=i)[0] for i, rate in enumerate(rates)]
    )


def tiny_phases(**changes: object) -> PhaseConfig:
    """`TINY_PHASES` as a config, with other changes."""
    return PhaseConfig.load("default", **{**TINY_PHASES, **changes})
