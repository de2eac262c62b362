"""A frame of 1,000 characters: its parts against their plain forms, and the whole on one core.

python -m tests.benchmarks.bench_crowd [CONTROLLER ...] [--characters 1000] [--rounds 9]

The times are processor time, so that other work on the machine counts less. Without a controller
it runs that of the demo, and experts of the paper's size with untrained weights. A processor with
AVX2 alone is that of `NUMBA_CPU_NAME=haswell MKL_ENABLE_INSTRUCTIONS=AVX2
ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2` before the command.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import torch

from deepphase.apps.demo import CONTROLLER
from deepphase.controllers.networks.blended_linear import BlendedLinear
from deepphase.controllers.networks.phase_update import MIN_LENGTH, NEARLY_OPPOSITE, updated_phases
from deepphase.controllers.networks.registry import make_network
from deepphase.controllers.runtime.body_pose import BodyPoses
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.network_state import RunningNetwork, advance_phases
from deepphase.motion.rotations_6d import from_six_numbers
from deepphase.steering.velocity_goals import VelocityGoals

GOAL_MS = 16.0
_SECONDS = 1.0 / 60.0
# Frames before the first that is timed: characters are then on their way.
_WARM_UP = 20


def least_ms(rivals: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Least milliseconds of processor time of each rival over interleaved rounds."""
    spent = dict.fromkeys(rivals, float("inf"))
    for round_ in range(rounds + 1):
        for name, run in rivals.items():
            began = time.process_time()
            run()
            if round_:
                spent[name] = min(spent[name], 1e3 * (time.process_time() - began))
    return spent


def bench_parts(controller: Controller, characters: int, rounds: int) -> None:
    """Parts of a frame against plain forms that compute the same."""
    random = np.random.default_rng(0)
    schema = controller.schema
    print("a part, ms                 plain      here   ratio")

    numbers = random.standard_normal((characters, 6 * len(schema.joints)), dtype=np.float32)
    hips = random.standard_normal((characters, 3), dtype=np.float32)
    poses = BodyPoses(controller.skeleton, schema)
    row(
        "poses",
        partial(from_six_numbers, numbers.reshape(characters, -1, 6)),
        partial(poses.read, numbers, hips),
        rounds,
    )
    rows, channels = characters * 7, max(schema.channels, 1)
    now, goal = random.standard_normal((2, rows, 2 * channels), dtype=np.float32)
    hertz, size = random.standard_normal((2, rows, channels), dtype=np.float32)
    tensors = [torch.from_numpy(each) for each in (now, goal, hertz, size)]
    row(
        "phases",
        partial(updated_phases, *tensors, seconds=_SECONDS, blend=0.5),
        partial(
            advance_phases,
            now.copy(),
            *(goal, hertz, size, _SECONDS, 0.5, MIN_LENGTH, NEARLY_OPPOSITE),
        ),
        rounds,
    )
    dims = schema.dims
    for ins, outs in ((dims.inputs, 64), (dims.inputs, 512), (512, dims.outputs)):
        layer = BlendedLinear(8, ins, outs)
        x, blend = torch.randn(characters, ins), torch.rand(characters, 8)
        row(
            f"8 x {ins} to {outs}",
            partial(plain_blend, layer, x, blend),
            partial(layer, x, blend),
            rounds,
        )


def row(name: str, plain: Callable[[], object], here: Callable[[], object], rounds: int) -> None:
    """Print both times and their ratio."""
    with torch.inference_mode():
        spent = least_ms({"plain": plain, "here": here}, rounds)
    ratio = spent["plain"] / spent["here"]
    print(f"{name:22s} {spent['plain']:9.2f} {spent['here']:9.2f} {ratio:6.1f}x", flush=True)


def plain_blend(layer: BlendedLinear, x: torch.Tensor, blend: torch.Tensor) -> torch.Tensor:
    """The layer with its inputs weighted before the product, as in training."""
    stacked = (blend[:, :, None] * x[:, None, :]).flatten(1)
    return stacked @ layer.weight.flatten(0, 1) + blend @ layer.bias


def bench_frames(rivals: Mapping[str, Controller], characters: int, rounds: int) -> None:
    """Networks alone, and frames of `Characters` with them and a goal each, by turns."""
    runs: dict[str, Callable[[], object]] = {}
    for name, controller in rivals.items():
        rows = np.resize(np.arange(len(controller.starts)), characters)
        crowd = Characters(controller, controller.starts.select(rows))
        goals = VelocityGoals(crowd.root_states)
        goals.set(np.random.default_rng(0).normal(size=(characters, 2)))
        for _ in range(_WARM_UP):
            crowd.step(goals)
        network = RunningNetwork(controller.network, characters, 0)
        inputs, gate = (each.copy() for each in crowd.network_inputs)
        runs[f"{name}, network"] = partial(network.step, inputs, gate)
        runs[name] = partial(crowd.step, goals)
    spent = least_ms(runs, rounds)
    for name in rivals:
        network_ms, whole = spent[f"{name}, network"], spent[name]
        print(
            f"{name:30s} {network_ms:9.1f} {whole - network_ms:9.1f} {whole:9.1f} {GOAL_MS:7.0f}",
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("controllers", nargs="*", type=Path)
    parser.add_argument("--characters", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    bench_parts(Controller.load(CONTROLLER), options.characters, options.rounds)
    print("a frame, ms                      network    around       all    goal")
    given = {path.stem: Controller.load(path) for path in options.controllers}
    if not given:
        large = Controller.load(CONTROLLER)
        large.network.network = make_network("experts", large.schema.dims).eval()
        given = {"demo, 4 x 64": Controller.load(CONTROLLER), "8 x 512, untrained": large}
    for name, controller in given.items():
        bench_frames({name: controller}, options.characters, options.rounds)


if __name__ == "__main__":
    main()
