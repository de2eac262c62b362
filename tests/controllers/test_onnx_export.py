"""Controllers as ONNX: parity, names, and plain operators only."""

import json

import numpy as np
import pytest
import torch

from deepphase.controllers.runtime.engine_export import export_controller
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.export.onnx_file import PARITY_BATCHES
from tests.controllers.made_controllers import samples_for, small_controller, walking_store

onnx = pytest.importorskip("onnx", reason="the extra `onnx` is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
pytest.importorskip("onnxscript", reason="the extra `onnx` is not installed")

# No scatter, no control flow, no loops, no random numbers.
_PLAIN = {
    *("Add", "Sub", "Mul", "Div", "Mod", "Abs", "Neg", "Floor", "Reciprocal", "Clip", "Min", "Max"),
    *("MatMul", "Gemm", "Einsum", "Softmax", "Elu", "Sigmoid", "Tanh", "Sin", "Cos", "ReduceSum"),
    *("Where", "Less", "Greater", "And", "Cast", "Reshape", "Transpose", "Slice", "Split"),
    *("Concat", "Constant", "Expand", "Shape", "Squeeze", "Unsqueeze", "Identity", "Gather"),
    *("Flatten", "Pow"),
}


@pytest.fixture(scope="module")
def store():
    return walking_store()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        ("pfnn", ["inputs", "gate"], ["outputs"]),
        ("experts", ["inputs", "gate"], ["outputs"]),
        ("vinn", ["inputs", "gate", "noise"], ["outputs"]),
        ("erd", ["inputs", "hidden", "cell"], ["outputs", "next_hidden", "next_cell"]),
    ],
)
def test_raw_frames_in_raw_frames_out(tmp_path, store, name, inputs, outputs):
    samples = samples_for(name, store)
    sizes = {"spline": "natural"} if name == "pfnn" else {}
    made = small_controller(name, samples, hidden=24, **sizes)
    parity = export_controller(made, samples.schema, tmp_path / "step.onnx")
    assert {each.batch for each in parity} == set(PARITY_BATCHES)
    assert max(each.difference for each in parity) < 1e-4
    graph = onnx.load(tmp_path / "step.onnx")
    assert {node.op_type for node in graph.graph.node} <= _PLAIN
    session = onnxruntime.InferenceSession(tmp_path / "step.onnx")
    assert [each.name for each in session.get_inputs()] == inputs
    assert [each.name for each in session.get_outputs()] == outputs
    # Real frames, and more of them than were compared.
    state = made.network.initial_state(100)
    frames = [samples.inputs[:100], samples.gate[:100], *(each.numpy() for each in state)]
    with torch.inference_mode():
        expected, _ = made.step(*(torch.from_numpy(each) for each in frames[:2]), state)
    if not samples.gate.shape[1]:
        del frames[1]
    found = session.run(["outputs"], dict(zip(inputs, frames, strict=True)))[0]
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-4)
    given = {each.key: each.value for each in graph.metadata_props}
    assert ControllerSchema.from_mapping(json.loads(given["schema"])) == samples.schema
    assert json.loads(given["outputs_columns"]) == samples.schema.outputs.value_names
