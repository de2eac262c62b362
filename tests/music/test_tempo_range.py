"""Songs counted in twice and half as many beats."""

import numpy as np
import pytest

from deepphase.music.features import features_of
from deepphase.music.tempo_range import bar_seconds, octaves_to, within_tempo_range
from deepphase.synthetic.song import make_song


@pytest.fixture(scope="module", params=[3, 4])
def song(request):
    made = make_song(2, 30.0, tempo_bpm=100.0, beats_per_bar=request.param)
    return features_of(made.samples, name="made")


def test_twice_as_many_beats_are_those_and_the_ones_between(song):
    twice = within_tempo_range(song, 1)
    np.testing.assert_allclose(twice.beats_s[::2], song.beats_s)
    assert np.diff(twice.beats_s).max() < 0.6 * np.diff(song.beats_s).max()
    assert twice.tempo_bpm == pytest.approx(200.0, rel=0.02)
    assert twice.beats_per_bar == song.beats_per_bar
    np.testing.assert_allclose(twice.downbeats_s[::2], song.downbeats_s)
    assert bar_seconds(twice) == pytest.approx(0.5 * bar_seconds(song), rel=0.02)
    # Its phases are those of before, turned twice as fast.
    for name in ("beat_cycle", "bar_cycle"):
        before, after = (each.blocks[name].astype(np.float64) for each in (song, twice))
        frames = slice(300, 1500)
        angle = 2 * np.arctan2(before[frames, 0], before[frames, 1])
        np.testing.assert_allclose(after[frames, 0], np.sin(angle), atol=0.06)
        np.testing.assert_allclose(after[frames, 1], np.cos(angle), atol=0.06)


def test_half_as_many_beats_begin_their_bars_where_bars_began(song):
    half = within_tempo_range(song, -1)
    assert np.isin(half.beats_s, song.beats_s).all()
    assert half.tempo_bpm == pytest.approx(50.0, rel=0.02)
    np.testing.assert_allclose(half.downbeats_s, song.downbeats_s[::2])
    assert np.isin(half.downbeats_s, half.beats_s).all()
    assert half.beats_per_bar == song.beats_per_bar
    assert bar_seconds(half) == pytest.approx(2 * bar_seconds(song), rel=0.02)
    between = np.diff(half.beats_s)
    assert between.min() > 0.9 * np.median(between)


def test_there_and_back_is_the_song(song):
    back = within_tempo_range(within_tempo_range(song, 1), -1)
    np.testing.assert_allclose(back.beats_s, song.beats_s)
    np.testing.assert_allclose(back.downbeats_s, song.downbeats_s)
    for name, values in song.blocks.items():
        np.testing.assert_allclose(back.blocks[name], values, atol=1e-5)
    assert within_tempo_range(song, 0) is song


def test_the_octave_that_is_nearest(song):
    bar_s, any_beat = bar_seconds(song), (0.6, 0.6)
    for octaves in (-2, -1, 0, 1, 2):
        for longer in (1.2, 1 / 1.2):
            middle = bar_s * longer / 2**octaves
            assert octaves_to(song, (0.9 * middle, middle / 0.9), any_beat) == octaves
    nearest = within_tempo_range(song, octaves_to(song, (0.5 * bar_s, 0.5 * bar_s), any_beat))
    assert bar_seconds(nearest) == pytest.approx(0.5 * bar_s, rel=0.02)


def test_a_song_inside_of_the_range_is_counted_as_it_is(song):
    bar_s = bar_seconds(song)
    assert octaves_to(song, (0.95 * bar_s, 4.0 * bar_s), (0.0, 0.0)) == 0
    assert octaves_to(song, (0.26 * bar_s, 0.95 * bar_s), (0.0, 0.0)) == 0
    assert octaves_to(song, (0.1 * bar_s, 0.4 * bar_s), (0.0, 0.0)) == 2
    assert octaves_to(song, (0.0, 0.0), (0.0, 0.0)) == 0


def test_a_song_without_bars_is_counted_by_its_beats_and_silence_by_nothing():
    silence = features_of(np.zeros(30_720, np.float32))
    assert octaves_to(silence, (2.0, 2.0), (0.5, 0.5)) == 0
    assert within_tempo_range(silence, 1) is silence
    clicks = np.zeros(30_720 * 12, np.float32)
    for second in np.arange(0.3, 11.5, 0.4):
        clicks[round(second * 30_720) :][:300] += np.hanning(300) * np.sin(np.arange(300))
    beats = features_of(clicks)
    assert beats.downbeats_s is None
    assert octaves_to(beats, (9.0, 9.9), (0.7, 0.9)) == -1
    half = within_tempo_range(beats, -1)
    np.testing.assert_allclose(half.beats_s, beats.beats_s[::2])
    assert half.downbeats_s is None
