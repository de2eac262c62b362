"""The editor's network beside the autoencoders of Holden et al. 2015 and 2016.

    python -m tests.studies.editing.paper_networks STORE [--windows 2000] [--seed 0]

Each network trains on the same windows of a store with AdamW, all layers together, and is measured
on the held-out files as `deepphase train editor` measures its own.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.edit.config import EditorConfig
from deepphase.edit.data import EditorData
from deepphase.edit.report import editor_report
from deepphase.edit.training import EditorModule, train_editor
from deepphase.training.task import TrainedTask, run_task

# Largest magnitude of which the inverse of tanh is taken: its slope is 50 there, and infinite at 1,
# where training of all layers at once would diverge.
_NEARLY_ONE = 0.99


class TiedAutoencoder(nn.Module):
    """Convolution and max pooling per layer; decoding with the same weights, transposed.

    Unpooling puts a value at a random one of its two frames in training, and half of it at each
    otherwise (Holden et al. 2015, section 5.1).
    """

    def __init__(
        self,
        values: int,
        filters: tuple[int, ...],
        kernel: int,
        activation: Callable[[Tensor], Tensor],
        inverse: Callable[[Tensor], Tensor],
        dropout: float = 0.0,
        pool: int = 2,
    ) -> None:
        super().__init__()
        self._activation, self._inverse, self._dropout = activation, inverse, dropout
        self.stride, self._pad, self._pool = pool ** len(filters), kernel // 2, pool
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        inputs = values
        for outputs in filters:
            # Decoding sums half of kernel * outputs terms; both directions keep the variance.
            bound = (6.0 / (kernel * (inputs + outputs))) ** 0.5
            weight = torch.empty(outputs, inputs, kernel).uniform_(-bound, bound)
            self.weights.append(nn.Parameter(weight))
            self.biases.append(nn.Parameter(torch.zeros(outputs)))
            inputs = outputs

    def encode(self, rows: Tensor, known: Tensor | None = None) -> Tensor:
        """(batch, hidden, frames / stride) of rows (batch, values, frames)."""
        for weight, bias in zip(self.weights, self.biases, strict=True):
            rows = functional.dropout(rows, self._dropout, self.training)
            rows = functional.conv1d(rows, weight, bias, padding=self._pad)
            rows = self._activation(functional.max_pool1d(rows, self._pool))
        return rows

    def decode(self, hidden: Tensor) -> Tensor:
        """(batch, values, frames)"""
        for weight, bias in zip(reversed(self.weights), reversed(self.biases), strict=True):
            hidden = self._unpooled(self._inverse(hidden)) - bias[:, None]
            hidden = functional.conv_transpose1d(hidden, weight, padding=self._pad)
        return hidden

    def restore(self, rows: Tensor, known: Tensor | None = None) -> Tensor:
        """(batch, values, frames) rows, encoded and decoded."""
        return self.decode(self.encode(rows))

    def penalty(self, hidden: Tensor) -> Tensor:
        """What sparsity weighs in the loss: hidden units of several layers, weights of one."""
        if len(self.weights) > 1:
            return hidden.abs().mean()
        return self.weights[0].abs().mean() + self.biases[0].abs().mean()

    def _unpooled(self, hidden: Tensor) -> Tensor:
        if self._pool == 1:
            return hidden
        if not self.training:
            return 0.5 * hidden.repeat_interleave(2, -1)
        first = torch.rand_like(hidden) < 0.5
        return torch.stack([hidden * first, hidden * ~first], -1).flatten(-2)


def manifold(values: int, width: int = 256) -> TiedAutoencoder:
    """Three layers with tanh and an eighth of the frames (Holden et al. 2015)."""
    filters = (width // 4, width // 2, width)
    return TiedAutoencoder(values, filters, 15, torch.tanh, _inverse_tanh)


def synthesis(
    values: int, width: int = 256, *, dropout: float = 0.2, pool: int = 2
) -> TiedAutoencoder:
    """One layer with ReLU and half of the frames (Holden et al. 2016), at 30 Hz."""
    return TiedAutoencoder(values, (width,), 13, torch.relu, lambda each: each, dropout, pool)


class PaperModule(EditorModule):
    """The training of the papers: single values are zeroed, and sparsity is in the loss."""

    sparsity = 0.01

    def __init__(self, data: EditorData, network: TiedAutoencoder, zeroed: float) -> None:
        super().__init__(data)
        self.network, self.zeroed = network, zeroed  # type: ignore[assignment]

    def damaged(self, windows: Tensor, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        generator = torch.Generator().manual_seed(seed)
        kept = torch.rand(windows.shape, generator=generator) >= self.zeroed
        batch, _, frames = windows.shape
        known = windows.new_ones(batch, len(self.layout.depends), frames)
        return windows, windows * kept, known

    def training_step(self, windows: Tensor) -> Tensor:
        torch.manual_seed(self._seed())
        hidden = self.network.encode(self.damaged(windows, self._seed())[1])
        loss = (self.network.decode(hidden) - windows).square().mean()
        self.last_loss = loss.detach()
        return loss + self.sparsity * self.network.penalty(hidden)


def train_paper_network(
    store: ClipStore, config: EditorConfig, make: Callable[[int], TiedAutoencoder], zeroed: float
) -> dict[str, Any]:
    """The report of an editor with another network."""

    def module(data: EditorData) -> PaperModule:
        return PaperModule(data, make(len(data.layout.group)), zeroed)

    task = TrainedTask[EditorData, PaperModule, dict[str, Any]](
        config.training.seed,
        data=lambda: EditorData(store, config),
        module=module,
        fingerprint=lambda data: {"config": asdict(config), "frames": data.frames},
        result=lambda data, module, run: editor_report(module.editor(data), data),
    )
    with tempfile.TemporaryDirectory() as folder:
        report = run_task(task, folder=folder, trainer={"accelerator": "cpu"})
    assert report is not None
    return report


NETWORKS: dict[str, tuple[Callable[[int], TiedAutoencoder], float]] = {
    "synthesis": (synthesis, 0.0),
    "synthesis without dropout": (lambda values: synthesis(values, dropout=0.0), 0.0),
    "synthesis without pooling": (lambda values: synthesis(values, pool=1), 0.0),
    "manifold": (manifold, 0.1),
}


def main() -> None:
    """Print a row of errors for each network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("--windows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    store = open_store(options.store)
    changes = {"training.windows": options.windows, "training.seed": options.seed}
    config = EditorConfig.load("masked", **changes)
    paper = replace(config, training=replace(config.training, weight_decay=0.0, known_weight=1.0))
    print("| network | reconstruction | 0.5 s gap | stretches | limb | processor s |")
    for name in ("deepphase", *NETWORKS):
        began = time.process_time()
        if name == "deepphase":
            with tempfile.TemporaryDirectory() as folder:
                editor = train_editor(store, config, folder=folder, accelerator="cpu")
            assert editor is not None
            report: Any = editor.report
        else:
            report = train_paper_network(store, paper, *NETWORKS[name])
        pairs = [report["gaps"]["0.5"], report["joints"], report["limb"]]
        cells = [report["reconstruction_m"], *(pair["editor_m"] for pair in pairs)]
        spent = time.process_time() - began
        row = " | ".join(f"{1000 * each:.1f}" for each in cells)
        print(f"| {name} | {row} | {spent:.0f} |", flush=True)
    row = " | ".join(f"{1000 * pair['linear_m']:.1f}" for pair in pairs)
    print(f"| interpolation | | {row} | |")


def _inverse_tanh(values: Tensor) -> Tensor:
    return torch.atanh(values.clamp(-_NEARLY_ONE, _NEARLY_ONE))


if __name__ == "__main__":
    main()
