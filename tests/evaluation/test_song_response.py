"""Trials of dances whose truth is known: one that follows its song, and free clocks."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.evaluation.dance_measures import measure_dance
from deepphase.evaluation.song_response import (
    STRETCH_FACTORS,
    bars_per_bar,
    recorded_directions,
    song_response,
)
from deepphase.music.beats import beat_position
from deepphase.music.features import SONG_FEATURE_KINDS, SongFeatures, features_of
from deepphase.music.song_controls import silent_song, stretched
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song

FPS, SECONDS, PLACE = 60.0, 24.0, 0.4


@pytest.fixture(scope="module")
def songs():
    made = waltz(34.0)
    # All training waltzes have nearly one tempo, as real ones had.
    return [replace(stretched(made, factor), name=f"waltz {factor}") for factor in (1.0, 1.01)]


@pytest.fixture(scope="module")
def body():
    clip = dance(make_song(0, 2.0, tempo_bpm=90.0, beats_per_bar=3), 0).clip
    # The same two seconds again and again: only the hips' height matters here.
    index = np.arange(round(SECONDS * FPS)) % len(clip)
    return replace(clip, rotations=clip.rotations[index], translations=clip.translations[index])


def waltz(seconds, bar_s=2.045):
    """A song without sound, with bars."""
    frames = round(60 * seconds)
    blocks = {
        name: np.zeros((frames, len(kind.values)), np.float32)
        for name, kind in SONG_FEATURE_KINDS.items()
    }
    beats_s = np.arange(0.3, seconds - 0.1, bar_s / 3)
    return SongFeatures(
        blocks, seconds, beats_s, beats_s[::3], 3, 180.0 / bar_s, 1.0, 1.0, name="waltz"
    )


def moved(body, bars):
    """A clip whose hips are highest at `PLACE` of every bar."""
    clip = body.sliced(0, len(bars))
    translations = clip.translations.copy()
    translations[:, 0] = (0.0, 1.0, 0.0)
    translations[:, 0, 1] += 0.03 * np.cos(2 * np.pi * (bars - PLACE))
    translations[:, 0, 1] += 0.005 * np.random.default_rng(0).standard_normal(len(bars))
    return replace(clip, translations=translations)


def follows(body):
    """Follows the bars of each song; without any it sways at a period of its own."""

    def make(requests):
        clips = []
        for song, request in requests:
            times = request.start_s + np.arange(round(request.seconds * FPS)) / FPS
            bars = (
                times / (2.3 + 0.1 * request.seed)
                if song.downbeats_s is None
                else beat_position(song.downbeats_s, times)
            )
            clips.append(moved(body, bars))
        return clips

    return make


def free_clock(body, period_s=2.05):
    """Sways every two seconds, whatever the song, from another moment with each seed."""

    def make(requests):
        return [
            moved(
                body,
                np.arange(round(request.seconds * FPS)) / FPS / period_s
                + np.random.default_rng(request.seed).uniform(),
            )
            for _, request in requests
        ]

    return make


def recorded(body, songs):
    clips = follows(body)([(song, Request(0.0, SECONDS, 0)) for song in songs])
    return [
        (measure_dance(c), 3, np.asarray(s.downbeats_s)) for c, s in zip(clips, songs, strict=True)
    ]


class Request:
    def __init__(self, start_s, seconds, seed):
        self.start_s, self.seconds, self.seed = start_s, seconds, seed


def test_the_truth_passes(songs, body):
    found = song_response(
        follows(body),
        songs[:2],
        recorded(body, songs[:2]),
        seeds=2,
        stretched_seeds=1,
        seconds=SECONDS,
    )
    assert found.place.shape == (2, 2)
    assert found.place.min() > 0.9
    assert found.deaf_explained.max() < 0.1
    assert abs(found.deaf_place).max() < 0.3
    assert found.rates.shape == (2, len(STRETCH_FACTORS), 1)
    assert found.follows == 1.0
    values = found.values()
    assert values["recorded_place"] > 0.9
    assert values["place"] == pytest.approx(found.place.mean())
    by_seed = found.place.mean(axis=0)
    assert values["place_lowest_seed"] == by_seed.min()
    assert values["place_highest_seed"] == by_seed.max()
    assert len(found.dances) == 4


def test_a_deaf_clock_of_the_usual_tempo_fails_though_it_fits_every_song(songs, body):
    found = song_response(
        free_clock(body),
        songs[:2],
        recorded(body, songs[:2]),
        seeds=4,
        stretched_seeds=1,
        seconds=SECONDS,
    )
    # The period alone fits nearly as well as a dance that hears.
    assert found.explained.mean() > 0.6
    # What shows that it is deaf:
    assert found.deaf_explained.mean() > 0.6
    assert found.place.mean() < 0.5
    assert found.place.min() < 0.0
    assert found.follows == 0.0
    assert np.isfinite(found.other_place).all()


def test_the_period_is_measured_against_bars_and_not_assumed(body):
    downbeats = np.arange(0.0, SECONDS, 2.0)
    times = np.arange(round(SECONDS * FPS)) / FPS
    for ratio in (0.75, 0.9, 1.0, 1.25, 1.4):
        clip = moved(body, ratio * times / 2.0)
        assert bars_per_bar(measure_dance(clip), downbeats) == pytest.approx(ratio, rel=0.01)
    assert bars_per_bar(measure_dance(moved(body, times)), downbeats[:4]) is None


def test_songs_without_bars_are_left_out(songs, body):
    quiet = silent_song(1.0)
    assert quiet.downbeats_s is None
    assert song_response(follows(body), [quiet], recorded(body, songs[:1])) is None
    assert set(recorded_directions(recorded(body, songs[:1]))) == {3}
    with pytest.raises(ParameterError, match="seed"):
        song_response(follows(body), songs, [], seeds=0)


def test_a_stretched_song_keeps_its_sound_and_moves_its_beats():
    made = features_of(make_song(1, 6.0, tempo_bpm=100.0).samples)
    fast = stretched(made, 1.25)
    assert fast.duration_s == pytest.approx(made.duration_s / 1.25)
    np.testing.assert_allclose(fast.beats_s, made.beats_s / 1.25)
    assert fast.tempo_bpm == pytest.approx(1.25 * made.tempo_bpm)
    assert fast.blocks["beat"].sum() == made.blocks["beat"].sum()
    at = 200
    np.testing.assert_array_equal(fast.blocks["mel"][at], made.blocks["mel"][round(1.25 * at)])
    np.testing.assert_array_equal(stretched(made, 1.0).blocks["mel"], made.blocks["mel"])
    for factor in (0.0, -1.0, np.nan, 1e9):
        with pytest.raises(ParameterError, match="tempo"):
            stretched(made, factor)
