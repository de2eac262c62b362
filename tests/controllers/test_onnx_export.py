"""Controllers as ONNX: parity, names, plain operators only, and runs in PyTorch's place."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from deepphase.arrays import Array
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.engine_export import export_controller
from deepphase.controllers.runtime.network_state import RunningNetwork
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.export.onnx_file import PARITY_BATCHES
from deepphase.steering.goal_sources import PathGoals
from deepphase.steering.path import circle
from deepphase.steering.run import rollout
from tests.controllers.made_controllers import samples_for, small_controller

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


class OnnxNetwork(RunningNetwork):
    """The network of a controller's file; the controller draws noise and blends weights."""

    def __init__(self, controller: Controller, path: Path, characters: int, seed: int) -> None:
        super().__init__(controller.network, characters, seed)
        self._session = onnxruntime.InferenceSession(path)
        metadata = self._session.get_modelmeta().custom_metadata_map
        schema = ControllerSchema.from_mapping(json.loads(metadata["schema"]))
        assert schema == controller.schema
        self._names = controller.network.network.state_names
        self._gated = controller.schema.gate is not None
        self._outputs = [each.name for each in self._session.get_outputs()]

    def step(self, inputs: Array, gate: Array) -> Array:
        tensors = {"inputs": inputs} | ({"gate": gate} if self._gated else {})
        state = (each.cpu().numpy() for each in self._state)
        tensors |= dict(zip(self._names, state, strict=True))
        results = dict(zip(self._outputs, self._session.run(None, tensors), strict=True))
        if len(results) > 1:
            self._state = tuple(torch.from_numpy(results[f"next_{name}"]) for name in self._names)
        return results["outputs"]


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
    # Characters move as by PyTorch; their noise is drawn from the same seed.
    config, skeleton = ControllerConfig.load(name), store.clip(0).skeleton
    starts = InitialStates.from_samples(samples, np.array([3, 40, 90]))
    controller = Controller(config, samples.schema, made, skeleton, starts)
    ours, theirs = (
        rollout(
            Characters(controller, starts, seed=1, network=network),
            PathGoals(circle(1.3, 5.0, 10.0), np.zeros((3, 2))),
            0.3,
        )
        for network in (None, OnnxNetwork(controller, tmp_path / "step.onnx", 3, seed=1))
    )
    np.testing.assert_allclose(ours.positions, theirs.positions, atol=1e-3)
    np.testing.assert_allclose(ours.translations, theirs.translations, atol=1e-3)
