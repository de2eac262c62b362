"""What trained controllers take: memory, training, and a frame of the network and of the runtime.

python -m tests.benchmarks.controller_costs CONTROLLER ... [--rounds 5]
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
import torch

from controllers.runtime.characters import Characters
from controllers.runtime.controller import Controller
from controllers.runtime.network_state import RunningNetwork
from tests.benchmarks.rounds import medians

_CROWD, _CALLS = 1000, 20


def frames(step, calls: int) -> None:
    """So many in a row."""
    for _ in range(calls):
        step()


def costs(controller: Controller, characters: int, rounds: int) -> tuple[float, float]:
    """Milliseconds a frame of the network alone and of `Characters.step`, of so many at once."""
    rows = np.resize(np.arange(len(controller.starts)), characters)
    character = Characters(controller, controller.starts.select(rows))
    network = RunningNetwork(controller.network, characters, 0)
    inputs, gate = (each.copy() for each in character.network_inputs)
    calls = _CALLS if characters == 1 else 1
    spent = medians(
        {
            "network": partial(frames, partial(network.step, inputs, gate), calls),
            "character": partial(frames, character.step, calls),
        },
        rounds=rounds,
    )
    return 1e3 * spent["network"] / calls, 1e3 * spent["character"] / calls


def main() -> None:
    """Print a row a controller."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("controllers", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(
        "| controller | MB | training, s | 1: network, ms | with runtime | 1,000 | with runtime |"
    )
    print("|---|---|---|---|---|---|---|")
    for path in options.controllers:
        controller = Controller.load(path)
        parts = (*controller.network.parameters(), *controller.network.buffers())
        size = sum(each.numel() * each.element_size() for each in parts) / 1e6
        times = [*costs(controller, 1, options.rounds), *costs(controller, _CROWD, options.rounds)]
        given = controller.provenance.get("seconds")
        seconds = "" if given is None else f"{given:.0f}"
        cells = (path.stem, f"{size:.1f}", seconds, *(f"{each:.3g}" for each in times))
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
