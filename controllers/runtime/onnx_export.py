"""A controller for other engines: raw values in and out, normalisation inside the graph."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor, nn

from controllers.networks.normalised import NormalisedController
from controllers.schema.schema import ControllerSchema
from deepphase.export.onnx_file import PARITY_BATCHES, Parity, export_onnx


class ExportedStep(nn.Module):
    """One frame as a function of tensors: inputs, the gate if there is one, and the state."""

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
        """Raw outputs, and the state of the next frame; what is left out there is not."""
        # The exporter knows no variable number of arguments.
        others = tuple(each for each in (second, third, fourth) if each is not None)
        gate, state = (others[0], others[1:]) if self.gated else (inputs[:, :0], others)
        outputs, state = self.controller.step(inputs, gate, state)
        # The graph's outputs may not be its inputs: noise that is kept stays outside.
        changed = () if self.controller.network.state_is_kept else state
        return (outputs, *changed)


def export_controller(
    controller: NormalisedController, schema: ControllerSchema, path: str | Path
) -> list[Parity]:
    """Write a controller as ONNX.

    Inputs are `inputs`, `gate` (where there is one) and the network's `state_names`; outputs are
    `outputs` and, of a network that remembers, each of its states with `next_` in front. The
    file's metadata holds the schema and the names of all columns.

    Returns
    -------
    The differences at batches of 1, 7 and 32, compared at values as the training data had them.

    Raises
    ------
    ParameterError
        Where the network has another form than its exact one, or packages are missing.
    CheckpointError
        As `export_onnx` does.
    """
    network = controller.network
    network.check_exportable()
    rows = max(PARITY_BATCHES)
    made = _likely_rows(controller, rows)
    names = ["inputs", *(["gate"] if schema.gate is not None else []), *network.state_names]
    state = dict(zip(network.state_names, network.initial_state(rows), strict=True))
    made |= state
    outputs = ["outputs"]
    if not network.state_is_kept:
        outputs += [f"next_{name}" for name in network.state_names]
    layouts = {"inputs": schema.inputs, "gate": schema.gate, "outputs": schema.outputs}
    metadata = {
        "format": "deepphase.controller_step",
        "version": "1",
        "schema": json.dumps(schema.as_mapping()),
    }
    for name, layout in layouts.items():
        if layout is not None:
            metadata[f"{name}_columns"] = json.dumps(layout.value_names)
    return export_onnx(
        ExportedStep(controller),
        path,
        inputs={name: tuple(made[name].shape[1:]) for name in names},
        outputs=outputs,
        made=made,
        metadata=metadata,
    )


def _likely_rows(controller: NormalisedController, rows: int) -> dict[str, Tensor]:
    """Raw inputs and gate as normal noise around the training data's means."""
    generator = torch.Generator().manual_seed(0)
    found = {}
    for name in ("inputs", "gate"):
        mean, scale = controller.get_buffer(f"{name}_mean"), controller.get_buffer(f"{name}_scale")
        noise = torch.randn(rows, len(mean), generator=generator)
        found[name] = mean + noise / torch.where(scale > 0, scale, torch.ones(()))
    return found
