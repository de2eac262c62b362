"""A second training with the output of one that is running."""

from __future__ import annotations

import os
import re
import socket

import pytest

from deepphase.apps.cli import main
from deepphase.apps.training.command import resumable
from deepphase.errors import CheckpointError
from deepphase.training.resume import resume_point, sole_training
from deepphase.training.world import World

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("option", [[], ["--restart"], ["--resume"]])
@pytest.mark.parametrize("command", ["phase", "controller", "dance"])
def test_it_is_refused_and_the_first_keeps_its_files(command, option, tmp_path, capsys):
    work = tmp_path / "walk.out.unfinished"
    work.mkdir()
    (work / "resume.ckpt").write_bytes(b"a resume point")
    clips = tmp_path / "clips"
    clips.mkdir()
    words = ["train", command, str(clips), "-o", str(tmp_path / "walk.out"), *option]
    if command != "phase":
        words += ["--model", str(tmp_path / "walk.model")]
    with sole_training(work):
        resume_point(work / "other", {}, resume=False)
        before = sorted(work.iterdir())
        assert main(words) == 2
        with (
            pytest.raises(CheckpointError, match="another training"),
            resumable(World(), work, restart=True),
        ):
            pass
        assert sorted(work.iterdir()) == before
    error = capsys.readouterr().err
    owner = rf"another training is running here \(process {os.getpid()} on {socket.gethostname()}"
    assert re.search(rf"{owner}, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d", error)
    assert "--restart" not in error
    assert "--resume" not in error
