"""Inverse rig functions against each other: tables 3.1 and 3.2 of Holden 2017, on clips.

    python -m tests.studies.inverse_rigs CLIPS [--test WORD,WORD] [--every N]

Trains on the clips whose names lack a word and measures on those that have it. Joints are off by
means in centimetres and mean squares in square centimetres, controls by mean squares in deviations,
both against the controls by rule and the joints that they give. Frames a second are of one thread,
by processor time, in batches and one frame at a time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.formats.load import load
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.config import RigConfig
from deepphase.rigs.inverse import (
    METHODS,
    Method,
    RigInverse,
    inverse_of_effectors,
    named_effectors,
)
from deepphase.rigs.training import RigExamples, train_rig, with_process

_SINGLE, _POSES = 60, 600
Solve = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("clips", type=Path)
    parser.add_argument("--test", default="youthful")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    files = sorted(options.clips.glob("*.bvh"))
    words = options.test.split(",")
    tests = [path for path in files if any(word in path.stem for word in words)][:: options.every]
    learnt = [path for path in files if not any(word in path.stem for word in words)]
    clips = [load(path) for path in learnt[:: options.every]]
    rig = BodyRig.from_clip(clips[0])
    store = ClipStore.from_clips(clips)
    held_out = RigExamples.from_store(
        ClipStore.from_clips([load(path) for path in tests]), rig, 600
    )
    print(f"{rig}, {len(clips)} clips learnt, {len(held_out)} poses of {len(tests)} clips measured")
    config = RigConfig.load("default", **{"training.seed": options.seed})
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        inverse = train_rig(store, rig, config, folder=folder, accelerator="cpu")
    assert inverse is not None
    print(f"{time.process_time() - start:.0f} processor seconds")
    poses = RigExamples.from_store(store, rig, config.training.frames)
    learnt_poses = poses.split(options.seed)[0]
    process = with_process(rig, learnt_poses, config)
    print(f"{len(inverse.used)} of {len(rig.controls)} controls move")
    for name, each in methods(inverse, process).items():
        row(name, each, inverse, held_out)
    effectors(inverse, held_out)


def methods(inverse: RigInverse, process: RigInverse) -> dict[str, Solve]:
    """All methods of the thesis, of an inverse with a network and of one with a process."""

    def by(which: RigInverse, method: Method) -> Solve:
        def solve(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            made = which.solve(positions, method)
            return made.values, made.errors

        return solve

    # A regression that always gives the rest pose leaves all to optimisation.
    still = replace(process.process, weights=0.0 * process.process.weights)
    still = replace(still, mean=process.scale.normalised(process.scale.rest[None])[0])
    return {
        "process": by(process, "regression"),
        "process, computed": by(process, "computed"),
        "network": by(inverse, "regression"),
        "network, computed": by(inverse, "computed"),
        "optimisation": by(replace(process, process=still), "computed"),
    }


def row(name: str, solve: Solve, inverse: RigInverse, held_out: RigExamples) -> None:
    """Print the measures of a method, with the speed of one frame at a time."""
    some = np.unique(np.linspace(0, len(held_out) - 1, _POSES).astype(np.int64))
    wanted = held_out.rows(some)
    start = time.process_time()
    values, errors = solve(wanted.positions)
    batch = len(wanted) / (time.process_time() - start)
    start = time.process_time()
    for index in range(_SINGLE):
        solve(wanted.positions[index : index + 1])
    single = _SINGLE / (time.process_time() - start)
    off = (values - wanted.values)[:, inverse.used] / inverse.scale.value_scale
    print(
        f"{name:18} {100 * errors.mean():8.4f} cm  {1e4 * (errors**2).mean() / 3:8.4f} cm2  "
        f"{(off**2).mean():6.3f}  {batch:7.0f} fps  {single:6.0f} fps one by one",
        flush=True,
    )


def effectors(inverse: RigInverse, held_out: RigExamples) -> None:
    """Print the distances of a few joints that are followed, and of all others."""
    wanted = held_out.positions[::8]
    for names in (["seven"], ["feet"], ["hands", "head"]):
        joints = named_effectors(inverse.rig, names)  # type: ignore[arg-type]
        few = inverse_of_effectors(inverse, joints)
        for method in METHODS:
            start = time.process_time()
            errors = few.solve(wanted, method).errors
            fps = len(wanted) / (time.process_time() - start)
            own, others = errors[:, joints], np.delete(errors, joints, axis=1)
            print(
                f"{'+'.join(names):12} {method:10} {100 * own.mean():.3f}, {100 * own.max():.2f} cm"
                f"  others {100 * others.mean():.2f} cm  {fps:.0f} fps",
                flush=True,
            )


if __name__ == "__main__":
    main()
