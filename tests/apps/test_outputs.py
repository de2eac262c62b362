"""Nothing that took work is replaced without --force, but a report of the same inputs."""

from __future__ import annotations

import pytest

from deepphase.apps.cli import main
from deepphase.apps.input_checks import claim, protected
from deepphase.formats.load import save
from deepphase.formats.points import save_points
from deepphase.motion.clip import joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.shipped import SHIPPED
from deepphase.synthetic.gait_motion import locomotion
from tests.compatibility.test_formats import _FILES as FILES


@pytest.mark.parametrize(
    "words",
    [
        "prepare walk.bvh -o mocap.store",
        "convert walk.bvh -o out.bvh",
        "convert clips -o out",
        "solve points.npz -o solved.bvh",
        "edit repair walk.bvh -o whole.bvh",
    ],
)
def test_a_result_is_replaced_by_force_alone(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    walk = locomotion(1, 1.0).clip
    save(walk, "walk.bvh")
    (tmp_path / "clips").mkdir()
    save(walk, "clips/walk.bvh")
    save_points(PointTrack(walk.skeleton.names, joint_positions(walk), walk.fps), "points.npz")
    given = words.split()
    assert [main(given), main(given), main([*given, "--force"])] == [0, 2, 0]
    assert "a result already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "beside"),
    [
        ("train phase walk.bvh -o out.model", "out.model.report/index.html"),
        ("train rig walk.bvh -o out.rig", "out.rig.report.json"),
        (f"export {SHIPPED['person'].path} -o out.onnx", "out.search.onnx"),
        (f"evaluate {SHIPPED['any_skeleton'].path} walk.bvh -o out", "out/index.html"),
        (f"figures {SHIPPED['any_skeleton'].path} walk.bvh -o out", "out/index.html"),
        (f"control {FILES}/experts.controller --path circle -o out", "out/index.html"),
        (f"match query {FILES}/motion.db walk_1 --frame 6 -o out", "out/index.html"),
        (f"match run {FILES}/motion.db --path circle -o out", "out/index.html"),
        ("fit ground walk.bvh -o out", "out/index.html"),
        ("fit ball walk.bvh -o out", "out/index.html"),
        (f"dance {FILES}/song.ogg -o out", "out/index.html"),
        (f"control {FILES}/experts.controller --path circle -o out", "out/circle.bvh"),
        (f"match query {FILES}/motion.db walk_1 --frame 6 -o out", "out/match_01.bvh"),
        (f"match run {FILES}/motion.db --path circle -o out", "out/circle.frames.csv"),
        ("fit ground walk.bvh -o out", "out/walk.npz"),
        ("fit ball walk.bvh -o out", "out/walk.ball"),
        (f"dance {FILES}/song.ogg -o out", "out/song.bvh"),
        (f"evaluate {SHIPPED['any_skeleton'].path} walk.bvh -o out", "out/report.json"),
        (f"encode {SHIPPED['any_skeleton'].path} walk.bvh --csv -o out", "out/walk.phases.csv"),
        ("play walk.bvh -o out.html", "out.html"),
        ("edit repair walk.bvh -o whole.bvh --player out.html", "out.html"),
    ],
)
def test_reports_of_other_inputs_stay(words, beside, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save(locomotion(1, 1.0).clip, "walk.bvh")
    (tmp_path / beside).parent.mkdir(exist_ok=True)
    (tmp_path / beside).write_text("another report")
    assert main(words.split()) == 2
    assert "already" in capsys.readouterr().err
    assert (tmp_path / beside).read_text() == "another report"


def test_a_report_is_replaced_by_one_of_the_same_inputs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        save(locomotion(1, 1.0).clip, f"{name}.bvh")
    one, two = (["play", f"{name}.bvh", "-o", "out.html"] for name in ("one", "two"))
    assert [main(words) for words in (one, one, two, [*two, "--force"], one)] == [0, 0, 2, 0, 2]
    assert capsys.readouterr().err.count("other inputs") == 2


def test_what_a_command_adds_to_may_be_its_output(tmp_path):
    own = tmp_path / "own.editor"
    own.touch()
    with protected("train path", {"editor": own}, force=False):
        claim(own)
