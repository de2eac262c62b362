"""Any network as an ONNX file with named inputs and outputs, checked in ONNX Runtime."""

from __future__ import annotations

import json
import logging
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deepphase.errors import CheckpointError, ParameterError
from deepphase.files import atomic_write
from deepphase.motion.root_trajectory import FACING_SMOOTHING_S, VECTOR_SMOOTHING_S
from deepphase.packages import extra_packages
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import CONVENTIONS
from deepphase.phase.signals import JointVelocities, PointVelocities

# The first of which all engines of today know every operator that is used here.
OPSET = 18
PARITY_BATCHES = (1, 7, 32)
_MOST_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Parity:
    """Largest absolute difference of an output from the network's, at a number of rows."""

    batch: int
    output: str
    difference: float


def export_onnx(
    module: nn.Module,
    path: str | Path,
    *,
    inputs: Mapping[str, Tensor | Sequence[int]],
    outputs: Sequence[str],
    frames_multiple: int = 0,
    cyclic: Sequence[str] = (),
    metadata: Mapping[str, str] | None = None,
) -> list[Parity]:
    """Write a module, in evaluation mode, as ONNX; the differences at batches of 1, 7 and 32.

    Its arguments are the inputs in their order, and it returns one tensor, or a tuple of them,
    named `outputs`, with the batch first. `inputs`: name -> (32, ...) rows to compare with, or the
    shape of a row, of which normal noise is compared. With `frames_multiple`, the second axis of
    the inputs is free in multiples of it. `cyclic` outputs are in cycles: -0.5 and 0.5 are the
    same. `metadata` is what the file says of itself.

    Raises ParameterError where packages are missing, and CheckpointError where an output differs by
    more than 1e-4, or the file cannot be written; the file then does not appear.
    """
    with extra_packages("ONNX files"):
        import onnx
        import onnxruntime
        import onnxscript  # noqa: F401 (the exporter's own need)
    generator = torch.Generator().manual_seed(0)
    examples = {
        name: each
        if isinstance(each, Tensor)
        else torch.randn(max(PARITY_BATCHES), *each, generator=generator)
        for name, each in inputs.items()
    }
    free = {0: torch.export.Dim("batch")}
    if frames_multiple:
        free[1] = frames_multiple * torch.export.Dim("frames_parts")
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            module.eval(),
            tuple(value[: PARITY_BATCHES[1]] for value in examples.values()),
            dynamo=True,
            opset_version=OPSET,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=(free,) * len(examples),
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    # Where the exporter noted our own files' places.
    for node in model.graph.node:
        del node.metadata_props[:]
    onnx.helper.set_model_props(model, dict(metadata or {}))
    onnx.checker.check_model(model, full_check=True)
    written = model.SerializeToString()
    session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
    parity = _compared(module, session, examples, outputs, cyclic)
    worst = max(parity, key=lambda each: each.difference)
    if not worst.difference <= _MOST_DIFFERENCE:
        raise CheckpointError(
            f"the exported {worst.output} differs by {worst.difference:.2g} at a batch of "
            f"{worst.batch}, so nothing was written",
            hint=(f"at most {_MOST_DIFFERENCE:g} is allowed: update PyTorch, onnx and onnxruntime"),
            path=path,
        )
    with atomic_write(path) as file:
        file.write(written)
    return parity


def _compared(
    module: nn.Module,
    session: Any,
    examples: Mapping[str, Tensor],
    outputs: Sequence[str],
    cyclic: Sequence[str],
) -> list[Parity]:
    parity = []
    for batch in PARITY_BATCHES:
        part = {name: value[:batch] for name, value in examples.items()}
        with torch.inference_mode():
            expected = module(*part.values())
        expected = expected if isinstance(expected, tuple) else (expected,)
        found = session.run(list(outputs), {name: value.numpy() for name, value in part.items()})
        for name, ours, theirs in zip(outputs, expected, found, strict=True):
            difference = np.asarray(theirs) - ours.numpy()
            if name in cyclic:
                difference -= np.round(difference)
            parity.append(Parity(batch, name, float(np.abs(difference).max())))
    return parity


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps the exporter's advice on packages that we do not use out of the terminal."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


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
        return (*encoding[:4], manifold)


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
