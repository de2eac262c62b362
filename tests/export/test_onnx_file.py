import json
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import nn

from deepphase.errors import CheckpointError
from deepphase.export import onnx_file
from deepphase.export.onnx_file import (
    OPSET,
    OUTPUTS,
    PARITY_BATCHES,
    export_onnx,
    export_phase_model,
)
from deepphase.phase.config import PhaseConfig
from deepphase.phase.encoding import make_autoencoder
from deepphase.phase.model import PhaseModel
from deepphase.phase.signals import JointVelocities

pytestmark = pytest.mark.slow

onnx = pytest.importorskip("onnx", reason="the extra `onnx` is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
pytest.importorskip("onnxscript", reason="the extra `onnx` is not installed")

# Operators that engines implement for networks of any kind; no DFT, no control flow, no loops.
_PLAIN = {
    *("Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Reciprocal", "Neg", "Abs"),
    *(
        "MatMul",
        "Gemm",
        "Einsum",
        "Conv",
        "ReduceMean",
        "ReduceSum",
        "Softmax",
        "BatchNormalization",
    ),
    *("Sin", "Cos", "Atan", "Tanh", "Sigmoid", "Elu", "Clip", "BatchNormalization"),
    *("Where", "Less", "Greater", "Equal", "IsNaN", "Not", "And", "Or", "Cast"),
    *("Reshape", "Transpose", "Shape", "Slice", "Squeeze", "Unsqueeze", "Gather", "Expand"),
    *("Concat", "Constant", "Identity"),
}


def small_model(preset: str) -> PhaseModel:
    torch.manual_seed(3)
    recipe = PhaseConfig.load("default" if preset == "sine_fit" else preset)
    network = replace(recipe.network, preset=preset, channels=3, window_s=1.0, kernel_s=0.5)
    signals = JointVelocities(("Hips", "LeftFoot"), 60.0)
    made = make_autoencoder(6, 60.0, network)
    for parameter in made.parameters():  # the phase layer begins at zero
        parameter.data += 0.02 * torch.randn_like(parameter)
    return PhaseModel(made, PhaseConfig(network, recipe.training), signals)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Preset -> its model, file and parity, made at the first call: an export takes seconds."""
    folder = tmp_path_factory.mktemp("exported")

    @cache
    def of(preset: str):
        model, path = small_model(preset), folder / f"{preset}.onnx"
        return model, path, export_phase_model(model, path)

    return of


@pytest.mark.parametrize("preset", ["sine_fit", "paper", "released_v2"])
def test_an_encoder_is_exported_to_plain_operators_with_parity(exported, preset):
    model, path, parity = exported(preset)
    assert {each.batch for each in parity} == set(PARITY_BATCHES)
    assert {each.output for each in parity} == set(OUTPUTS)
    assert max(each.difference for each in parity) < 1e-4
    graph = onnx.load(path)
    assert {node.op_type for node in graph.graph.node} <= _PLAIN
    assert [each.version for each in graph.opset_import if each.domain == ""] == [OPSET]
    given = {each.key: each.value for each in graph.metadata_props}
    assert json.loads(given["signals"]) == model.signals.names
    assert given["model_sha256"] == model.sha256


def test_nothing_of_this_machine_is_in_the_file(exported):
    written = exported("sine_fit")[1].read_bytes()
    assert b"site-packages" not in written
    assert b".py" not in written


def test_a_file_that_differs_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_file, "_MOST_DIFFERENCE", -1.0)
    with pytest.raises(CheckpointError, match="differs by"):
        export_onnx(nn.Linear(3, 2), tmp_path / "x.onnx", inputs={"x": (3,)}, outputs=("y",))
    assert list(tmp_path.iterdir()) == []
