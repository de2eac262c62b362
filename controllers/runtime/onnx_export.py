"""Export of controllers as ONNX, for raw values, with the normalisation inside the graph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.export.onnx_file import PARITY_BATCHES, Parity, export_onnx


class ExportedStep(nn.Module):
    """One frame as a function of tensors: inputs, gate if there is one, and state tensors."""

    def __init__(self, controller: NormalisedController) -> None:
        super().__init__()
        self.controller = controller
        self.gated = controller.network.dims.gate > 0

    def forward(
        self,
        inputs: Tensor,
        second: Tensor | None = None,
        third: Tensor | None = None,
        fourth: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Raw outputs and the next state, from inputs and the gate and state that there are."""
        # The exporter does not support a variable number of arguments.
        others = tuple(each for each in (second, third, fourth) if each is not None)
        gate, state = (others[0], others[1:]) if self.gated else (inputs[:, :0], others)
        outputs, state = self.controller.step(inputs, gate, state)
        # Outputs of the graph must not be its inputs, so an unchanged state is not returned.
        changed = () if self.controller.network.state_is_kept else state
        return (outputs, *changed)


def export_controller(
    controller: NormalisedController,
    schema: ControllerSchema,
    path: str | Path,
    *,
    metadata: Mapping[str, str] | None = None,
) -> list[Parity]:
    """Write a controller as ONNX.

    Inputs are `inputs`, `gate` (if there is one) and the network's `state_names`. Outputs are
    `outputs` and, for networks with a state, each of its tensors with the prefix `next_`. The
    file's metadata holds the schema and the names of all columns, and further entries such as
    those of `engine_description.engine_metadata`.

    Returns
    -------
    Differences at batches of 1, 7 and 32, for values with the distribution of the training data.

    Raises
    ------
    ParameterError
        If the network is in a precomputed form, or packages are missing.
    CheckpointError
        As for `export_onnx`.
    """
    network = controller.network
    network.check_exportable()
    rows = max(PARITY_BATCHES)
    tensors = _random_rows(controller, rows)
    names = ["inputs", *(["gate"] if schema.gate is not None else []), *network.state_names]
    state = dict(zip(network.state_names, network.initial_state(rows), strict=True))
    tensors |= state
    outputs = ["outputs"]
    if not network.state_is_kept:
        outputs += [f"next_{name}" for name in network.state_names]
    layouts = {"inputs": schema.inputs, "gate": schema.gate, "outputs": schema.outputs}
    entries = {
        **(metadata or {}),
        "format": "deepphase.controller_step",
        "version": "1",
        "schema": json.dumps(schema.as_mapping()),
    }
    for name, layout in layouts.items():
        if layout is not None:
            entries[f"{name}_columns"] = json.dumps(layout.value_names)
    return export_onnx(
        ExportedStep(controller),
        path,
        inputs={name: tuple(tensors[name].shape[1:]) for name in names},
        outputs=outputs,
        made=tensors,
        metadata=entries,
    )


def _random_rows(controller: NormalisedController, rows: int) -> dict[str, Tensor]:
    """Raw inputs and gate from a normal distribution with the training data's mean and scale."""
    generator = torch.Generator().manual_seed(0)
    rows_of = {}
    for name in ("inputs", "gate"):
        mean, scale = controller.get_buffer(f"{name}_mean"), controller.get_buffer(f"{name}_scale")
        noise = torch.randn(rows, len(mean), generator=generator)
        rows_of[name] = mean + noise / torch.where(scale > 0, scale, torch.ones(()))
    return rows_of
