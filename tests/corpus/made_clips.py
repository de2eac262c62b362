"""Small clips with a known answer, on a skeleton with two sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.formats.load import save
from deepphase.motion.clip import Clip, Source
from deepphase.motion.skeleton import Skeleton

NAMES = (
    "Hips",
    "LeftUpLeg",
    "LeftLeg",
    "LeftFoot",
    "RightUpLeg",
    "RightLeg",
    "RightFoot",
    "Spine",
    "Head",
)
PARENTS = (-1, 0, 1, 2, 0, 4, 5, 0, 7)
PARTNERS = [0, 4, 5, 6, 1, 2, 3, 7, 8]
OTHER_ORDER = [0, 7, 8, 4, 5, 6, 1, 2, 3]
OFFSETS = np.array(
    [
        [0.0, 0.0, 0.0],
        [0.1, 0.0, 0.0],
        [0.0, -0.45, 0.0],
        [0.0, -0.4, 0.0],
        [-0.1, 0.0, 0.0],
        [0.0, -0.45, 0.0],
        [0.0, -0.4, 0.0],
        [0.0, 0.2, 0.0],
        [0.0, 0.4, 0.0],
    ]
)


def made_skeleton(scale: float = 1.0, root: str = "Hips") -> Skeleton:
    return Skeleton(
        (root, *NAMES[1:]),
        np.array(PARENTS),
        OFFSETS * scale,
        np.array([3, 6, 8]),
        scale * np.array([[0.0, -0.05, 0.15], [0.0, -0.05, 0.15], [0.0, 0.2, 0.0]]),
    )


def made_clip(
    seed: int = 0,
    frames: int = 60,
    fps: float = 60.0,
    skeleton: Skeleton | None = None,
    **fields,
) -> Clip:
    """A smooth walk of sines: legs swing, the hips advance and bob."""
    rng = np.random.default_rng(seed)
    skeleton = made_skeleton() if skeleton is None else skeleton
    time = np.arange(frames)[:, None, None] / fps
    amplitude = rng.uniform(0.05, 0.4, (1, len(skeleton), 3))
    vectors = amplitude * np.sin(2 * np.pi * rng.uniform(0.5, 1.5, amplitude.shape) * time)
    rotations = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_quat()
    seconds = time[:, 0]
    translations = np.concatenate(
        [0.0 * seconds, 0.9 + 0.02 * np.sin(9 * seconds), 1.2 * seconds], axis=1
    )[:, None]
    return Clip(
        skeleton,
        rotations.reshape(frames, -1, 4).astype(np.float32),
        translations.astype(np.float32),
        fps,
        **{"source": Source(f"{seed}.bvh", 0.01, "y", 30.0), "name": f"walk{seed}", **fields},
    )


def in_other_order(clip: Clip, order: list[int]) -> Clip:
    """The same motion with its joints in another order, parents before children."""
    old = clip.skeleton
    reordered = Skeleton(
        [old.names[joint] for joint in order],
        [-1 if old.parents[joint] < 0 else order.index(old.parents[joint]) for joint in order],
        old.offsets[order],
    )
    return clip.in_order_of(reordered)


def write_bvh(path: Path, clip: Clip) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    save(clip, path)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Content of every file under a folder."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }
