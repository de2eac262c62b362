"""Nothing that took work is replaced without --force, but a report of the same inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepphase.apps.cli import main
from deepphase.apps.options import claim, claim_file, claim_folder, protected
from deepphase.errors import ParameterError
from deepphase.formats.load import save
from deepphase.formats.points import save_points
from deepphase.motion.clip import joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.synthetic.gait_motion import locomotion


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


def write_page(folder: Path, model: str, *, force: bool = False) -> None:
    with protected("figures", {"model": model, "output": folder}, force=force):
        claim_folder(folder)
        (folder / "index.html").write_text(model)
        claim_file(folder / "player.html")
        (folder / "player.html").write_text(model)


def test_a_report_is_replaced_by_one_of_the_same_inputs(tmp_path):
    for _ in range(2):
        write_page(tmp_path, "a")
    with pytest.raises(ParameterError, match="other inputs"):
        write_page(tmp_path, "b")
    write_page(tmp_path, "b", force=True)
    with pytest.raises(ParameterError, match="other inputs"):
        write_page(tmp_path, "a")
    with protected("play", {}, force=False), pytest.raises(ParameterError, match="other inputs"):
        claim(tmp_path / "player.html")


def test_what_a_command_adds_to_may_be_its_output(tmp_path):
    own = tmp_path / "own.editor"
    own.touch()
    with protected("train path", {"editor": own}, force=False):
        claim(own)
