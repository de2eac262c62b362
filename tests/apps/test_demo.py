"""`deepphase demo`: its folder, its page, and refusals."""

from __future__ import annotations

import html
import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from deepphase.apps import cli
from deepphase.apps.cli import COMMANDS, command_named
from deepphase.apps.command_line import read_command_line
from deepphase.apps.commands import demo
from deepphase.formats.load import load
from deepphase.phase.parameters import load_phases

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def small():
    """Fewer seconds and windows than `--smallest` has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "_SMALLEST", (3, 3, 640, 64, 2))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of one run over an earlier one: that of $DEEPPHASE_DEMO, or its first steps."""
    words = ["demo", "--smallest", "-o"]
    folder = Path(os.environ.get("DEEPPHASE_DEMO", tmp_path_factory.mktemp("demo") / "a folder"))
    if not folder.exists():
        steps = demo._steps
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(demo, "_steps", lambda *size: steps(*size)[:3])
            patch.setattr(demo, "_write_page", lambda *_: None)
            assert cli.main([*words, str(folder)]) == 0
        assert (folder / "clips.store").exists()
    assert cli.main([*words, str(folder), "--force"]) == 0
    return folder


def test_the_page_plays_clips_and_shows_commands_that_can_be_typed(made, monkeypatch):
    content = (made / "index.html").read_text(encoding="utf-8")
    assert content.index("<iframe") < content.index("<h1>")
    words = re.sub(r"<(script|style|iframe)\b.*?</\1>", "", content, flags=re.DOTALL)
    links = [html.unescape(link) for link in re.findall(r'href="\./([^"]*)"', words)]
    pages = {"evaluation/index.html", "run/index.html", "compared/index.html", "live.html"}
    assert pages | {"matches/index.html", "dance/index.html"} <= set(links)
    for link in links:
        assert (made / link).stat().st_size > 1000
    monkeypatch.chdir(made)
    lines = re.findall(r"<pre><code>(.*?)</code></pre>", words, flags=re.DOTALL)
    names = []
    for line in lines[:-1]:
        program, *typed = shlex.split(html.unescape(line))
        assert program == "deepphase"
        name = " ".join(typed[:2]) if " ".join(typed[:2]) in COMMANDS else typed[0]
        read_command_line(name, command_named(name), typed[len(name.split()) :], checked=True)
        names.append(name)
    assert {"prepare", "train phase", "encode", "match query", "control", "dance"} <= set(names)


def test_held_out_clips_are_encoded(made):
    held_out = {path.stem for path in (made / "clips/held_out").iterdir()}
    assert {f"{name}_01" for name in ("walk_neutral", "run_neutral", "walk_elated")} <= held_out
    for name in held_out:
        seen, unseen = (
            load(made / "clips" / folder / f"{name}.bvh").rotations
            for folder in ("training", "held_out")
        )
        assert np.abs(seen[: len(unseen)] - unseen[: len(seen)]).max() > 0.05
    names = {load_phases(path)[0].name for path in (made / "phases").glob("*.npz")}
    assert names == held_out


def test_a_folder_with_files_is_replaced_by_force_alone(made, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    words = ["demo", "--smallest", "-o"]
    for folder in (tmp_path / "file", tmp_path, made):
        assert cli.main([*words, str(folder)]) == 2
        said = capsys.readouterr().err
        assert "not an empty folder" in said
        assert ("--force" in said) == (folder == made)
    assert (tmp_path / "file").read_text() == "mine"
    # Nor is a folder of other files by force.
    assert cli.main([*words, str(tmp_path), "--force"]) == 2
    assert "did not write" in capsys.readouterr().err
