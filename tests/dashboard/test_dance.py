"""Page Dance: songs made and sent, who dances, which part, the files, what is refused."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile

import numpy as np
import pytest
import soundfile

from deepphase.apps.dances import DanceSource
from deepphase.apps.dashboard.pages.dance import OpenDancer
from deepphase.apps.dashboard.parts import songs
from deepphase.apps.dashboard.parts.collection import demo_model
from deepphase.apps.dashboard.parts.session import Session
from deepphase.apps.dashboard.parts.songs import OpenSong, made_song, upload_suffixes, uploaded_song
from deepphase.apps.demo import CONTROLLER
from deepphase.controllers.dance.config import DanceConfig
from deepphase.controllers.dance.training import DanceData, train_dance
from deepphase.corpus.store import open_store
from deepphase.corpus.store_writer import write_store
from deepphase.errors import FormatError
from deepphase.features.layout import FeatureLayout
from deepphase.formats.load import load
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.music.song_tracks import ClipSongTracks, track_features, with_songs
from deepphase.steering.dance import DanceRequest
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.song import make_song
from tests.controllers.made_dances import TINY, BeatAndBarPhases
from tests.controllers.made_dances import made_dances as some_dances
from tests.dashboard.app_pages import opened, players, words
from tests.dashboard.test_control import chosen, take, widget

_SHORT_S = 6


def quiet(*_: object) -> None:
    """Progress is ignored."""


@pytest.fixture(scope="module")
def demo() -> OpenDancer:
    return OpenDancer("shipped", "shipped", DanceSource.shipped())


@pytest.fixture(scope="module")
def song() -> OpenSong:
    return made_song(50, float(_SHORT_S), 104.0, 4, 0.5)


@pytest.fixture
def page(monkeypatch):
    """The page of a new session, with a song that is not long."""
    monkeypatch.setattr(songs, "_DEFAULT_SONG_S", _SHORT_S)
    return opened("dance", monkeypatch)


@pytest.fixture(autouse=True)
def reader(monkeypatch):
    """Where songs lie while they are read."""
    own = Session()
    monkeypatch.setattr(songs, "session", lambda: own)
    return own.folder


def _numbers(cells):
    """Those of the table's cells; bands of a measure stand behind it, in brackets."""
    return cells.str.replace(",", "").str.partition(" ")[0].astype(float)


def values(app) -> dict[str, float]:
    table = app.dataframe[0].value
    return dict(zip(table["Measure"], _numbers(table["This dance"]), strict=True))


def sound(seconds: float = 5.0, bpm: float = 100.0, form: str = "WAV", **given) -> bytes:
    # MP3 has no other rates than these.
    made, file = make_song(7, seconds, tempo_bpm=bpm, sample_rate=48_000), io.BytesIO()
    soundfile.write(file, made.samples, made.sample_rate, format=form, **given)
    return file.getvalue()


def sent(app, name: str, content: bytes):
    chosen(app, "Song", "Your own")
    app.file_uploader[0].set_value([(name, content, "audio/wav")]).run()
    assert not app.exception, app.exception
    return app


def test_it_opens_on_a_dance_with_sound_beats_and_phases(monkeypatch):
    app = opened("dance", monkeypatch)
    shown = take(app)
    assert shown["duration"] == pytest.approx(20, abs=0.1)
    assert shown["song"]["mime"] == "audio/ogg"
    # 104 beats a minute from half a second on.
    assert len(shown["song"]["beats"]) == pytest.approx(19.5 * 104 / 60, abs=2)
    assert shown["song"]["spectrogram"]["shape"][1] > 500
    assert shown["channels"]["phase"]["shape"][1] >= 5
    assert "104 beats a minute in bars of 4" in words(app)
    found = values(app)
    assert found["Moves on the beat"] > 1.5 * found["On the beat by chance"], "it dances to it"
    # Feet that stand move as those of the recorded dances do.
    assert found["Feet slide"] < 0.35
    assert "mocap.cs.cmu.edu" in words(app)
    assert "on the beat more often than by chance" in words(app)
    assert not app.warning
    assert {each.label for each in app.get("download_button")} == {
        "BVH", "GLB", "Phases (CSV)", "Player (HTML)", "Report (ZIP)", "Table (CSV)",
    }  # fmt: skip


def test_a_passage_is_danced_again_and_the_best_of_several_is_shown(page):
    first = take(page)["actors"]
    next(each for each in page.button if each.label == "Dance it again").click().run()
    assert not page.exception, page.exception
    assert take(page)["actors"] != first
    # Two of these are made in one run of the page.
    page.segmented_control(key="tries").set_value(4).run()
    assert not page.exception, page.exception
    (choice,) = [each for each in page.segmented_control if "follows the song best" in each.label]
    scores = [int(re.search(r"([+-]\d+) %", each)[1]) for each in choice.options]
    assert scores == sorted(scores, reverse=True)
    best = take(page)["actors"]
    choice.set_value(choice.options[1]).run()
    assert not page.exception, page.exception
    assert take(page)["actors"] != best


def test_files_of_a_dance(demo, song, tmp_path, reader):
    dance = demo.dance(song, DanceRequest(), quiet)
    zipfile.ZipFile(io.BytesIO(dance.report)).extractall(tmp_path)
    for suffix in ("bvh", "glb"):
        (path,) = tmp_path.glob(f"*.{suffix}")
        assert len(load(path)) == 60 * _SHORT_S
    assert next(tmp_path.glob("*.csv")).read_text().startswith("t,phase_0")
    assert (tmp_path / "index.html").is_file()
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["made_with"]["database"] == "dancer.matcher"
    assert list(reader.iterdir()) == []


@pytest.mark.parametrize("form", ["WAV", "OGG", "FLAC", "MP3"])
def test_formats_of_songs_are_found_from_their_content(form, reader):
    taken = uploaded_song("../../etc/passwd.txt", sound(form=form))
    assert taken.features.name == "passwd"
    assert taken.features.duration_s == pytest.approx(5, abs=0.1)
    assert taken.features.tempo_bpm == pytest.approx(100, rel=0.03)
    with taken.as_file() as path:
        assert path.parent == reader
        assert path.suffix == f".{form.lower()}"
        assert path.read_bytes() == taken.content
    assert list(reader.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (b"", "empty"),
        (b"<html>", "sound"),
        (b"RIFF\xff\xff\xff\xffWAVEfmt ", "cut off"),
        (b"\x80\x04\x95" + bytes(400), "sound"),
        (bytes(32_000_001), "MB, more than 32"),
        (None, "10 minutes, more than 10|minutes of sound, more than 10"),
    ],
)
def test_what_is_no_song_is_refused(content, fact, reader):
    if content is None:
        file = io.BytesIO()
        soundfile.write(file, np.zeros(8000 * 700, np.float32), 8000, format="FLAC")
        content = file.getvalue()
        assert len(content) < 1_000_000
    with pytest.raises(FormatError) as caught:
        uploaded_song("../evil.wav", content)
    assert re.search(fact, str(caught.value))
    assert caught.value.hint
    assert str(caught.value.path) == "evil"
    assert list(reader.iterdir()) == []


def test_a_dance_to_ones_own_song(page, monkeypatch):
    sent(page, "My <b>song</b>.wav", sound())
    assert take(page)["song"]["mime"] == "audio/wav"
    assert take(page)["duration"] == pytest.approx(5, abs=0.1)
    # The same sound from somebody else has their name.
    other = sent(opened("dance", monkeypatch), "theirs.wav", sound())
    assert "theirs" in players(other)[0]
    assert not re.search("My .*song", words(other) + players(other)[0])


def test_given_beats_are_danced_to(page):
    chosen(page, "Song", "Your own")
    page.file_uploader[0].set_value([("mine.wav", sound(), "audio/wav")])
    page.file_uploader[1].set_value([("mine.beats", b"1.0 1\n2.0 2\n3.0 3\n4.0 1\n", "text/plain")])
    page.run()
    assert not page.exception, page.exception
    assert "60 beats a minute in bars of 3 · beats as given" in words(page)
    assert take(page)["song"]["beats"] == pytest.approx([1, 2, 3, 4])
    page.file_uploader[1].set_value([("mine.beats", b"1.0\nx\n", "text/plain")]).run()
    assert len(page.error) == 1
    assert re.search("mine.*line 2", page.error[0].value)
    assert not players(page)
    page.file_uploader[1].set_value([("taps.beats", b"1.0\n99.0\n", "text/plain")]).run()
    assert len(page.error) == 1
    assert re.search("taps.*line 2", page.error[0].value)


def test_a_song_out_of_a_container_is_danced(page, reader):
    av = pytest.importorskip("av", reason="the extra av is not installed")
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=48_000, layout="mono")
        samples = make_song(7, 5.0, tempo_bpm=100.0, sample_rate=48_000).samples
        frame = av.AudioFrame.from_ndarray(
            samples[None].astype(np.float32), format="fltp", layout="mono"
        )
        frame.sample_rate = 48_000
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)
    assert "m4a" in upload_suffixes()
    sent(page, "mine.m4a", file.getvalue())
    shown = take(page)
    assert shown["duration"] == pytest.approx(5, abs=0.1)
    assert shown["song"]["mime"] == "audio/ogg"
    assert list(reader.iterdir()) == []


def test_a_container_that_is_too_long_is_refused_by_its_header(monkeypatch, reader):
    monkeypatch.setattr(songs, "stated_duration_s", lambda content, path: 700.0)
    monkeypatch.setattr(songs, "decoded", None)
    with pytest.raises(FormatError, match="12 minutes of sound"):
        uploaded_song("long.m4a", b"....ftypM4A ")


def test_a_hostile_song_is_a_sentence(page):
    sent(page, "<img src=x onerror=alert(1)>.mp3", b"ID3" + bytes(5000))
    assert len(page.error) == 1
    assert "Traceback" not in page.error[0].value
    assert "<img" not in page.error[0].value.replace("\\<", "")
    assert not players(page)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A dancer, a database with music features, one without, and a controller."""
    root = tmp_path_factory.mktemp("folder")
    corpus, motions = some_dances(seconds=8.0)
    config = DanceConfig.load("experts", **TINY)
    data = DanceData.read(corpus, config, BeatAndBarPhases(motions))
    dancer = train_dance(data, config, folder=tmp_path_factory.mktemp("work"))
    assert dancer is not None
    dancer.save(root / "made.dancer")
    layout = FeatureLayout.load("dance_music")
    tracks = ClipSongTracks(corpus.store, corpus.songs, (), tuple(track_features(layout)))
    heard = MotionDatabase.build(corpus.store, layout, demo_model(), tracks=tracks)
    with_songs(heard, tracks).save(root / "music.database")
    write_store(root / "walks.store", [locomotion(seed, 4.0, gait="walk").clip for seed in (1, 2)])
    walks = open_store(root / "walks.store")
    MotionDatabase.build(walks, "pose_trajectory").save(root / "deaf.database")
    (root / "walks.controller").write_bytes(CONTROLLER.read_bytes())
    return root


def test_the_folder_offers_dancers_and_databases_with_music(folder, monkeypatch):
    app = opened("dance", monkeypatch, folder)
    assert widget(app, "Dancer").options == [
        "Database: music.database",
        "Dancer: made.dancer",
        "Dancer (shipped)",
    ]
    chosen(app, "Dancer", f"file:{folder / 'made.dancer'}")
    chosen(app, "Length of the song (s)", _SHORT_S)
    shown = take(app)
    assert shown["gating"]["weights"]["shape"][1] == 2
    assert shown["duration"] == pytest.approx(_SHORT_S, abs=0.1)


def test_a_folder_opens_on_its_first_song(folder, tmp_path, monkeypatch):
    waltzes = tmp_path / "waltzes"
    shutil.copytree(folder, waltzes, ignore=shutil.ignore_patterns("music.database"))
    for number, beats in ((1, 3), (2, 4)):
        made = make_song(number, 16.0, tempo_bpm=96.0, beats_per_bar=beats)
        soundfile.write(waltzes / f"song_{number}.ogg", made.samples, made.sample_rate)
    (waltzes / "song_2.beats").write_text("1.0 1\n2.0 2\n3.0 1\n4.0 2\n")
    app = opened("dance", monkeypatch, waltzes)
    assert widget(app, "Song of the folder").options == ["song_1.ogg", "song_2.ogg"]
    assert widget(app, "Song of the folder").value == "song_1.ogg"
    assert "in bars of 3" in words(app)
    assert take(app)["song"]["mime"] == "audio/ogg"
    chosen(app, "Song of the folder", "song_2.ogg")
    assert "60 beats a minute in bars of 2 · beats as given" in words(app)
