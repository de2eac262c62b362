"""`deepphase train phase` and `encode` on songs."""

import csv

import pytest
import soundfile

from deepphase.formats.load import save
from deepphase.phase.parameters import load_phases
from deepphase.synthetic.song import make_song
from tests.apps.running import run
from tests.formula_motion import swinging

pytestmark = pytest.mark.slow

_TINY = ["--set=network.hidden=8", "--set=training.windows=320", "--set=training.batch_size=32"]
_TINY += ["--set=training.held_out=0.3"]


def write(path, song):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, song.samples, song.sample_rate)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("songs")
    for seed, bpm in enumerate((95.0, 110.0, 125.0, 140.0)):
        write(root / "songs" / f"song_{seed}.ogg", make_song(seed, 10.0, tempo_bpm=bpm))
    (root / "songs" / "cover.txt").write_text("not a song")
    (root / "songs" / "torn.wav").write_bytes(b"RIFF\x00\x01\x00\x00WAVEfmt ")
    return root


@pytest.fixture(scope="module")
def model(folder):
    words = ["train", "phase", folder / "songs", "-o", folder / "songs.model", *_TINY]
    assert run(*words, "--features", "onset_strength,beat") == 0
    return folder / "songs.model"


def test_phases_of_a_new_song_are_rows_for_each_frame(folder, model):
    write(folder / "new" / "at_104.wav", make_song(40, 8.0, tempo_bpm=104.0))
    assert run("encode", model, folder / "new", "-o", folder / "phases", "--csv") == 0
    phases = load_phases(folder / "phases" / "at_104.phases.npz")[0]
    assert len(phases) == 480
    assert phases.parameters.frequency[phases.interior].min() > 0.0
    with (folder / "phases" / "at_104.phases.csv").open() as file:
        assert len(list(csv.reader(file))) == 481


def test_encode_goes_on_past_files_that_are_no_songs(folder, model, tmp_path, capsys):
    assert run("encode", model, folder / "songs", "-o", tmp_path) == 0
    out, err = capsys.readouterr()
    assert "4 songs, 2,400 frames at 60 fps" in out
    assert "torn.wav" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"song_{n}.phases.npz" for n in range(4)
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["train", "phase", "songs", "--skeleton", "x"], "--skeleton applies to clips"),
        (["train", "phase", "songs", "--features", "loudness"], "no song feature 'loudness'"),
        (["train", "phase", "songs/cover.txt"], "cover.txt"),
        (["encode", "songs.model", "songs", "--skeleton", "x"], "these are songs"),
        (["encode", "songs.model", "clips"], "no songs"),
        (["encode", "songs.model", "songs/torn.wav"], "torn.wav"),
        (["evaluate", "songs.model", "clips"], "of songs"),
        (["figures", "songs.model", "clips"], "of songs"),
        (["match", "build", "clips.store", "--model", "songs.model"], "of songs"),
        (["play", "clips/swing.bvh", "--model", "songs.model"], "of songs"),
    ],
)
def test_what_is_for_motion_is_refused_in_one_error(folder, model, tmp_path, capsys, words, says):
    if not (folder / "clips").exists():
        save(swinging(1.0, 4.0)[0], folder / "clips" / "swing.bvh")
        assert run("prepare", folder / "clips", "-o", folder / "clips.store") == 0
        capsys.readouterr()
    given = [folder / each if (folder / each).exists() else each for each in words]
    assert run(*given, "-o", tmp_path / "none") == 2
    err = capsys.readouterr().err
    assert err.count("deepphase: error:") == 1
    assert says in err
    # A folder that can be written in was made, and nothing in it.
    assert not list(tmp_path.rglob("*.*"))
