"""Training of editors: repair of held-out motion, resuming bit for bit, files."""

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.editor import MotionEditor
from deepphase.edit.report import report_lines
from deepphase.edit.training import train_editor
from deepphase.errors import CheckpointError, ParameterError, SkeletonError
from deepphase.formats.array_file import read_arrays, write_arrays
from tests.edit.conftest import tiny_config
from tests.formula_motion import swinging

pytestmark = pytest.mark.slow


def test_held_out_gaps_are_repaired_better_than_by_interpolation(editor):
    report = editor.report
    for gap in ("0.25", "0.5", "1"):
        assert report["gaps"][gap]["editor_m"] < 0.7 * report["gaps"][gap]["linear_m"]
    assert report["limb"]["editor_m"] < 0.5 * report["limb"]["linear_m"]
    assert 0 < report["reconstruction_m"] < 0.1
    assert any("1 s without any joint" in line for line in report_lines(report))


def test_editor_file_round_trip(editor, tmp_path):
    path = tmp_path / "swing.editor"
    editor.save(path)
    again = MotionEditor.load(path)
    clip, _ = swinging(1.1, 3.0, fps=30.0)
    rows, _ = editor.space.rows(clip)
    known = np.ones((len(rows), 14), np.float32)
    known[20:40] = 0
    one, two = (each.restored(rows, known).array() for each in (editor, again))
    np.testing.assert_array_equal(one, two)
    assert again.report == editor.report
    assert again.provenance["held_out"] == editor.provenance["held_out"] != []
    np.testing.assert_array_equal(again.statistics.roughness, editor.statistics.roughness)


def test_changed_files_are_refused(editor, tmp_path):
    path = tmp_path / "swing.editor"
    editor.save(path)
    arrays, header = read_arrays(path, format="deepphase.editor", version=2)
    arrays = {name: np.array(each) for name, each in arrays.items()}
    for name, value in (
        ("normalisation.mean", arrays["normalisation.mean"][:-1]),
        ("points.carriers", arrays["points.carriers"] + 99),
        ("statistics.spread", arrays["statistics.spread"][1:]),
    ):
        write_arrays(path, arrays | {name: value}, header, format="deepphase.editor", version=2)
        with pytest.raises(CheckpointError, match="do not fit"):
            MotionEditor.load(path)


def test_clips_that_cannot_be_learnt_from_are_refused(tmp_path):
    short = ClipStore.from_clips([swinging(1.0, 0.5)[0]])
    with pytest.raises(ParameterError, match="no clip is as long as a window"):
        train_editor(short, tiny_config(), folder=tmp_path)
    few = ClipStore.from_clips([swinging(1.0, 2.0)[0]])
    with pytest.raises(ParameterError, match="fewer than one batch"):
        train_editor(few, tiny_config(**{"training.batch_size": 999}), folder=tmp_path)
    arm = swinging(1.0, 3.0)[0]
    with pytest.raises(SkeletonError, match="left and a right foot"):
        train_editor(ClipStore.from_clips([_without_legs(arm)]), tiny_config(), folder=tmp_path)


def _without_legs(clip):
    from dataclasses import replace

    from deepphase.motion.skeleton import Skeleton

    kept = [0, *range(7, 13)]
    names = tuple(clip.skeleton.names[joint] for joint in kept)
    parents = np.array([-1, 0, 1, 2, 1, 4, 1])
    skeleton = Skeleton(names, parents, clip.skeleton.offsets[kept])
    return replace(clip, skeleton=skeleton, rotations=clip.rotations[:, kept])
