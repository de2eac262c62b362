"""`deepphase train editor`, `train path` and `deepphase edit` from the command line."""

import json
from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.edit.editor import MotionEditor
from deepphase.edit.effector_motion import effector_joints
from deepphase.formats.load import load, save
from deepphase.motion.clip import joint_positions
from deepphase.shipped import SHIPPED
from deepphase.synthetic.gait_motion import locomotion
from tests.formula_motion import swinging, swings

pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function that runs a command in an empty folder: its exit status and what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        status = main(list(words))
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


@pytest.fixture
def files(run, tmp_path, editor):
    """An editor, and a clip whose frames 60 to 90 are one pose, also in two parts."""
    clip, _ = swinging(1.15, 4.0, seed=3)
    rotations, translations = clip.rotations.copy(), clip.translations.copy()
    rotations[60:91], translations[60:91] = rotations[60], translations[60]
    editor.save("swing.editor")
    save(replace(clip, rotations=rotations, translations=translations), "held.bvh")
    for name, part in (("a", clip.sliced(0, 100)), ("b", clip.sliced(130, 240))):
        save(replace(part, name=name), f"{name}.bvh")
    return tmp_path


def test_train_editor(run, tmp_path):
    swings(4, 3.0).save("swings.store")
    tiny = {"network.width": 16, "network.hidden": 16, "network.window_s": 1.0}
    tiny |= {"training.windows": 160, "training.batch_size": 16, "training.held_out": 0.3}
    options = [f"--set={name}={value}" for name, value in tiny.items()]
    status, said = run("train", "editor", "swings.store", "-o", "swing.editor", *options)
    assert status == 0
    assert "a limb missing over the whole clip" in said
    trained = MotionEditor.load("swing.editor")
    assert trained.provenance["steps"] == 10
    report = json.loads((tmp_path / "swing.editor.report.json").read_text())
    assert report == json.loads(json.dumps(dict(trained.report)))
    assert (tmp_path / "swing.editor.metrics.csv").is_file()
    assert not (tmp_path / "swing.editor.unfinished").exists()


def test_repair(run, files):
    words = ["edit", "repair", "held.bvh", "--editor", "swing.editor"]
    status, said = run(*words, "-o", "a.bvh", "--player", "a.html", "--force")
    assert status == 0
    assert "frames 61-90 repeat the pose before" in said
    made, given = load("a.bvh"), load("held.bvh")
    steps = np.abs(np.diff(joint_positions(made), axis=0)).max(axis=(1, 2))
    assert steps[60:90].min() > 1e-3
    whole = np.r_[0:61, 91 : len(given)]
    assert np.abs(joint_positions(made)[whole] - joint_positions(given)[whole]).max() < 1e-6
    assert "repair: 30 of 240 frames, in which joints move by" in said
    assert "nothing is written" in run(*words)[1]
    assert (files / "a.html").stat().st_size > 10_000
    # Named damage: nothing else is looked for.
    assert run(*words, "--joints", "LeftArm", "--frames", "10-30", "-o", "out.bvh")[0] == 0
    apart = np.abs(joint_positions(load("out.bvh")) - joint_positions(given)).max(axis=2)
    frames, joints = np.nonzero(apart > 1e-4)
    assert set(joints) == {given.skeleton.index("LeftHand")}
    assert 10 <= frames.min() <= frames.max() <= 30


def test_mistakes_are_stated(run, files):
    save(locomotion(seconds=1.0, seed=0).clip, "other.bvh")
    words = ["edit", "repair", "held.bvh", "--editor", "swing.editor", "-o", "out.bvh"]
    for more, message in (
        (["--frames", "9-x"], "is not a stretch of frames"),
        (["--joints", "Tail"], "no joint 'Tail'"),
        (["-o", "held.bvh"], "would be written over its own file"),
        (["--editor", "held.bvh"], "not a deepphase file"),
    ):
        status, said = run(*words, *more)
        assert status == 2
        assert message in said
    status, said = run("edit", "repair", "other.bvh", *words[3:])
    assert status == 2
    assert "another skeleton" in said
    status, said = run("edit", "inbetween", "a.bvh", "b.bvh", *words[3:])
    assert status == 2
    assert "give --seconds for two clips" in said
    assert not (files / "out.bvh").exists()


def test_inbetween(run, files):
    words = ["edit", "inbetween", "a.bvh", "b.bvh", "--editor", "swing.editor", "-o", "c.bvh"]
    words.append("--force")
    status, said = run(*words, "--seconds", "0.02")
    assert status == 0
    assert "the way between the clips takes" in said
    assert run(*words, "--seconds", "0.5")[0] == 0
    assert len(load("c.bvh")) == 100 + 29 + 110
    keys = files / "keys.csv"
    keys.write_text("frame,time\n0,0\n30,0.5\n90,2.0\n")
    del words[3]
    assert run(*words, "--keys", "keys.csv")[0] == 0
    assert len(load("c.bvh")) == 121
    keys.write_text("frame,time\n0,0\nx,0.5\n")
    status, said = run(*words, "--keys", "keys.csv")
    assert status == 2
    assert "keys.csv:3: 'x,0.5' is not a key" in said


@pytest.fixture
def quick_style(monkeypatch):
    """Few steps of the search: how near it comes is tested in test_style.py."""
    monkeypatch.setattr("deepphase.edit.style._ITERATIONS", 10)


def test_style(run, files, quick_style):
    words = ["edit", "style", "a.bvh", "--editor", "swing.editor", "-o", "c.bvh"]
    assert run(*words, "--style", "b.bvh", "--amount", "0.5")[0] == 0
    assert len(load("c.bvh")) == 100


def test_repair_and_constrain_without_an_editor(run, tmp_path):
    clip = locomotion(0, seconds=6.0, gait="walk").clip
    drift = np.linspace(0, 0.3, len(clip))[:, None] * [1.0, 0.5, 0.0]
    save(replace(clip, translations=clip.translations + drift[:, None]), "slips.bvh")
    told = ("contacts were held", "cm of drift", "an editor of your own clips (--editor)")
    for words in ([], ["--ground"]):
        status, said = run("edit", "repair", "slips.bvh", "-o", "out.bvh", "--force", *words)
        assert status == 0
        assert all(text in said for text in told)
        apart = np.abs(joint_positions(load("out.bvh")) - joint_positions(load("slips.bvh")))
        assert apart.max() > 0.05 if words else apart.max() < 1e-6
    x, y, z = joint_positions(clip)[60, clip.skeleton.index("RightHand")] + [0.0, 0.03, 0.02]
    (tmp_path / "targets.csv").write_text(
        f"joint,frame,last,x,y,z\nRightHand,60,62,{x},{y},{z}\nLeftHand,60,60,{x},{y + 4},{z}\n"
    )
    save(clip, "walk.bvh")
    words = ["edit", "constrain", "walk.bvh", "-o", "out.bvh", "--force"]
    status, said = run(*words, "--targets", "targets.csv", "--player", "out.html")
    assert status == 0
    assert "RightHand is at its target at frames 60-62" in said
    assert "cm from its target at frame 60" in said
    made = load("out.bvh")
    hand = joint_positions(made)[60:63, made.skeleton.index("RightHand")]
    np.testing.assert_allclose(hand, np.tile([x, y, z], (3, 1)), atol=2e-3)
    status, said = run(*words)
    assert status == 2
    assert "no constraint is given" in said


def test_the_shipped_editor_says_that_it_is_used(run, quick_style):
    clip = locomotion(0, seconds=4.0).clip
    # Captures may begin with the rest pose.
    clip.rotations[160] = [0.0, 0.0, 0.0, 1.0]
    for name, part in (("a", clip.sliced(0, 100)), ("b", clip.sliced(160, len(clip)))):
        save(part, f"{name}.bvh")
    status, said = run("edit", "inbetween", "a.bvh", "b.bvh", "--seconds", "1", "-o", "c.bvh")
    assert status == 0
    assert "the editor is one shipped with the package" in said
    assert "b.bvh: left out: frame 0 is a pose apart from all that follows" in said
    said = run("edit", "repair", "a.bvh", "--frames", "30-70", "-o", "out.bvh")[1]
    assert "the editor is one shipped with the package" in said
    assert run("edit", "style", "a.bvh", "--style", "b.bvh", "-o", "styled.bvh")[0] == 0
    status, said = run("edit", "path", str(SHIPPED["editor"].path), "wave", "-o", "way.bvh")
    assert status == 2
    assert "train path STORE" in said


def test_paths(run, tmp_path, walks, walker):
    walks.save("walks.store")
    walker.save("walk.editor")
    of_editor = tmp_path / "walk.editor.metrics.csv"
    of_editor.write_text("those of the editor's own training\n")
    train = ["train", "path", "walks.store", "--editor", "walk.editor", "-o", "walk.editor"]
    train += ["--windows", "64", "--set=trainer.accelerator=cpu"]
    assert run(*train)[0] == 0
    assert of_editor.read_text().startswith("those of the editor")
    assert (tmp_path / "walk.editor.path.metrics.csv").is_file()
    words = ["edit", "path", "walk.editor", "wave", "--seconds", "3"]
    assert run(*words, "-o", "out.bvh", "--player", "p.html")[0] == 0
    assert len(load("out.bvh")) == 91
    assert "give --speed" in run(*words, "--speed", "9", "-o", "fast.bvh")[1]
    (tmp_path / "bad.csv").write_text("t,x,z\n0,0,0\n1,nan,1\n")
    status, said = run("edit", "path", "walk.editor", "bad.csv", "-o", "bad.bvh")
    assert status == 2
    assert "bad.csv:3: x 'nan'" in said
    hand = next(iter(effector_joints(walker.space)))
    (tmp_path / "punch.csv").write_text(
        f"t,joint,x,y,z\n0,{hand},0.2,1,0.1\n1,{hand},0.1,1.1,0.4\n"
    )
    words = ["edit", "path", "walk.editor", "punch.csv", "-o", "out.bvh", "--force"]
    status, said = run(*words)
    assert status == 2
    assert "train path STORE --effectors" in said
    assert run(*train, "--effectors")[0] == 0
    trained = MotionEditor.load("walk.editor")
    assert trained.path is not None
    assert run(*words)[0] == 0
    assert len(load("out.bvh")) == round(trained.fps) + 1
    save(walks.clip(0), "walk.bvh")
    words[3] = "walk.bvh"
    assert run(*words, "--joints", hand)[0] == 0
    assert len(load("out.bvh")) > round(trained.fps)
