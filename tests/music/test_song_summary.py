from dataclasses import replace

import numpy as np
import pytest

from deepphase.music.cache import song_features
from deepphase.music.features import MIN_CONFIDENCE, features_of
from deepphase.music.song_styles import song_summary
from deepphase.synthetic.song import make_song
from tests.music.made_sounds import file_bytes, white_noise

SONGS = [(4, 92.0, 1), (4, 124.0, 2), (3, 88.0, 3)]


@pytest.fixture(scope="module")
def songs():
    return [
        features_of(make_song(seed, 16.0, tempo_bpm=bpm, beats_per_bar=metre).samples)
        for metre, bpm, seed in SONGS
    ]


def test_metre_and_tempo_are_those_of_the_song(songs):
    for (metre, bpm, _), song in zip(SONGS, songs, strict=True):
        summary = song_summary(song)
        assert summary.beats_per_bar == metre
        assert summary.tempo_bpm == pytest.approx(bpm, rel=0.01)
        assert summary.triple_probability == pytest.approx(float(metre == 3), abs=0.15)


def test_timbre_is_that_of_the_frames_with_sound():
    made = make_song(5, 12.0, tempo_bpm=100.0).samples
    pause = np.zeros(12 * 30_720, np.float32)
    short, long = (song_summary(features_of(each)) for each in (made, np.append(made, pause)))
    assert short.timbre.shape == short.timbre_deviation.shape == (20,)
    np.testing.assert_allclose(long.timbre, short.timbre, atol=1.5)
    # A loud file and a quiet one of the same song sound alike.
    quiet = song_summary(features_of(0.01 * made))
    np.testing.assert_allclose(quiet.timbre, short.timbre, atol=0.01)


def test_points_of_songs_of_one_metre_and_tempo_are_nearer(songs):
    points = [song_summary(song).vector() for song in songs]
    like = features_of(make_song(9, 16.0, tempo_bpm=90.0, beats_per_bar=3).samples)
    away = np.linalg.norm(np.array(points) - song_summary(like).vector(), axis=1)
    assert away.argmin() == 2
    assert points[0].shape == (21,)


def test_a_song_without_a_beat_is_neutral(songs):
    for song in (
        features_of(white_noise(6.0)),
        features_of(np.zeros(40_000, np.float32)),
        replace(songs[2], beat_confidence=0.5 * MIN_CONFIDENCE),
    ):
        summary = song_summary(song)
        assert (summary.beats_per_bar, summary.tempo_bpm) == (None, 0.0)
        assert summary.triple_probability == 0.5
        assert (summary.vector()[:2] == 0).all()
        assert np.isfinite(summary.vector()).all()
        assert np.isfinite(summary.timbre_deviation).all()


def test_the_probability_of_bars_of_three_is_kept_in_the_cache(tmp_path, monkeypatch, songs):
    monkeypatch.setenv("DEEPPHASE_CACHE", str(tmp_path / "cache"))
    made = make_song(3, 20.0, tempo_bpm=88.0, beats_per_bar=3)
    (tmp_path / "waltz.wav").write_bytes(file_bytes(made.samples))
    first = song_features(tmp_path / "waltz.wav")
    monkeypatch.delattr("deepphase.music.cache.features_of")
    again = song_features(tmp_path / "waltz.wav")
    assert again.triple_probability == first.triple_probability > 0.8
    np.testing.assert_array_equal(song_summary(again).vector(), song_summary(first).vector())
