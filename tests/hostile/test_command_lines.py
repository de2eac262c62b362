"""Command lines with impossible values, names and places: a sentence, status 2, nothing written."""

import os
import shutil
import subprocess
import sys

import pytest

from deepphase.apps.cli import main
from deepphase.formats.load import save
from deepphase.phase.config import PhaseConfig
from deepphase.synthetic.gait_motion import locomotion
from tests.test_atomic_write import full_disk

_LONG = "a" * 251
_TRAIN = {
    "phase": "train phase mocap.store -o out.model",
    "controller": "train controller mocap.store -o out.controller --config no_phase",
    "editor": "train editor mocap.store -o out.editor",
    "rig": "train rig walk.bvh -o out.rig",
}
# Words before a value -> values that are refused.
_VALUES = {
    "convert walk.bvh -o out.bvh --fps": "nan inf -1 0 1e300",
    "convert walk.bvh -o out.bvh --start": "nan inf -1 1e300",
    "prepare captures -o out.store --fps": "nan inf -1 0 1e300 x",
    "prepare captures -o out.store --workers": "0 -1 1e3 nan",
    "inspect captures --file-fps": "nan inf -1 0 1e300",
    "samples out --seconds": "nan inf -1 1e300",
    "samples out --seed": "-1 1.5 nan 99999999999",
    f"{_TRAIN['phase']} --set training.epochs=": "-3 nan inf 1e300 x [1]",
    f"{_TRAIN['phase']} --set training.windows=": "-3 nan inf 1.5 1e30",
    f"{_TRAIN['phase']} --set training.batch_size=": "0 -1 nan 999999999999",
    f"{_TRAIN['phase']} --set network.channels=": "0 -1 nan 100000000",
    f"{_TRAIN['controller']} --set training.samples=": "-1 nan inf 1e30",
    f"{_TRAIN['editor']} --set training.windows=": "-1 nan inf",
    f"{_TRAIN['rig']} --set training.epochs=": "-1 nan inf",
}
_PLACES = {
    **{f"convert walk.bvh -o {place}": "out" for place in ("walk.bvh/out.bvh", "/proc/out.bvh")},
    "prepare captures -o walk.bvh/out.store": "walk.bvh is not a folder",
    f"convert walk.bvh -o {'a' * 300}.bvh": "the name is too long",
    f"prepare captures -o {'a' * 300}.store": "the name is too long",
    f"inspect {'a' * 5000}": "the name is too long",
    "inspect loop.bvh": "no such file",
    "inspect pipe.bvh": "not a file",
    "encode pipe.model walk.bvh -o out": "not a file",
    "prepare walk.bvh -o out.store --labels-csv pipe.csv": "not a file",
    "prepare walk.bvh -o out.store --labels-csv pipe.parquet": "not a file",
    "control pipe.controller -o out.html": "no file",
    "convert walk.bvh -o loop.bvh": "cannot be written",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a walk, captures and a link to itself, in which commands run."""
    monkeypatch.chdir(tmp_path)
    save(locomotion(0, 1.0).clip, "walk.bvh")
    (tmp_path / "captures").mkdir()
    shutil.copy("walk.bvh", "captures/walk.bvh")
    (tmp_path / "mocap.store").touch()
    (tmp_path / "mocap.db").touch()
    (tmp_path / "loop.bvh").symlink_to("loop.bvh")
    for name in ("bvh", "csv", "npy", "model", "parquet", "controller"):
        os.mkfifo(tmp_path / f"pipe.{name}")
        os.mkfifo(tmp_path / "captures" / f"pipe.{name}")
    os.mkfifo(tmp_path / "captures" / "store.json")
    return tmp_path


def _refused(words, folder, capsys):
    """What a command says that is refused and writes nothing."""
    before = sorted(folder.rglob("*"))
    assert main(words) == 2
    assert sorted(folder.rglob("*")) == before
    return capsys.readouterr().err


@pytest.mark.parametrize("words", _VALUES)
def test_impossible_values(words, folder, capsys):
    for value in _VALUES[words].split():
        given = f"{words}{'' if words.endswith('=') else '='}{value}".split()
        assert len(_refused(given, folder, capsys)) < 1000


@pytest.mark.parametrize("words", _PLACES)
def test_impossible_places(words, folder, capsys):
    assert _PLACES[words].lower() in _refused(words.split(), folder, capsys).lower()


def test_the_longest_names_are_read_and_others_left_out(folder, capsys):
    for name in (f"{_LONG}.bvh", os.fsdecode(b"\xff.bvh"), "new\nline.bvh", "[red]x.bvh"):
        shutil.copy("walk.bvh", folder / "captures" / name)
    (folder / "captures" / f"{_LONG}.ogg").touch()
    (folder / "captures" / "loop.bvh").symlink_to("loop.bvh")
    for words in ("inspect captures", "prepare captures -o out.store", "convert captures -o out"):
        assert main(words.split()) == 0, words
        assert "loop.bvh" in "".join(capsys.readouterr())
    assert len(list((folder / "out").iterdir())) == 5


@pytest.mark.parametrize(
    "words",
    [
        "convert captures -o out",
        "convert walk.bvh -o out.npz",
        "prepare captures -o out.store",
        "play walk.bvh -o out.html",
        "edit repair walk.bvh -o out.glb",
    ],
)
def test_a_full_disk_is_status_2_and_leaves_no_half_file(words, folder, capsys):
    with full_disk():
        assert main(words.split()) == 2
    assert "could not be written" in (said := capsys.readouterr().err) or "cannot be" in said
    assert not [path for path in folder.rglob("*") if "out" in path.name and path.is_file()]
    assert not [*folder.rglob(".deepphase-*")]


def test_a_result_that_cannot_be_written_is_status_2(folder, capsys):
    """Of two clips one has a folder in its place: the other is written."""
    shutil.copy("walk.bvh", "captures/z.bvh")
    (folder / "out" / "z.bvh").mkdir(parents=True)
    assert main(["convert", "captures", "-o", "out"]) == 2
    assert "1 result could not be written" in capsys.readouterr().err
    assert (folder / "out" / "walk.bvh").is_file()


def test_modules_of_the_working_folder_are_not_run(folder):
    (folder / "joblib.py").write_text("import os\nos.mkdir('run')\n")
    words = ["deepphase", "prepare", ".", "-o", "out.store", "--workers", "2"]
    run = f"import sys; del sys.path[0]; sys.argv = {words}; from deepphase.apps import cli"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", f"{run}; sys.exit(cli.main())"]
    subprocess.run(command, env=environment, check=True)
    assert not (folder / "run").exists()


def test_settings_of_the_compiler_in_the_working_folder_are_refused(folder, capsys):
    (folder / ".numba_config.yaml").touch()
    assert ".numba_config.yaml: " in _refused(["inspect", "walk.bvh"], folder, capsys)


def test_a_file_of_the_working_folder_is_no_default(folder):
    whole = PhaseConfig.load("default")
    (folder / "default").write_text("training:\n  windows: 7\n")
    assert PhaseConfig.load("default") == whole
    (folder / "default").rename(folder / "own")
    assert PhaseConfig.load("own").training.windows == 7
