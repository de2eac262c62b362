"""How fast forward kinematics runs, against scipy's Rotation joint by joint in the same run.

python -m tests.benchmarks.bench_kinematics
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.motion.clip import Clip, joint_positions
from tests.benchmarks.rounds import medians
from tests.motion.bodies import HUMAN, body, random_clip


def with_scipy(clip: Clip) -> np.ndarray:
    positions = clip.local_positions()
    world: list[Rotation] = []
    for joint, parent in enumerate(clip.skeleton.parents.tolist()):
        own = Rotation.from_quat(clip.rotations[:, joint])
        world.append(own if parent < 0 else world[parent] * own)
        if parent >= 0:
            positions[:, joint] = positions[:, parent] + world[parent].apply(positions[:, joint])
    return positions


def main() -> None:
    clip = random_clip(body(HUMAN)[0], np.random.default_rng(0), frames=6000)
    single = replace(
        clip,
        rotations=clip.rotations.astype(np.float32),
        translations=clip.translations.astype(np.float32),
    )
    assert np.abs(with_scipy(clip) - joint_positions(clip)).max() < 1e-9
    seconds = medians(
        {
            "scipy": lambda: with_scipy(clip),
            "float64": lambda: joint_positions(clip),
            "float32": lambda: joint_positions(single),
        },
        rounds=9,
    )
    for name, spent in seconds.items():
        print(f"{name:8} {1e3 * spent:7.1f} ms   {seconds['scipy'] / spent:5.1f} x scipy")


if __name__ == "__main__":
    main()
