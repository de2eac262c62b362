"""Captured detail: residuals of a network's steps, which runs add again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.controllers.data.captured_rows import DetailRows, detail_columns, root_values
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.samples import ControllerSamples
from deepphase.controllers.runtime.captured_motion import CharacterDetail
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.training.captured_detail import captured_detail
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError
from tests.controllers.made_controllers import data_of
from tests.controllers.test_character_goals import untrained


@pytest.fixture(scope="module")
def made(store: ClipStore) -> tuple[Controller, ControllerSamples, ControllerData]:
    """A controller that learned nothing, so that its residuals are the motion itself."""
    controller, samples = untrained("experts", store)
    data = data_of(samples, np.arange(len(samples)), np.arange(0))
    return replace(controller, detail=captured_detail(controller, data, 1.0)), samples, data


def steps(controller: Controller, samples: ControllerSamples, first: int, frames: int):
    """Inputs, gates, captured outputs and the network's of consecutive samples."""
    rows = slice(first, first + frames)
    parts = [np.array(each[rows]) for each in (samples.inputs, samples.gate, samples.outputs)]
    with torch.inference_mode():
        own = controller.network(*map(torch.from_numpy, parts[:2])).numpy()
    return *parts, own


def test_along_a_captured_stretch_it_gives_the_captured_frames(made):
    controller, samples, _ = made
    schema = controller.schema
    detail = CharacterDetail(controller.detail, schema, 1)
    inputs, gate, captured, own = steps(controller, samples, 4, 50)
    columns = detail_columns(schema)
    errors, before = [], []
    for frame in range(50):
        outputs = own[frame : frame + 1].copy()
        detail.add(outputs, inputs[[frame]], gate[[frame]], np.zeros(1, bool), [""])
        errors.append(np.abs(outputs - captured[frame])[0, columns])
        before.append(np.abs(own[frame] - captured[frame])[columns])
    pose = slice(root_values(schema), None)
    # The detail fades in within a tenth of a second.
    found = np.array(errors)[20:, pose].mean() / np.array(before)[20:, pose].mean()
    assert found < 0.1


def test_all_other_outputs_stay(made):
    controller, samples, _ = made
    detail = CharacterDetail(controller.detail, controller.schema, 1)
    inputs, gate, _, own = steps(controller, samples, 4, 1)
    outputs = own.copy()
    detail.add(outputs, inputs, gate, np.zeros(1, bool), [""])
    detail.add(outputs, inputs, gate, np.zeros(1, bool), [""])
    others = np.ones(outputs.shape[1], bool)
    others[detail_columns(controller.schema)] = False
    assert (outputs == own)[0, others].all()
    assert not (outputs == own)[0, ~others].all()


def test_a_body_at_rest_has_none_and_chooses_again_afterwards(made):
    controller, samples, _ = made
    detail = CharacterDetail(controller.detail, controller.schema, 2)
    inputs, gate, _, own = (each.repeat(2, axis=0) for each in steps(controller, samples, 4, 1))
    rests = np.array([True, False])
    outputs = own.copy()
    detail.add(outputs, inputs, gate, rests, ["", ""])
    detail.add(outputs, inputs, gate, rests, ["", ""])
    assert (outputs[0] == own[0]).all()
    assert (outputs[1] != own[1]).any()
    detail.add(outputs, inputs, gate, np.zeros(2, bool), ["", ""])
    # The first frame begins at the network's own pose.
    first = np.abs(outputs[0] - own[0]).max()
    for _ in range(10):
        outputs = own.copy()
        detail.add(outputs, inputs, gate, np.zeros(2, bool), ["", ""])
    assert first < np.abs(outputs[0] - own[0]).max()


def test_a_file_keeps_it_and_refuses_one_of_another_size(made, tmp_path):
    controller = made[0]
    config = replace(controller.config, network=controller.network.network.config)
    controller = replace(controller, config=config)
    controller.save(tmp_path / "a.controller")
    loaded = Controller.load(tmp_path / "a.controller").detail
    for name in DetailRows.__dataclass_fields__:
        assert np.array_equal(getattr(loaded, name), getattr(controller.detail, name)), name
    wrong = replace(controller.detail, units=controller.detail.units[1:])
    replace(controller, detail=wrong).save(tmp_path / "b.controller")
    with pytest.raises(CheckpointError, match="detail"):
        Controller.load(tmp_path / "b.controller")


def test_held_out_samples_are_never_in_it(made):
    controller, samples, _ = made
    start, stop = int(samples.run_starts[1]), int(samples.run_stops[1])
    rows = np.arange(len(samples))
    data = data_of(samples, rows[rows >= start], rows[rows < start])
    detail = captured_detail(controller, data, 10.0)
    assert len(detail) <= (stop - start) // detail.step + len(detail.stops)
