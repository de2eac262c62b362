"""A phase model for other engines: windows of velocities in, phase parameters out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from torch import Tensor, nn

from deepphase.errors import ParameterError
from deepphase.export.onnx_file import Parity, export_onnx
from deepphase.motion.root_trajectory import FACING_SMOOTHING_S, VECTOR_SMOOTHING_S
from deepphase.phase.body_points import PointVelocities
from deepphase.phase.clip_phases import CONVENTIONS
from deepphase.phase.model import PhaseModel
from deepphase.phase.signals import JointVelocities

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

    The file's metadata says which joints it reads, their order, rate and unit, how their root space
    is found, and the conventions. Raises as `export_onnx` does, and ParameterError for a model for
    any skeleton that is not bound to one.
    """
    if isinstance(model.signals, PointVelocities):
        raise ParameterError(
            "a model for any skeleton cannot be exported",
            hint="`deepphase train phase CLIPS --start MODEL` makes the model of one skeleton",
        )
    signals = model.signals.names
    body = model.signals.body if isinstance(model.signals, JointVelocities) else {}
    metadata = {
        "format": "deepphase.phase_encoder",
        "version": "1",
        "model_sha256": model.sha256,
        "signals": json.dumps(signals),
        "unit": "m/s in root space",
        "fps": f"{model.fps:g}",
        "window_frames": str(model.window),
        "facing": json.dumps(dict(body)),
        "facing_smoothing_s": json.dumps([VECTOR_SMOOTHING_S, FACING_SMOOTHING_S]),
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
