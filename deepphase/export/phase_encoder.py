"""A phase model for other engines: windows of velocities in, phase parameters out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from torch import Tensor, nn

from deepphase.export.onnx_file import Parity, export_onnx
from deepphase.phase.model import CONVENTIONS, PhaseModel

OUTPUTS = ("phase", "frequency", "amplitude", "offset", "manifold")


class PhaseEncoder(nn.Module):
    """The encoder of a phase model with its normalisation inside."""

    def __init__(self, model: PhaseModel) -> None:
        super().__init__()
        self.network = model.network

    def forward(self, velocities: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """(batch, signals, frames) m/s -> phase, frequency, amplitude, offset, manifold.

        Each of the first four is (batch, channels), the manifold (batch, 2 * channels).
        """
        encoding = self.network.encode(velocities - velocities.mean(2, keepdim=True))
        angle = 2.0 * math.pi * encoding.phase
        circle = torch.stack([torch.sin(angle), torch.cos(angle)], 2)
        manifold = (encoding.amplitude[:, :, None] * circle).flatten(1)
        return (
            encoding.phase,
            encoding.frequency,
            encoding.amplitude,
            encoding.offset,
            manifold,
        )


def export_phase_model(model: PhaseModel, path: str | Path) -> list[Parity]:
    """Write a model's encoder as ONNX: input `velocities`, outputs `OUTPUTS`.

    The file's metadata says which joints it reads, their order, rate and unit, and the
    conventions. Raises as `export_onnx` does.
    """
    signals = model.signals.names
    metadata = {
        "format": "deepphase.phase_encoder",
        "version": "1",
        "model_sha256": model.sha256,
        "signals": json.dumps(signals),
        "unit": "m/s in root space",
        "fps": f"{model.fps:g}",
        "window_frames": str(model.window),
        "conventions": CONVENTIONS,
    }
    return export_onnx(
        PhaseEncoder(model),
        path,
        inputs={"velocities": (len(signals), model.window)},
        outputs=OUTPUTS,
        cyclic=("phase",),
        metadata=metadata,
    )
