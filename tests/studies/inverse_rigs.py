"""Inverse rig functions against each other: tables 3.1 and 3.2 of Holden 2017, on clips.

python -m tests.studies.inverse_rigs CLIPS [--test WORD,WORD] [--every N] [--sampling]
    [--noise N ...] [--output RIG] [--seed 0]

Trains on the clips whose names lack a word and measures on those that have it. Joints are off by
means in centimetres and mean squares in square centimetres, controls by mean squares in deviations,
both against the controls by rule and the joints that they give. Frames a second are of one thread,
by processor time, in batches and one frame at a time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.formats.load import load
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.config import RigConfig
from deepphase.rigs.examples import RigExamples
from deepphase.rigs.inverse import RigInverse
from deepphase.rigs.train import RigData, rig_report, train_rig

_SAMPLINGS = ("none", "uniform", "univariate", "multivariate", "gmm", "pca")
_SINGLE = 60


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("clips", type=Path)
    parser.add_argument("--test", default="youthful")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--sampling", action="store_true")
    parser.add_argument("--noise", type=float, nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    files = sorted(options.clips.glob("*.bvh"))
    words = options.test.split(",")
    tests = [each for each in files if any(word in each.stem for word in words)][:: options.every]
    learnt = [each for each in files if not any(word in each.stem for word in words)]
    clips = [load(path) for path in learnt[:: options.every]]
    rig = BodyRig.of_clip(clips[0])
    store = ClipStore.from_clips(clips)
    held_out = RigExamples.of_store(ClipStore.from_clips([load(path) for path in tests]), rig, 600)
    print(f"{rig}, {len(clips)} clips learnt, {len(held_out)} poses of {len(tests)} clips measured")

    def trained(**changes: object) -> RigInverse:
        config = RigConfig.load("default", **{"training.seed": options.seed, **changes})
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            made = train_rig(store, rig, config, folder=folder, accelerator="cpu")
        assert made is not None
        print(f"{changes or 'default'}: {time.process_time() - start:.0f} processor seconds")
        return made

    inverse = trained()
    if options.output:
        inverse.save(options.output)
    table("table 3.1", inverse, held_out)
    random_examples(store, rig, inverse, held_out)
    if options.sampling:
        changes: list[dict[str, object]] = [{"network.sampling": name} for name in _SAMPLINGS]
        changes += [{"network.noise": noise} for noise in options.noise]
        for change in changes:
            made = trained(**{"process.jacobians": False, **change})
            measured = rig_report(made, held_out, ("network", "network-computed"))["methods"]
            for name, each in measured.items():
                print(f"{change} {name}: {100 * each['joint_m']:.4f} cm, {each['controls']:.3f}")


def table(title: str, inverse: RigInverse, held_out: RigExamples) -> None:
    """Print the measures of all methods, with the speed of one frame at a time."""
    print(f"{title}: {len(inverse.used)} of {len(inverse.rig.controls)} controls move")
    report = rig_report(inverse, held_out, poses=600)["methods"]
    for name, each in report.items():
        start = time.process_time()
        for row in range(_SINGLE):
            inverse.solve(held_out.positions[row : row + 1], name)
        single = _SINGLE / (time.process_time() - start)
        print(
            f"{name:18} {100 * each['joint_m']:8.4f} cm  {each['joint_cm2']:8.4f} cm2  "
            f"{each['controls']:6.3f}  {each['fps']:7.0f} fps  {single:6.0f} fps one by one",
            flush=True,
        )


def random_examples(
    store: ClipStore, rig: BodyRig, inverse: RigInverse, held_out: RigExamples
) -> None:
    """Print the error of the process with as many examples by chance."""
    config = RigConfig.from_mapping(inverse.config)
    small = replace(config, network=replace(config.network, samples=0))
    data = RigData(rig, RigExamples.of_store(store, rig, config.training.frames), small)
    assert inverse.process is not None
    rows = np.random.default_rng(0).permutation(len(data.learnt))[: len(inverse.process.inputs)]
    inputs = data.learnt.positions[rows].reshape(len(rows), -1) - data.scale.position_mean
    chance = type(inverse.process).fit(
        inputs, data.normalised(data.learnt.values[rows]), inverse.process.width
    )
    measured = rig_report(replace(inverse, process=chance), held_out, ("process",))["methods"]
    each = measured["process"]
    print(f"examples by chance: {100 * each['joint_m']:.4f} cm, {each['controls']:.3f}")
    print(f"width of the kernel: {inverse.process.width:.3g}", flush=True)


if __name__ == "__main__":
    main()
