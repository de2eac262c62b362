"""The programs beside docs/engines.md against deepphase, and the numbers in it."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from deepphase.apps.demo import CONTROLLER
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.engine_export import engine_metadata, export_controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.export.onnx_file import export_phase_model
from deepphase.motion.clip import joint_positions
from deepphase.phase.model import PhaseModel
from deepphase.steering.goal_sources import GoalSource
from deepphase.synthetic.gait_motion import locomotion

DOCS = Path(__file__).parents[2] / "docs"
PHASES = Path(CONTROLLER).with_name("phases.model")
START = 0


def example(name: str):
    """A program beside the document as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Constant(GoalSource):
    """One velocity (x, z) in m/s and one facing."""

    def __init__(self, velocity, facing) -> None:
        self.velocity, self.facing = np.array(velocity), facing

    def trajectory(self, root_states, which, offsets_s):
        places = root_states.positions[which, None] + offsets_s[:, None] * self.velocity
        return places, np.full(places.shape[:2], self.facing)

    def target(self):
        return np.zeros((1, 2)), np.zeros(1)

    def labels(self):
        return [{}]


def characters_of(controller: Controller) -> Characters:
    settings = CharacterSettings(foot_ik=False)
    return Characters(controller, controller.starts.select([START]), settings=settings)


@pytest.fixture(scope="module")
def onnx_file(tmp_path_factory) -> str:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    controller = Controller.load(CONTROLLER)
    path = tmp_path_factory.mktemp("engine") / "controller.onnx"
    metadata = engine_metadata(controller)
    export_controller(controller.network, controller.schema, path, metadata=metadata)
    return str(path)


def test_a_character_by_the_document_moves_as_ours(onnx_file):
    theirs = example("engine_controller").Character(onnx_file, start=START)
    controller = Controller.load(CONTROLLER)
    ours = characters_of(controller)
    for index in range(240):
        velocity, facing = ((0.0, 1.5), 0.0) if index < 120 else ((1.2, 0.6), 1.1)
        frame = ours.step(Constant(velocity, facing))
        rotations, positions = theirs.step(complex(*velocity), facing)
        root = complex(*frame.positions[0])
        assert abs(theirs.places[-1] - root) < 1e-3
        assert theirs.angles[-1] == pytest.approx(frame.angles[0], abs=1e-3)
    hips = theirs.places[-1] + complex(positions[0, 0], positions[0, 2]) * np.exp(
        -1j * theirs.angles[-1]
    )
    expected = [hips.real, positions[0, 1], hips.imag]
    assert frame.translations[0, 0] == pytest.approx(expected, abs=1e-3)
    assert np.linalg.det(rotations) == pytest.approx(1.0, abs=1e-5)
    assert abs(root) > 3.0


def test_phases_by_the_document_are_ours(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model, path = PhaseModel.load(PHASES), tmp_path / "phases.onnx"
    export_phase_model(model, path)
    clip = locomotion(7, 6.0, turn_rate=0.6).clip
    ours = model.encode(clip)
    theirs = example("engine_phases").phases_of(
        str(path), joint_positions(clip), list(clip.skeleton.names)
    )
    apart = np.abs((theirs["phase"] - ours.parameters.phase + 0.5) % 1.0 - 0.5)[ours.interior]
    assert np.percentile(apart, 95) < 0.0005
    assert theirs["frequency"] == pytest.approx(ours.parameters.frequency, abs=1e-2)


def worked_frame() -> dict[str, np.ndarray]:
    """The numbers of docs/engines.md, by deepphase."""
    controller = Controller.load(CONTROLLER)
    characters, layout = characters_of(controller), controller.schema.outputs.slices
    frame = characters.step(Constant((0.0, 1.5), 0.0))
    inputs, gate = characters.network_inputs
    outputs = characters._outputs[0]
    blocks = controller.schema.inputs.slices
    return {
        "inputs: trajectory_position": inputs[0, blocks["trajectory_position"]],
        "inputs: joint_position, the first two joints": inputs[0, blocks["joint_position"]][:6],
        "gate: phase_manifold, two channels now": gate[0][60:64],
        "outputs: root_velocity": outputs[layout["root_velocity"]],
        "outputs: root_turn": outputs[layout["root_turn"]],
        "outputs: joint_rotation, the first joint": outputs[layout["joint_rotation"]][:6],
        "outputs: phase_frequency now": outputs[layout["phase_frequency"]][:5],
        "root after the step: x, z": frame.positions[0],
        "root after the step: facing": frame.angles,
        "phase after the step": frame.phases.phase[0],
        "hips after the step, in the world": frame.translations[0, 0],
        "local rotation of the first spine joint": frame.rotations[0, 1],
    }


def test_the_frame_in_the_document_is_the_code_s():
    text = (DOCS / "engines.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    stated, frame = json.loads(block), worked_frame()
    assert list(stated) == list(frame)
    for name, values in frame.items():
        assert stated[name] == pytest.approx(values.tolist(), abs=2e-4), name
