"""A trained PFNN in its forms: how far tables are from the spline, what they take and cost.

python -m tests.benchmarks.precomputed_forms CONTROLLER [--rounds 9]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import get_args

import numpy as np
import torch

from deepphase.apps.runs.controller import Form, in_form
from deepphase.controllers.networks.pfnn import PrecomputedPfnn
from deepphase.controllers.runtime.controller import Controller
from tests.benchmarks.rounds import medians

_CALLS = 50


def one_by_one(network: Callable, inputs: torch.Tensor, gate: torch.Tensor) -> None:
    """A character's frames in turn; their phases differ, so that no table stays in cache."""
    for row in range(_CALLS):
        network(inputs[row : row + 1], gate[row : row + 1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("controller")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    controller = Controller.load(options.controller)
    starts, joints = controller.starts, controller.schema.outputs.slices["joint_position"]
    order = np.random.default_rng(0).permutation(len(starts))
    inputs, gate = (torch.from_numpy(each[order]) for each in (starts.inputs, starts.gate))
    forms = {name: in_form(controller, name).network.eval() for name in get_args(Form)}
    with torch.inference_mode():
        spent = medians(
            {name: partial(one_by_one, each, inputs, gate) for name, each in forms.items()},
            rounds=options.rounds,
        )
        found = {
            name: each(inputs, gate)[:, joints].reshape(len(starts), -1, 3)
            for name, each in forms.items()
        }
    print(f"{controller.name}, {len(starts)} moments; joints against the cubic form's")
    print("form       MB   ms a frame   mean, mm   95 %, mm   largest, mm")
    for name, each in forms.items():
        network = each.network
        size = sum(part.numel() * part.element_size() for part in network.parameters()) / 1e6
        size = network.megabytes if isinstance(network, PrecomputedPfnn) else size
        apart = 1e3 * torch.linalg.vector_norm(found[name] - found["cubic"], dim=-1)
        print(
            f"{name:8s} {size:5.1f} {1e3 * spent[name] / _CALLS:12.3f} {apart.mean():10.3f} "
            f"{apart.quantile(0.95):10.3f} {apart.max():13.3f}"
        )


if __name__ == "__main__":
    main()
