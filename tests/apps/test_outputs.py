"""Nothing that took work is replaced without --force, but a report of the same inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepphase.apps.cli import main
from deepphase.apps.options import claim, claim_file, claim_folder, protected
from deepphase.errors import ParameterError
from deepphase.formats.load import save
from deepphase.synthetic.gait_motion import locomotion


def test_a_store_is_replaced_by_force_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save(locomotion(1, 1.0).clip, "walk.bvh")
    words = ["prepare", "walk.bvh", "-o", "mocap.store"]
    assert [main(words), main(words), main([*words, "--force"])] == [0, 2, 0]
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
