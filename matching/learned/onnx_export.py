"""Export of a matcher as ONNX: the poses of its rows, and the search of its kept states."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from deepphase.export.onnx_file import PARITY_BATCHES, Parity, export_onnx
from deepphase.matching.learned.matcher import SMOOTH, Matcher, rounded

_OF_KEPT = ("stops", "starts", "firsts", "counts", "weights")
# Cost of what may not be found.
_NEVER = 1e9


class _SmoothReLU(nn.Module):
    def forward(self, values: Tensor) -> Tensor:
        return 0.5 * (values + (values.square() + SMOOTH).sqrt())


class _Motion(nn.Module):
    """Rows -> values of their poses."""

    states: Tensor
    steps: Tensor
    stops: Tensor
    starts: Tensor
    firsts: Tensor
    counts: Tensor
    weights: Tensor

    def __init__(self, matcher: Matcher) -> None:
        super().__init__()
        kept = matcher.kept
        self.spacing = kept.spacing
        states, steps = rounded(np.concatenate([kept.features, kept.latents], axis=1))
        arrays = {"states": states, "steps": steps}
        arrays |= {name: getattr(kept, name) for name in _OF_KEPT}
        for name, array in arrays.items():
            self.register_buffer(name, torch.from_numpy(np.ascontiguousarray(array)))
        self.layers = _layers(matcher)

    def forward(self, rows: Tensor) -> Tensor:
        stretch = (rows >= self.stops).sum(1)
        frames = rows[:, 0] - self.starts[stretch]
        last = self.counts[stretch] - 1
        second = torch.minimum(torch.div(frames, self.spacing, rounding_mode="floor"), last - 1)
        near = second[:, None] + torch.tensor([[-1, 0, 1, 2]])
        near = torch.minimum(near.clamp(min=0), last[:, None]) + self.firsts[stretch][:, None]
        weights = self.weights[frames - self.spacing * second]
        states = self.states[near].float() * self.steps
        return self.layers((weights[..., None] * states).sum(1))


class _Search(nn.Module):
    """Queries -> the nearest row that is offered, and its cost."""

    features: Tensor
    squares: Tensor
    rows: Tensor

    def __init__(self, matcher: Matcher) -> None:
        super().__init__()
        features = torch.from_numpy(matcher.kept.features)
        offered = torch.from_numpy(matcher.offered)
        self.register_buffer("features", features)
        squares = features.double().square().sum(1)
        self.register_buffer("squares", squares + _NEVER * ~offered)
        self.register_buffer("rows", torch.from_numpy(matcher.kept.rows))

    def forward(self, query: Tensor) -> tuple[Tensor, Tensor]:
        # In double precision, so that all engines find the same row.
        products = query.double() @ self.features.double().T
        place = (self.squares - 2.0 * products).argmin(1)
        costs = (query - self.features[place]).square().sum(1).sqrt()
        return self.rows[place], costs


def export_matcher(matcher: Matcher, path: str | Path) -> dict[Path, list[Parity]]:
    """Write a matcher as ONNX files, and compare them.

    ``walk.onnx`` stands for two files. ``walk.motion.onnx`` (`rows` (n, 1) int64 -> `pose`) has the
    kept states and the decompressor; ``walk.search.onnx`` (`query` -> `row`, `cost`) finds the row
    with the kept state that is nearest to a query. Returns file -> differences, as `export_onnx`.
    """
    path, kept = Path(path), matcher.kept
    generator = np.random.default_rng(0)
    rows = generator.integers(0, len(kept), (max(PARITY_BATCHES), 1))
    queries = kept.features[generator.integers(0, len(kept.features), len(rows))]
    entries = {
        "format": "deepphase.matcher_networks",
        "version": "2",
        "features": json.dumps(matcher.layout.value_names),
        "starts": json.dumps(kept.starts.tolist()),
        "labels": json.dumps([dict(each) for each in matcher.labels]),
        "pose_values": json.dumps({name: at.start for name, at in matcher.values.slices.items()}),
        "fps": json.dumps(matcher.fps),
    }
    parts: dict[str, tuple[nn.Module, dict[str, Tensor], list[str]]] = {
        "motion": (_Motion(matcher), {"rows": torch.from_numpy(rows)}, ["pose"]),
        "search": (_Search(matcher), {"query": torch.from_numpy(queries)}, ["row", "cost"]),
    }
    written = {}
    for name, (module, inputs, outputs) in parts.items():
        file = path.with_name(f"{path.stem}.{name}.onnx")
        written[file] = export_onnx(
            module,
            file,
            inputs=inputs,
            outputs=outputs,
            metadata=entries,
        )
    return written


def _layers(matcher: Matcher) -> nn.Sequential:
    parts: list[nn.Module] = []
    for weight, bias in matcher.decompressor:
        linear = nn.Linear(*weight.shape)
        linear.weight.data = torch.from_numpy(weight.T.copy())
        linear.bias.data = torch.from_numpy(bias.copy())
        parts += [linear, _SmoothReLU()]
    return nn.Sequential(*parts[:-1])
