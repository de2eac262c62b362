"""Made files of the SMPL family, and where their joints are, without the library's kinematics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.motion.skeleton import Skeleton

# Upright in a Z-up world, facing +X.
UPRIGHT = Rotation.from_euler("xz", [90, 90], degrees=True)


def walk_poses(frames: int, joints: int, seed: int = 0, fps: float = 60.0) -> np.ndarray:
    """(frames, joints, 3) rotation vectors of a body that swings all its joints, upright."""
    random = np.random.default_rng(seed)
    seconds = np.arange(frames) / fps
    sizes = random.uniform(-0.4, 0.4, (joints, 3))
    shifts = random.uniform(0, 2 * np.pi, (joints, 3))
    poses = sizes * np.sin(2 * np.pi * seconds[:, None, None] + shifts)
    swing = Rotation.from_rotvec(0.2 * poses[:, 0])
    poses[:, 0] = (UPRIGHT * swing).as_rotvec()
    return poses


def walk_translations(frames: int, fps: float = 60.0) -> np.ndarray:
    """(frames, 3) metres, Z up: along +X at 1.2 m/s."""
    seconds = np.arange(frames) / fps
    return np.stack(
        [1.2 * seconds, 0.05 * np.sin(2 * np.pi * seconds), 0.95 + 0.02 * np.cos(4 * seconds)], 1
    )


def z_up_positions(skeleton: Skeleton, poses: np.ndarray, translations: np.ndarray) -> np.ndarray:
    """(frames, joints, 3) metres in the file's Z-up world, by matrices joint after joint."""
    matrices: list[np.ndarray] = []
    positions: list[np.ndarray] = []
    for joint, parent in enumerate(skeleton.parents):
        own = Rotation.from_rotvec(poses[:, joint]).as_matrix()
        if parent < 0:
            matrices.append(own)
            positions.append(translations)
        else:
            matrices.append(matrices[parent] @ own)
            positions.append(positions[parent] + matrices[parent] @ skeleton.offsets[joint])
    return np.stack(positions, axis=1)


def written_smpl(path: Path, frames: int = 40, joints: int = 52, **arrays) -> Path:
    """A file as AMASS has it; an array given as None is left out."""
    content = {
        "poses": walk_poses(frames, joints).reshape(frames, -1),
        "trans": walk_translations(frames),
        "mocap_framerate": 60.0,
        "gender": "female",
        "betas": np.zeros(16),
        "dmpls": np.zeros((frames, 8)),
        **arrays,
    }
    np.savez(path, **{name: value for name, value in content.items() if value is not None})
    return path
