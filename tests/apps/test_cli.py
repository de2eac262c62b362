"""The `deepphase` program as a user drives it: words in; status, files and words out."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from deepphase.apps import cli
from deepphase.apps import training as train_command
from deepphase.formats.load import save
from deepphase.motion.clip import Clip
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import load_phases
from tests.corpus.made_clips import made_clip, write_bvh
from tests.formula_motion import swinging

TINY = (
    *("--set=network.channels=2", "--set=network.window_s=1"),
    *("--set=training.windows=640", "--set=training.batch_size=32"),
    *("--set=trainer.accelerator=cpu", "--set=trainer.devices=1"),
)
GOLDEN = Path(__file__).parents[1] / "golden/inputs"
COMMANDS = ["inspect", "prepare", "train phase", "encode", "doctor"]


@dataclass(frozen=True)
class Ran:
    """What a run of the program left behind."""

    status: int
    out: str
    err: str

    def refused(self, *words: str) -> None:
        """Status 2, and on stderr one error with those words and a hint below it."""
        assert self.status == 2, self.err
        lines = self.err.splitlines()
        assert lines[0].startswith("deepphase: error: "), self.err
        assert self.err.count("deepphase: error:") == 1
        assert len(lines) == 2, self.err
        assert lines[1].startswith("  "), self.err
        assert "Traceback" not in self.err
        for word in words:
            assert word in self.err


def run(*words: object) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main([str(word) for word in words])
        except SystemExit as end:
            status = int(end.code or 0)
    return Ran(status, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def swings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six clips of four seconds, named as in set_action_style_take.bvh."""
    folder = tmp_path_factory.mktemp("swings") / "clips"
    folder.mkdir()
    for index in range(6):
        clip, _ = swinging(0.8 + 0.15 * index, 4.0, start=0.3 * index, seed=index)
        style = "calm" if index % 2 else "wild"
        save(clip, folder / f"a_swing_{style}_{index}.bvh")
    return folder


@pytest.fixture(scope="module")
def trained(swings: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """A model that was trained by the program, in a folder that did not exist, and what it said."""
    output = tmp_path_factory.mktemp("trained") / "new folder" / "swing.model"
    ran = run("train", "phase", swings, "-o", output, *TINY)
    assert ran.status == 0, ran.err
    return output, ran


@pytest.fixture
def model(trained: tuple[Path, Ran]) -> Path:
    return trained[0]


@pytest.fixture
def two_bodies(swings: Path, tmp_path: Path) -> Path:
    """A folder with clips of two skeletons, Hips-13 and Hips-9."""
    folder = tmp_path / "mixed"
    for path in swings.iterdir():
        write_bvh(folder / path.name, _loaded(path))
    for seed in range(2):
        write_bvh(folder / f"other_{seed}.bvh", made_clip(seed, 120))
    return folder


@pytest.fixture
def broken(swings: Path, tmp_path: Path) -> Path:
    """A file that ends in the middle of a frame, and the line where it does."""
    text = (swings / "a_swing_wild_0.bvh").read_text()
    path = tmp_path / "broken.bvh"
    path.write_text(text[: len(text) // 2])
    return path


def _loaded(path: Path) -> Clip:
    from deepphase.formats.load import load

    return load(path)


# The program


def test_the_overview_needs_no_torch():
    code = (
        "import sys; from deepphase.apps.cli import main; assert main(['--help']) == 0; "
        "assert not {'torch', 'numpy', 'jsonargparse'} & set(sys.modules), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


def test_inspect_prepare_and_wrong_files_need_no_torch(swings, model, tmp_path):
    motion = str(GOLDEN.parents[1] / "compatibility/files/motion.db")
    code = (
        "import sys; from deepphase.apps.cli import main; "
        f"assert main(['app', {str(model)!r}]) == 2; "
        f"assert main(['match', 'query', {motion!r}, 'nobody', '-o', 'x']) == 2; "
        "assert not {'streamlit', 'numba', 'plotly'} & set(sys.modules); "
        f"assert main(['inspect', {str(swings)!r}]) == 0; "
        f"assert main(['prepare', {str(swings)!r}, '-o', {str(tmp_path / 's')!r}]) == 0; "
        f"assert main(['control', {str(model)!r}, '-o', {str(tmp_path / 'c')!r}]) == 2; "
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_inputs_of_another_kind_are_refused_before_torch_and_before_anything_is_made(
    swings, model, tmp_path
):
    names = ("song.ogg", "empty.bvh", "array.npy", "a.csv", "torn.bvh", "points.npz")
    made = {name: tmp_path / name for name in names}
    for path in made.values():
        path.write_bytes(b"")
    made["torn.bvh"].write_text("HIERARCHY\nROOT x\n{")
    np.savez(made["points.npz"], positions=np.zeros((60, 4, 3)), names=list("abcd"), fps=30.0)
    np.save(made["array.npy"], np.zeros((3, 4)))
    made["a.csv"].write_text("t,x,z\n0,0,0\n")
    (tmp_path / "none").mkdir()
    assert run("prepare", swings, "-o", tmp_path / "store").status == 0
    words = [
        ["convert", made["song.ogg"]], ["convert", tmp_path / "none"], ["solve", swings],
        ["play", made["array.npy"]], ["play", swings, "--song", made["a.csv"]],
        ["fit", "phases", made["empty.bvh"]], ["fit", "ground", made["a.csv"]],
        ["train", "rig", swings], ["train", "editor", made["song.ogg"]],
        ["evaluate", model, tmp_path / "none"], ["encode", tmp_path / "store", "--skeleton", "no"],
        ["encode", model, swings, "--skeleton", "nobody"],
        ["match", "run", made["a.csv"], "--beside", made["a.csv"]],
        ["encode", model, made["song.ogg"]], ["encode", model, model],
        ["train", "phase", made["torn.bvh"]], ["solve", tmp_path / "store"],
        ["edit", "constrain", next(swings.iterdir()), "--targets", made["song.ogg"]],
        ["edit", "repair", made["points.npz"]], ["train", "rig", made["points.npz"]],
    ]  # fmt: skip
    before = sorted(tmp_path.iterdir())
    calls = [[*map(str, each), "-o", str(tmp_path / "out")] for each in words]
    code = (
        "import sys; from deepphase.apps.cli import main\n"
        f"for call in {calls!r}:\n    assert main(call) == 2, call\n"
        "    assert 'torch' not in sys.modules, call"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_an_unknown_command():
    run("inspekt", "x").refused("'inspekt'", "did you mean 'inspect'")
    run("frobnicate").refused("'frobnicate'", "deepphase --help")
    run("train").refused("needs another word: train phase", "\n  deepphase --help lists")
    run("train", "phse").refused("no command 'train phse'", "did you mean 'train phase'")
    run("train", "something").refused("'train' has phase, matching, controller, dance, editor")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["inspect"], "missing: path"),
        (["prepare", "x"], "missing: -o"),
        (["inspect", "x", "--unti", "cm"], "did you mean --unit"),
        (["prepare", "x", "-o", "y", "--fps", "fast"], "--fps: expected a number, not 'fast'"),
        (["prepare", "x", "-o", "y", "--fps", "nan"], "--fps: expected a number, not 'nan'"),
        (["train", "controller", "x", "y", "-o", "z"], "unrecognized arguments: y"),
        (
            ["train", "phase", GOLDEN, "-o", "y", "--set", "network.channels=five"],
            "network.channels must be int, not 'five'",
        ),
        (["train", "phase", ".", "-o", "y", "--conf", "paper"], "did you mean --config"),
    ],
)
def test_unknown_options_are_refused(words, said):
    run(*words).refused(said, "--print-config lists" if "--set" in words else "--help lists")


def test_a_bug_leaves_its_traceback(monkeypatch, swings):
    def bug(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("deepphase.apps.commands.inspect.inspect_files", bug)
    with pytest.raises(ZeroDivisionError):
        cli.main(["inspect", str(swings)])


def test_doctor():
    ran = run("doctor")
    assert ran.status == 0
    for word in ("deepphase", "torch", "lightning", "cpu", "cores"):
        assert word in ran.out
    assert "no problems" in ran.out


def test_a_thread_that_still_computes_ends_with_the_program():
    """Ctrl-C of the dashboard while a page is made."""
    code = """
import atexit, sys, threading
import torch
from deepphase.apps import cli

def compute():
    while True:
        torch.tanh(torch.ones(64, 64) @ torch.ones(64, 64))

def command(words):
    for _ in range(2):
        threading.Thread(target=compute, daemon=True).start()
    atexit.register(print, "files removed")
    return cli.MISTAKE

cli._run = command
sys.exit(cli.main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (cli.MISTAKE, "files removed\n", "")


# inspect


def test_inspect_tells_of_files_and_stores(swings, broken, tmp_path):
    store = tmp_path / "s.store"
    assert run("prepare", swings, "-o", store).status == 0
    ran = run("inspect", swings, broken, store)
    assert ran.status == 0
    assert "inspecting: 7 of 7" in ran.out
    assert "skeleton Hips-13: 13 joints, biped; 6 files" in ran.out
    assert "left_foot LeftFoot" in ran.out
    assert "  up: y\n" in ran.out
    assert re.search(r"a_swing_wild_0\S*\s+Hips-13\s+60\s+240\s+4.0", ran.out)
    assert re.search(r"^Hips-13\s+13\s+6", ran.out, re.MULTILINE)
    assert "42 channels" in ran.err


# prepare


# train phase


@pytest.mark.slow
def test_of_several_skeletons_one_is_taken(two_bodies, tmp_path):
    words = ("train", "phase", two_bodies, "-o", tmp_path / "m", *TINY)
    run(*words).refused(
        "mixed: it has 2 skeletons", "--skeleton NAME", "Hips-13 (6 clips", "Hips-9 (2"
    )
    run(*words, "--skeleton", "Dog").refused("no skeleton 'Dog'", "Hips-13")
    store = tmp_path / "s.store"
    prepared = run("prepare", two_bodies, "-o", store)
    assert "--skeleton NAME" in prepared.out
    ran = run("train", "phase", store, "-o", tmp_path / "m", *TINY, "--skeleton", "Hips-13")
    assert ran.status == 0, ran.err
    assert len(PhaseModel.load(tmp_path / "m").signals.joints) == 13


def _interrupted(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Ctrl-C when a training has come so far."""
    real = train_command.terminal.progress

    @contextlib.contextmanager
    def with_interruption() -> Iterator[object]:
        with real() as report:

            def reporting(what: str, done: int, total: int, words: str) -> None:
                report(what, done, total, words)
                if what == "training" and done >= share * total:
                    raise KeyboardInterrupt

            yield reporting

    monkeypatch.setattr(train_command.terminal, "progress", with_interruption)


@pytest.mark.slow
def test_an_interrupted_training_goes_on_or_is_discarded(swings, model, tmp_path, monkeypatch):
    output = tmp_path / "m"
    words = ("train", "phase", swings, "-o", output, *TINY)
    with monkeypatch.context() as patch:
        _interrupted(patch, 0.9)
        ran = run(*words)
    assert ran.status == 130
    assert "--resume" in ran.err
    assert "Traceback" not in ran.err
    assert not output.exists()

    run(*words).refused("an unfinished training lies here", "--resume", "remove this folder")
    run(*words, "--resume", "--set=network.channels=3").refused("network.channels was 2, now 3")

    assert run(*words, "--resume").status == 0
    assert not (tmp_path / "m.unfinished").exists()
    # The same as if it had never been interrupted.
    assert PhaseModel.load(output).sha256 == PhaseModel.load(model).sha256

    run(*words, "--resume").refused("no checkpoint", "leave out --resume")


# encode


def test_encode_writes_what_the_model_says(swings, model, tmp_path):
    ran = run("encode", model, swings, "-o", tmp_path / "phases", "--csv")
    # Feet that swing back as fast as forth make the rate and the path doubtful.
    assert ran.status == 0
    doubt = re.compile(": check: (the feet step|both feet slide)")
    assert all(map(doubt.search, ran.err.splitlines()))
    assert "6 clips, 1,440 frames at 60 fps" in ran.out
    path = tmp_path / "phases" / "a_swing_wild_0.phases.npz"
    phases, meta = load_phases(path)
    assert meta["model_sha256"] == PhaseModel.load(model).sha256
    assert len(phases) == 240
    with path.with_suffix(".csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 240
    for name in ("phase", "frequency", "amplitude", "offset"):
        for channel in range(2):
            column = [float(row[f"{name}_{channel}"]) for row in rows]
            values = getattr(phases.parameters, name)[:, channel]
            np.testing.assert_allclose(column, values, rtol=1e-5, atol=1e-6)
    assert [int(row["interior"]) for row in rows] == phases.interior.astype(int).tolist()


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (["evaluate", "MODEL", "CLIPS", "--queries", "50"], "Hips-13, of 2"),
        (["figures", "MODEL", "CLIPS"], "Hips-13, of 2"),
        (["match", "build", "CLIPS", "--model", "MODEL"], "Hips-13, of 2"),
        (["play", "CLIPS", "--model", "MODEL"], "reading: 6 of 6"),
    ],
    ids=lambda words: words[0],
)
def test_the_skeleton_of_a_model_is_the_default(words, written, two_bodies, model, tmp_path):
    assert run("prepare", two_bodies, "-o", tmp_path / "s").status == 0
    places = {"MODEL": model, "CLIPS": tmp_path / "s"}
    ran = run(*(places.get(word, word) for word in words), "-o", tmp_path / "out")
    assert ran.status == 0, ran.err
    assert written in ran.out


def test_encode_leaves_out_what_it_cannot_read(swings, model, broken, tmp_path):
    write_bvh(tmp_path / "other.bvh", made_clip())
    write_bvh(tmp_path / "other2.bvh", made_clip(1))
    words = ("encode", model, "-o", tmp_path / "phases", tmp_path)
    ran = run(*words, swings)
    assert ran.status == 0
    assert "6 clips" in ran.out
    assert "broken.bvh:" in ran.err
    assert "other.bvh" in ran.err
    assert ran.err.count("another skeleton") == 1
    assert "; 1 more file: " in ran.err
    broken.unlink()
    ran = run(*words)
    assert ran.status == 2
    assert ran.err.count("deepphase: error:") == 1
    assert "none of 2 clips could be encoded" in ran.err


def test_a_file_that_is_no_model(swings, model, tmp_path):
    output = ("-o", tmp_path / "p")
    run("encode", tmp_path / "nowhere", swings, *output).refused("nowhere: there is no such file")
    (tmp_path / "notes.txt").write_text("no model")
    run("encode", tmp_path / "notes.txt", swings, *output).refused("not a deepphase file")
    run("encode", model, *output).refused("no clips are given")
    (tmp_path / "song.ogg").write_bytes(b"OggS")
    run("encode", tmp_path / "song.ogg", *output).refused("song.ogg is a song, and no model")
    content = bytearray(model.read_bytes())
    content[-50] ^= 0xFF
    (tmp_path / "damaged").write_bytes(content)
    run("encode", tmp_path / "damaged", swings, *output).refused("damaged")
    (tmp_path / "cut").write_bytes(content[: len(content) // 2])
    run("encode", tmp_path / "cut", swings, *output).refused("damaged")
    assert not (tmp_path / "p").exists()
