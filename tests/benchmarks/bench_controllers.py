"""Controllers: training against a weight matrix a sample, and frames of 1 and 1,000 characters.

python -m tests.benchmarks.bench_controllers
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

from deepphase.controllers.networks.experts import Experts
from deepphase.controllers.networks.network import NetworkDims
from deepphase.controllers.networks.pfnn import Pfnn
from deepphase.controllers.networks.registry import make_network
from deepphase.export.onnx_file import export_onnx
from tests.benchmarks.rounds import medians
from tests.controllers.naive_blend import naive_body

# The released PFNN's inputs and outputs; the gate of 13 samples of 5 channels.
DIMS = {"pfnn": NetworkDims(342, 1, 311), "experts": NetworkDims(342, 130, 311)}
GOALS = {("pfnn", 32): 5.0, ("pfnn", 256): 15.0, ("experts", 32): 2.5, ("experts", 256): 9.0}
CROWD, CALLS_OF_ONE = 1000, 50


def blended(network: Pfnn | Experts, inputs: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    """The same function with a weight matrix a sample, as controllers are usually written."""
    return naive_body(network, inputs, network.blend_weights(gate))


def training_step(network, run: Callable, frames, *, fused: bool) -> Callable[[], None]:
    inputs, gate, goal = frames
    optimizer = torch.optim.AdamW(network.parameters(), 1e-4, fused=fused)

    def step() -> None:
        loss = (run(inputs, gate) - goal).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def frames_of(name: str, batch: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    dims = DIMS[name]
    gate = torch.rand(batch, 1) if dims.gate == 1 else torch.randn(batch, dims.gate)
    return torch.randn(batch, dims.inputs), gate, torch.randn(batch, dims.outputs)


def bench_training(rounds: int) -> None:
    print("training step, ms          naive  naive fused      ours  ours fused    ratio   goal")
    for (name, batch), goal in GOALS.items():
        frames, rivals = frames_of(name, batch), {}
        for fused in (False, True):
            naive, ours = (make_network(name, DIMS[name]).eval() for _ in range(2))
            rivals[f"naive {fused}"] = training_step(
                naive, partial(blended, naive), frames, fused=fused
            )
            rivals[f"ours {fused}"] = training_step(ours, ours, frames, fused=fused)
        spent = medians(rivals, rounds=rounds)
        times = "  ".join(f"{1e3 * spent[each]:10.1f}" for each in sorted(spent))
        ratio = spent["naive False"] / spent["ours True"]
        print(f"{name:8s} batch {batch:4d}  {times}  {ratio:7.1f}x  {goal:4.1f}x", flush=True)


def bench_frames(rounds: int) -> None:
    print("a frame, ms              naive     torch      onnx   onnx goal")
    for name in DIMS:
        network = make_network(name, DIMS[name]).eval()
        runs = {
            "naive": partial(blended, network),
            "torch": network,
            "onnx": onnx_runner(name, network),
        }
        for batch, calls, goal in ((1, CALLS_OF_ONE, 0.25), (CROWD, 1, 25.0)):
            frames = [frames_of(name, batch)[:2] for _ in range(calls)]
            with torch.inference_mode():
                spent = medians(
                    {each: partial(each_frame, run, frames) for each, run in runs.items()},
                    rounds=rounds,
                )
            times = [1e3 * seconds / calls for seconds in spent.values()]
            print(
                f"{name:8s} x {batch:4d}  "
                + "".join(f"{time:10.3f}" for time in times[:3])
                + f"{goal:10.2f}",
                flush=True,
            )


def each_frame(run: Callable, frames: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for inputs, gate in frames:
        run(inputs, gate)


def onnx_runner(name: str, network: torch.nn.Module) -> Callable:
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        path, dims = Path(folder) / "network.onnx", DIMS[name]
        shapes = {"inputs": (dims.inputs,), "gate": (dims.gate,)}
        export_onnx(network, path, inputs=shapes, outputs=["outputs"])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path.read_bytes(), options)

    def run(inputs: torch.Tensor, gate: torch.Tensor) -> np.ndarray:
        return session.run(None, {"inputs": inputs.numpy(), "gate": gate.numpy()})[0]

    return run


if __name__ == "__main__":
    rounds = 5
    torch.set_num_threads(1)
    torch.manual_seed(0)
    bench_training(rounds)
    bench_frames(rounds)
