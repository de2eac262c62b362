"""The file of a controller, and the moments that runs begin with."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.captured_rows import RestRows
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.runtime.controller import FORMAT, VERSION, Controller
from deepphase.errors import CheckpointError
from deepphase.formats.array_file import read_arrays, write_arrays
from tests.controllers.made_controllers import (
    FormulaPhases,
    samples_for,
    small_controller,
    walking_store,
)


@pytest.fixture(scope="module")
def controller() -> Controller:
    store = walking_store()
    samples = samples_for("experts", store)
    config = ControllerConfig.load("experts", **{"network.hidden": 8, "network.experts": 2})
    network = small_controller("experts", samples, hidden=8, experts=2)
    starts = InitialStates.from_samples(samples, np.array([0, 5, len(samples) - 1]))
    rest = RestRows.from_clips(store, [0, 1], samples.schema)
    return Controller(config, samples.schema, network, store.skeleton, starts, rest)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("starts.frames", np.zeros(2, np.int64)),
        ("starts.inputs", np.zeros((3, 7), np.float32)),
        ("inputs.mean", np.zeros(7, np.float32)),
        ("network.layer_in.weight", np.zeros((2, 7, 8), np.float32)),
        ("skeleton.parents", np.zeros(3, np.int64)),
        ("rest.stops", np.array([7])),
    ],
)
def test_arrays_that_do_not_fit_the_header_are_refused(controller, part, value, tmp_path):
    controller.save(tmp_path / "whole")
    arrays, header = read_arrays(tmp_path / "whole", format=FORMAT, version=VERSION)
    changed = {**{name: np.array(each) for name, each in arrays.items()}, part: value}
    write_arrays(tmp_path / "changed", changed, header, format=FORMAT, version=VERSION)
    with pytest.raises(CheckpointError, match="do not fit"):
        Controller.load(tmp_path / "changed")


def test_the_file_keeps_the_moments_of_rest_and_files_before_them_are_refused(controller, tmp_path):
    controller.save(tmp_path / "whole")
    read = Controller.load(tmp_path / "whole")
    np.testing.assert_array_equal(read.rest.outputs, controller.rest.outputs)
    np.testing.assert_array_equal(read.rest.stops, controller.rest.stops)
    assert (read.rest.styles, read.rest.captured) == (("",), False)
    replace(controller, rest=None).save(tmp_path / "none")
    assert Controller.load(tmp_path / "none").rest is None
    write_arrays(tmp_path / "older", {}, {}, format=FORMAT, version=VERSION - 1)
    with pytest.raises(CheckpointError, match="version"):
        Controller.load(tmp_path / "older")


def test_other_files_are_refused(tmp_path):
    write_arrays(tmp_path / "other", {}, {}, format="deepphase.store", version=1)
    with pytest.raises(CheckpointError, match=r"deepphase\.store"):
        Controller.load(tmp_path / "other")


def test_moments_of_samples_and_of_clips_are_the_same(controller):
    store, starts = walking_store(), controller.starts
    for index, (name, frame) in enumerate(zip(starts.names, starts.frames, strict=True)):
        clip = store.clip(store.names.index(name))
        found = InitialStates.from_clip(clip, frame, controller.schema, FormulaPhases())
        np.testing.assert_allclose(found.inputs[0], starts.inputs[index], atol=1e-6)
        np.testing.assert_allclose(found.gate[0], starts.gate[index], atol=1e-6)
