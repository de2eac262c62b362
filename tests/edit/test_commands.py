"""`deepphase train editor` and `deepphase edit` from the command line, on motion by formula."""

import json
from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.edit.editor import MotionEditor
from deepphase.formats.load import load, save
from deepphase.motion.kinematics import joint_positions
from deepphase.synthetic.gait_motion import locomotion
from tests.edit.conftest import swings
from tests.formula_motion import swinging

TINY = ["--set=network.width=16", "--set=network.hidden=16", "--set=network.window_s=1.0"]
TINY += [
    "--set=training.windows=160",
    "--set=training.batch_size=16",
    "--set=training.held_out=0.3",
]


@pytest.mark.slow
def test_train_editor(tmp_path, capsys):
    store, output = tmp_path / "swings.store", tmp_path / "swing.editor"
    swings(4, 3.0).save(store)
    assert main(["train", "editor", str(store), "-o", str(output), *TINY]) == 0
    printed = capsys.readouterr()
    assert "a limb missing over the whole clip" in printed.out + printed.err
    trained = MotionEditor.load(output)
    assert trained.provenance["steps"] == 10
    report = json.loads((tmp_path / "swing.editor.report.json").read_text())
    assert report == json.loads(json.dumps(dict(trained.report)))
    assert (tmp_path / "swing.editor.metrics.csv").is_file()
    assert not (tmp_path / "swing.editor.unfinished").exists()


@pytest.fixture
def files(tmp_path, editor):
    """Files of an editor and of a clip whose frames 60 to 90 are one pose."""
    clip, _ = swinging(1.15, 3.0, seed=3)
    rotations, translations = clip.rotations.copy(), clip.translations.copy()
    rotations[60:91], translations[60:91] = rotations[60], translations[60]
    editor.save(tmp_path / "swing.editor")
    save(replace(clip, rotations=rotations, translations=translations), tmp_path / "held.bvh")
    return tmp_path


@pytest.mark.slow
def test_edit_repair(files, capsys):
    words = ["edit", "repair", str(files / "held.bvh"), "--editor", str(files / "swing.editor")]
    assert main([*words, "-o", str(files / "a.bvh"), "--player", str(files / "a.html")]) == 0
    printed = capsys.readouterr()
    assert "frames 61-90 repeat the pose before" in printed.out + printed.err
    made, given = load(files / "a.bvh"), load(files / "held.bvh")
    steps = np.abs(np.diff(joint_positions(made), axis=0)).max(axis=(1, 2))
    assert steps[60:90].min() > 1e-3
    whole = np.r_[0:61, 91 : len(given)]
    apart = joint_positions(made)[whole] - joint_positions(given)[whole]
    assert np.abs(apart).max() < 1e-4
    assert (files / "a.html").stat().st_size > 10_000
    # Named damage: nothing else is looked for.
    named = ["--joints", "LeftArm", "--frames", "10-30", "-o", str(files / "b.bvh")]
    assert main([*words, *named]) == 0
    other = load(files / "b.bvh")
    apart = np.abs(joint_positions(other) - joint_positions(given)).max(axis=2)
    moved = np.argwhere(apart > 1e-4)
    assert set(moved[:, 1]) == {given.skeleton.index("LeftHand")}
    assert moved[:, 0].min() >= 10
    assert moved[:, 0].max() <= 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--frames", "9-x"], "is not a stretch of frames"),
        (["--frames", "170-190"], "which has frames 0-179"),
        (["--joints", "Tail"], "no joint 'Tail'"),
        (["-o", "{files}/held.bvh"], "would be written over its own file"),
        (["-o", "{files}/held.mov"], "cannot be written as .mov"),
        (["--editor", "{files}/held.bvh"], "not a deepphase file"),
    ],
)
def test_mistakes_are_stated(files, capsys, words, message):
    words = [word.format(files=files) for word in words]
    known = ["--editor", str(files / "swing.editor"), "-o", str(files / "out.bvh")]
    assert main(["edit", "repair", str(files / "held.bvh"), *known, *words]) == 2
    assert message in capsys.readouterr().err
    assert not (files / "out.bvh").exists()


@pytest.mark.slow
def test_clips_of_another_skeleton_are_refused(files, capsys):
    save(locomotion(seconds=1.0, seed=0).clip, files / "other.bvh")
    words = ["--editor", str(files / "swing.editor"), "-o", str(files / "out.bvh")]
    assert main(["edit", "repair", str(files / "other.bvh"), *words]) == 2
    assert "another skeleton" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["repair", "inbetween"])
def test_the_body_is_the_editors(command, capsys):
    """A description of the skeleton belongs to the training, whose editor states it."""
    words = ["edit", command, "a.bvh", "-o", "b.bvh", "--skeleton-description", "mine.yaml"]
    assert main(words) == 2
    assert "unrecognized arguments" in capsys.readouterr().err
