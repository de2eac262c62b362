"""Editors as ONNX files, and the program beside docs/engines.md that makes in-betweens with one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.edit.editor import MotionEditor, export_editor
from deepphase.edit.motion_rows import MotionRows
from deepphase.motion.clip import global_transforms
from deepphase.motion.resample import resample
from deepphase.motion.retarget import retarget
from deepphase.shipped import SHIPPED
from deepphase.synthetic.gait_motion import locomotion

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[2] / "docs" / "examples" / "engine_editor.py"


@pytest.fixture(scope="module")
def shipped() -> MotionEditor:
    return MotionEditor.load(SHIPPED["editor"].path)


@pytest.fixture(scope="module")
def exported(shipped, tmp_path_factory):
    """Parity, and the file as the program beside the document reads it."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    path = tmp_path_factory.mktemp("editor") / "editor.onnx"
    parity = export_editor(shipped, path)
    spec = importlib.util.spec_from_file_location("engine_editor", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return parity, module.Editor(str(path))


@pytest.fixture(scope="module")
def walk(shipped):
    """A walk on the editor's body at its rate: the clip, its rows and its root."""
    clip = retarget(locomotion(3, 5.0).clip, shipped.space.skeleton).clip
    clip = shipped.space.on_hips(resample(clip, shipped.fps))
    return clip, *shipped.space.rows(clip)


def rows_by_the_document(theirs, ours, clip, rows, root) -> np.ndarray:
    rotations, places = (each[:, ours.space.points.joints] for each in global_transforms(clip))
    turned = Rotation.from_quat(rotations.reshape(-1, 4)).as_matrix().swapaxes(-1, -2)
    place = root.positions[:, 0] + 1j * root.positions[:, 2]
    floor = ours.space.floor(rows, clip)
    turned = turned.reshape(*rotations.shape[:2], 3, 3)
    return theirs.rows(turned, places, place, root.angles, rows.contacts, floor)


def test_the_file_restores_as_the_editor(exported, shipped):
    parity, theirs = exported
    assert max(each.difference for each in parity) < 1e-4
    rng = np.random.default_rng(0)
    mean, scale = vars(shipped.normalisation).values()
    # A number of frames that was not compared.
    values = (mean + scale * rng.standard_normal((148, len(mean)))).astype(np.float32)
    known = np.ones((148, len(shipped.layout.depends)), np.float32)
    known[40:80], known[100:120, 4], known[:, 6], known[3:9, 8] = 0, 0, 0, 0.5
    rows = MotionRows.from_array(values, len(shipped.space.points))
    for given in (known, np.ones_like(known)):
        expected = shipped.restored(rows, given).array()
        np.testing.assert_allclose(theirs.restored(values, given), expected, atol=1e-4)


def test_rows_and_poses_by_the_document_are_ours(exported, shipped, walk):
    clip, rows, root = walk
    theirs = exported[1]
    values = rows_by_the_document(theirs, shipped, clip, rows, root)
    np.testing.assert_allclose(values, rows.array(), atol=1e-5)
    local, hips = theirs.pose(values)
    ours = shipped.space.points.rotations(rows.points)
    turned = Rotation.from_quat(ours.reshape(-1, 4)).as_matrix().reshape(local.shape)
    np.testing.assert_allclose(local, turned.swapaxes(-1, -2), atol=1e-5)
    np.testing.assert_allclose(hips, rows.points[:, 0], atol=1e-6)


def test_in_betweens_by_the_document_are_nearer_than_straight_lines(exported, shipped, walk):
    clip, rows, root = walk
    theirs = exported[1]
    values = rows_by_the_document(theirs, shipped, clip, rows, root)
    first, stop = len(values) // 2 - 10, len(values) // 2 + 10
    share = ((np.arange(first, stop) - first + 1) / (stop - first + 1))[:, None]
    straight = (1.0 - share) * values[first - 1] + share * values[stop]
    given = values.copy()
    given[first:stop] = 0.0  # what is unknown may be anything
    # The engine knows the path of its character: velocities that lead from one end to the other.
    given[first - 1 : stop, theirs_root(theirs)] = values[first - 1 : stop, theirs_root(theirs)]
    made = theirs.between(given, first, stop)
    points = slice(0, 3 * len(theirs.carriers))

    def error(motion: np.ndarray) -> float:
        apart = (motion - values[first:stop])[:, points].reshape(stop - first, -1, 3)
        return float(np.linalg.norm(apart, axis=-1).mean())

    assert error(made[first:stop]) < 0.5 * error(straight)
    np.testing.assert_array_equal(
        np.delete(made, np.s_[first:stop], 0), np.delete(given, np.s_[first:stop], 0)
    )
    steps = np.abs(np.diff(made[:, points], axis=0)).max(axis=1)
    assert (
        steps[first - 1 : stop + 1].max() < 1.5 * np.abs(np.diff(values[:, points], axis=0)).max()
    )


def theirs_root(theirs) -> slice:
    """The columns of the root's velocities."""
    start = 3 * len(theirs.carriers)
    return slice(start, start + 3)
