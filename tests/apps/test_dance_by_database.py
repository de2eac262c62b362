"""`deepphase match build --config dance_music` and `dance --database`, on made dances."""

import html
import json
import re

import numpy as np
import pytest
import soundfile

from deepphase.formats.load import load, save
from deepphase.matching.database.database import MotionDatabase
from deepphase.motion.clip import joint_positions
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song
from tests.apps.running import run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three dances with a song beside each, one without, their store and their phases."""
    root = tmp_path_factory.mktemp("dances")
    for number, bpm in enumerate((98.0, 106.0, 114.0)):
        song = make_song(number, 14.0, tempo_bpm=bpm)
        save(dance(song, number).clip, root / "danced" / f"dance_{number}.bvh")
        soundfile.write(root / "danced" / f"dance_{number}.ogg", song.samples, song.sample_rate)
    save(dance(song, 9, seconds=4.0).clip, root / "danced" / "mute.bvh")
    assert run("prepare", root / "danced", "-o", root / "dances.store") == 0
    assert run("fit", "phases", root / "dances.store", "-o", root / "p", "--method", "pca") == 0
    return root


@pytest.fixture(scope="module")
def database(folder):
    words = ["match", "build", folder / "dances.store", "--model", folder / "p"]
    assert run(*words, "--config", "dance_music", "-o", folder / "dances.database") == 0
    return folder / "dances.database"


def test_a_build_reads_the_songs_and_stores_the_reference(folder, capsys):
    words = ["match", "build", folder / "dances.store", "--model", folder / "p", "-o"]
    words += [folder / "told.database", "--config", "dance_music", "--songs", folder / "danced"]
    assert run(*words) == 0
    out, err = capsys.readouterr()
    assert "mute: left out: no song beside it" in err
    assert "3 clips, 2,520 frames" in out
    assert re.search(r"beat_cycle +6 ", out)
    kept = MotionDatabase.load(folder / "told.database").made_with
    assert sorted(kept["songs"]["songs"]) == [f"dance_{n}.ogg" for n in range(3)]
    assert kept["dances"]["values"]["by_motion"] > kept["dances"]["values"]["by_motion_chance"]


def test_a_dance_is_files_a_page_and_measures(folder, database, capsys):
    song = make_song(7, 8.0, tempo_bpm=102.0)
    # Another rate than the features', and two channels.
    both = np.stack([song.samples, 0.3 * song.samples], axis=1)[::2]
    soundfile.write(folder / "new song.wav", both, song.sample_rate // 2)
    out_folder = folder / "out"
    assert run("dance", folder / "new song.wav", "--database", database, "-o", out_folder) == 0
    out, err = capsys.readouterr()
    assert "recorded dances" in out
    assert all("note: the beats may be counted" in line for line in err.splitlines())
    assert sorted(path.name for path in out_folder.iterdir()) == [
        *("index.html", "new_song.bvh", "new_song.glb", "new_song.phases.csv"),
        "report.json",
    ]
    clip = load(out_folder / "new_song.bvh")
    assert len(clip) == 480
    other = load(out_folder / "new_song.glb")
    np.testing.assert_allclose(joint_positions(clip), joint_positions(other), atol=2e-3)
    report = json.loads((out_folder / "report.json").read_text())
    assert report["made_with"]["database"] == "dances.database"
    assert report["data"]["tempo_bpm"] == pytest.approx(102.0, abs=1.0)
    values = {each["name"]: each for each in report["measures"]}
    for name in ("by_motion", "by_motion_chance", "speed", "sliding", "jerk", "repeat"):
        assert np.isfinite(values[name]["value"])
        assert "recorded" in values[name]
    assert values["by_motion"]["value"] > values["by_motion_chance"]["value"] + 0.1
    page = html.unescape((out_folder / "index.html").read_text())
    assert "audio/wav" in page
    assert "cost of the last search" in page
    assert '"dance_' in page  # markers: which clip is danced
    assert len((out_folder / "new_song.phases.csv").read_text().splitlines()) == 481


@pytest.mark.parametrize(("rate", "channels", "seconds"), [(8000, 1, 3.0), (96_000, 2, 0.5)])
def test_silence_of_any_rate(folder, database, tmp_path, capsys, rate, channels, seconds):
    soundfile.write(tmp_path / "still.wav", np.zeros((round(seconds * rate), channels)), rate)
    assert run("dance", tmp_path / "still.wav", "--database", database, "-o", tmp_path / "o") == 0
    out, err = capsys.readouterr()
    assert "no reliable beat in this song: playback does not follow the beat" in err
    assert "moves on the beat" not in out
    assert len(load(tmp_path / "o" / "still.bvh")) == round(60 * seconds)


def test_a_database_whose_store_is_gone_says_so(folder, database, tmp_path, capsys):
    store = folder / "dances.store"
    away = store.rename(tmp_path / "away")
    try:
        song = folder / "danced" / "dance_0.ogg"
        words = ["dance", song, "--database", database, "--seconds", 2, "-o", tmp_path / "none"]
        assert run(*words) == 2
        err = capsys.readouterr().err
        assert "dances.store" in err
        assert "beside the database" in err
    finally:
        away.rename(store)
