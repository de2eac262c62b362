"""Export of a matcher's networks as ONNX, for raw values."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor, nn

from deepphase.arrays import Array
from deepphase.export.onnx_file import PARITY_BATCHES, Parity, export_onnx
from deepphase.matching.learned.matcher import NETWORKS, Layer, Matcher


class _Decompressor(nn.Module):
    """States -> values of poses."""

    def __init__(self, matcher: Matcher) -> None:
        super().__init__()
        self.layers = _layers(matcher.decompressor)

    def forward(self, state: Tensor) -> Tensor:
        return self.layers(state)


class _Stepper(nn.Module):
    """States -> those of the next frame, within the limits."""

    limits: Tensor

    def __init__(self, matcher: Matcher) -> None:
        super().__init__()
        self.layers, self.seconds = _layers(matcher.stepper), 1.0 / matcher.fps
        self.register_buffer("limits", _tensor(matcher.limits))

    def forward(self, state: Tensor) -> Tensor:
        later = state + self.layers(state) * self.seconds
        return torch.minimum(torch.maximum(later, self.limits[0]), self.limits[1])


class _Projector(nn.Module):
    """Queries with latents, and conditions -> the nearest states, within the limits."""

    limits: Tensor

    def __init__(self, matcher: Matcher) -> None:
        super().__init__()
        self.layers = _layers(matcher.projector)
        self.register_buffer("limits", _tensor(matcher.limits))

    def forward(self, query: Tensor, conditions: Tensor) -> Tensor:
        found = query + self.layers(torch.cat([query, conditions], 1))
        return torch.minimum(torch.maximum(found, self.limits[0]), self.limits[1])


def export_matcher(matcher: Matcher, path: str | Path) -> dict[Path, list[Parity]]:
    """Write the networks of a matcher as ONNX files, and compare them.

    ``walk.onnx`` stands for three files: ``walk.decompressor.onnx`` (`state` -> `pose`),
    ``walk.stepper.onnx`` (`state` -> `next_state`) and ``walk.projector.onnx`` (`query`, whose last
    values are the current latents, and `conditions`: one value for each style, and one for a start
    from rest -> `state`). Their metadata has the features of a state, the styles, and the first
    column of each kind of values of a pose.

    Returns
    -------
    File -> differences at batches of 1, 7 and 32, for states of the data.

    Raises
    ------
    ParameterError
        If packages are missing.
    CheckpointError
        As for `export_onnx`.
    """
    path, rows = Path(path), max(PARITY_BATCHES)
    starts = _tensor(matcher.starts.states)
    states = starts[torch.arange(rows) % len(starts)]
    conditions = torch.zeros(rows, len(matcher.styles) + 1)
    conditions[:, 0] = 1.0
    columns = {name: each.start for name, each in matcher.values.slices.items()}
    entries = {
        "format": "deepphase.matcher_networks",
        "version": "1",
        "features": json.dumps(matcher.layout.value_names),
        "styles": json.dumps(list(matcher.styles)),
        "pose_values": json.dumps(columns),
        "fps": json.dumps(matcher.fps),
    }
    query = {"query": states, "conditions": conditions}
    parts = {
        "decompressor": (_Decompressor(matcher), {"state": states}, "pose"),
        "stepper": (_Stepper(matcher), {"state": states}, "next_state"),
        "projector": (_Projector(matcher), query, "state"),
    }
    written = {}
    for name in NETWORKS:
        module, inputs, output = parts[name]
        file = path.with_name(f"{path.stem}.{name}.onnx")
        written[file] = export_onnx(
            module,
            file,
            inputs={key: tuple(each.shape[1:]) for key, each in inputs.items()},
            outputs=[output],
            made=inputs,
            metadata=entries,
        )
    return written


def _layers(layers: tuple[Layer, ...]) -> nn.Sequential:
    parts: list[nn.Module] = []
    for weight, bias in layers:
        linear = nn.Linear(*weight.shape)
        linear.weight.data, linear.bias.data = _tensor(weight.T), _tensor(bias)
        parts += [linear, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def _tensor(values: Array) -> Tensor:
    return torch.from_numpy(values.copy()).float()
