"""`deepphase train dance` and `deepphase dance` from the command line, on made dances."""

import html
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import soundfile

from deepphase.formats.load import load, save
from deepphase.motion.clip import joint_positions
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song
from tests.apps.running import run

pytestmark = pytest.mark.slow

_TINY = ["--set=network.experts=2", "--set=network.hidden=24", "--set=network.gating_hidden=8"]
_TINY += [
    "--set=training.samples=1600",
    "--set=training.batch_size=64",
    "--set=training.held_out=0.3",
]
_TINY += ["--set=dance.tempo_copies=1"]


def write(path, samples, rate):
    soundfile.write(path, samples, rate)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three dances with a song beside each, and one without."""
    root = tmp_path_factory.mktemp("dances")
    for number, (bpm, suffix) in enumerate(((100.0, "wav"), (120.0, "flac"), (90.0, "ogg"))):
        song = make_song(number, 16.0, tempo_bpm=bpm)
        save(dance(song, number).clip, root / "danced" / f"dance_{number}.bvh")
        # Another rate than the features', and two channels.
        samples = np.stack([song.samples, 0.5 * song.samples], axis=1)
        write(root / "danced" / f"dance_{number}.{suffix}", samples, song.sample_rate)
    save(dance(song, 9).clip, root / "danced" / "silent.bvh")
    assert run("fit", "phases", root / "danced", "-o", root / "phases", "--method", "pca") == 0
    return root


@pytest.fixture(scope="module")
def dancer(folder):
    words = ["train", "dance", folder / "danced", "--model", folder / "phases"]
    assert run(*words, "-o", folder / "dancer", *_TINY) == 0
    return folder / "dancer"


def test_a_dance_is_files_a_page_and_measures(folder, dancer, capsys):
    song = make_song(7, 6.0, tempo_bpm=110.0)
    write(folder / "new song.wav", song.samples, song.sample_rate)
    assert run("dance", folder / "new song.wav", "--dancer", dancer, "-o", folder / "out") == 0
    out, err = capsys.readouterr()
    assert "moves on the beat" in out
    assert not err
    names = sorted(path.name for path in (folder / "out").iterdir())
    assert names == [
        *("index.html", "new_song.bvh", "new_song.glb", "new_song.phases.csv"),
        "report.json",
    ]
    clip = load(folder / "out" / "new_song.bvh")
    assert clip.duration == pytest.approx(6.0, abs=0.03)
    other = load(folder / "out" / "new_song.glb")
    np.testing.assert_allclose(joint_positions(clip), joint_positions(other), atol=2e-3)
    report = json.loads((folder / "out" / "report.json").read_text())
    assert report["data"]["tempo_bpm"] == pytest.approx(110.0, abs=1.0)
    (alignment,) = [each for each in report["measures"] if each["name"] == "by_motion"]
    assert 0 <= alignment["value"] <= 1
    assert alignment["recorded"] > 0.3
    (restarts,) = [each for each in report["measures"] if each["name"] == "restarts"]
    assert restarts["value"] == 0
    page = html.unescape((folder / "out" / "index.html").read_text())
    assert "audio/wav" in page
    lines = (folder / "out" / "new_song.phases.csv").read_text().splitlines()
    assert len(lines) == 361
    assert lines[0].startswith("t,phase_0,")


def test_a_part_of_a_song_by_seed(folder, dancer):
    song = folder / "danced" / "dance_1.flac"
    words = ["dance", song, "--dancer", dancer, "--start", 2, "--seconds", 3]
    for name, more in (("a", []), ("b", ["--seed", 1])):
        assert run(*words, "-o", folder / name, *more) == 0
    clips = [load(folder / name / "dance_1.bvh") for name in "ab"]
    assert all(len(clip) == 180 for clip in clips)
    assert np.abs(clips[0].rotations - clips[1].rotations).max() > 1e-3
    page = html.unescape((folder / "a" / "index.html").read_text())
    # The sound of the part alone, encoded again.
    assert "audio/ogg" in page
    song = page[page.index('"mime":"audio/ogg"') :]
    assert float(re.search(r'"duration": ?([\d.]+)', song)[1]) == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize(
    "content", [b"", b"just some words about a song", b"RIFF\x00\x01\x00\x00WAVEfmt "]
)
def test_no_sound_is_one_error_and_nothing_is_written(folder, dancer, capsys, content):
    (folder / "bad.wav").write_bytes(content)
    assert run("dance", folder / "bad.wav", "--dancer", dancer, "-o", folder / "nothing") == 2
    err = capsys.readouterr().err
    assert err.count("deepphase: error:") == 1
    assert "bad.wav" in err
    assert not (folder / "nothing").exists()


def test_an_interrupted_dance_leaves_nothing(folder, dancer, monkeypatch):
    from deepphase.controllers.runtime.characters import Characters

    step, count = Characters.step, 0

    def stopped(self, *args, **options):
        nonlocal count
        count += 1
        if count == 20:
            raise KeyboardInterrupt
        return step(self, *args, **options)

    monkeypatch.setattr(Characters, "step", stopped)
    song = folder / "danced" / "dance_0.wav"
    assert run("dance", song, "--dancer", dancer, "-o", folder / "half") == 130
    assert not list((folder / "half").iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dancer", "phases"], "phases by a rule, not a"),
        (["--dancer", "dancer", "--start", 60], "the dance starts at 60"),
        (["--dancer", "missing"], "there is no such file"),
    ],
)
def test_what_cannot_dance_says_why(folder, dancer, capsys, words, message):
    given = [folder / each if each in ("phases", "dancer", "missing") else each for each in words]
    song = folder / "danced" / "dance_0.wav"
    assert run("dance", song, *given, "-o", folder / "refused") == 2
    assert re.search(message, capsys.readouterr().err)


def test_bad_beats_are_refused_before_anything_long_is_imported(folder, tmp_path):
    beats = tmp_path / "bad.beats"
    beats.write_text("0.5\nsoon\n")
    song = folder / "danced" / "dance_0.wav"
    code = (
        "import sys; from deepphase.apps.cli import main; "
        f"status = main(['dance', {str(song)!r}, '--beats', {str(beats)!r}]); "
        "sys.exit(status if 'torch' not in sys.modules else 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "bad.beats:2: 'soon' is not a number" in done.stderr


def test_a_folder_without_dances_has_the_shipped_dancer(folder, tmp_path, monkeypatch, capsys):
    song = folder / "danced" / "dance_1.flac"
    monkeypatch.chdir(tmp_path)
    assert run("dance", song, "--start", 2, "--seconds", 9, "-o", "out") == 0
    said = capsys.readouterr().out
    assert "mocap.cs.cmu.edu" in said
    assert "on the beat more often than by chance" in said
    assert "--database" not in said
    (made,) = (tmp_path / "out").glob("*.bvh")
    assert len(load(made)) == 540
    assert "mocap.cs.cmu.edu" in (tmp_path / "out" / "index.html").read_text()
    assert (
        "mocap.cs.cmu.edu"
        in json.loads((tmp_path / "out" / "report.json").read_text())["made_with"]["motion"]
    )
