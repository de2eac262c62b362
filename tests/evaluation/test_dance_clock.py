"""Clocks of dances: rate and offset against the bars of a song, found where they are known."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.songs import ClipSongs
from deepphase.evaluation.dance_clock import (
    DanceClock,
    DanceInBars,
    clocks_of_clips,
    dance_clocks,
    retimed,
)
from deepphase.music.features import features_of
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song

FPS, BAR_S = 60.0, 2.07


def drifting(rate, ahead_s, *, seconds=60.0, noise=0.3, seed=0, metre=3, bar_s=BAR_S):
    """Height of hips that do `rate` bars per bar of the song, `ahead_s` seconds ahead of it."""
    times = np.arange(round(seconds * FPS)) / FPS
    downbeats = np.arange(0.4, seconds, bar_s)
    rng = np.random.default_rng(seed)
    bars = rate * (times - downbeats[0] + ahead_s) / bar_s
    # Noise of a second, as of steps that are no bars.
    rough = np.interp(
        times, np.arange(0, seconds + 1, 0.5), rng.standard_normal(2 * int(seconds) + 2)
    )
    height = 1.0 + 0.02 * (np.cos(2 * np.pi * (bars - 0.4)) + noise * rough)
    return DanceInBars(height, FPS, downbeats, metre)


def test_rate_and_offset_are_found():
    rates, ahead = [1.0, 1.013, 0.985, 1.03], [0.0, 0.0, 0.3, -0.3]
    dances = [drifting(r, a, seed=i) for i, (r, a) in enumerate(zip(rates, ahead, strict=True))]
    clocks = dance_clocks(dances)
    assert all(clock.clear for clock in clocks)
    for clock, rate in zip(clocks, rates, strict=True):
        assert clock.rate == pytest.approx(rate, abs=0.003)
        assert clock.explained > 0.5 > 2 * clock.by_chance
    # Moved by the offset, all dances are at one place of the bar all along.
    places = []
    for clock, rate, a in zip(clocks, rates, ahead, strict=True):
        for second in (5.0, 50.0):
            song_second = clock.offset_s + clock.rate * second
            dance_bar = rate * (second - 0.4 + a) / BAR_S
            places.append(np.exp(2j * np.pi * (dance_bar - (song_second - 0.4) / BAR_S)))
    assert np.abs(np.mean(places)) > 0.99


def test_no_clock_is_claimed_where_the_hips_do_not_follow_bars():
    rng = np.random.default_rng(1)
    times = np.arange(3600) / FPS
    rough = np.interp(times, np.arange(0, 62, 0.4), rng.standard_normal(155))
    still = drifting(1.0, 0.0)
    for height in (1.0 + 0.02 * rough, np.ones(3600), 1 + 0.02 * np.cos(2 * np.pi * times / 2.9)):
        (clock,) = dance_clocks([replace(still, height=height)])
        assert clock == DanceClock(1.0, 0.0, clock.explained, clock.by_chance, False)
    (jumped,) = dance_clocks(
        [replace(still, height=np.concatenate([still.height[:1800], still.height[1862:1862 + 1738],
                                               still.height[-62:]]))]
    )  # fmt: skip
    assert not jumped.clear
    for few in (np.zeros(0), np.array([1.0]), still.downbeats[:4]):
        assert not dance_clocks([replace(still, downbeats=few)])[0].clear


def test_a_dance_that_ran_ahead_is_re_timed_and_says_so():
    song = make_song(3, 24.0, tempo_bpm=90.0, beats_per_bar=3)
    downbeats = song.bars
    features = replace(
        features_of(np.zeros(30720, np.float32)), downbeats_s=downbeats, beats_per_bar=3
    )
    true = dance(song, 3).clip
    true = replace(true, source=replace(true.source, song="waltz.wav"))
    # As recorded with one frame in fifty missing.
    ahead = retimed(true, DanceClock(0.98, -0.2, 1.0, 0.0, True))
    assert ahead.source.song_start_s == -0.2
    ahead = replace(ahead, source=replace(true.source, song_start_s=0.0), name="ahead")
    store = ClipStore.from_clips([ahead, replace(true, name="true")])
    clocks = clocks_of_clips(ClipSongs(store, {"waltz.wav": features}, ()))
    assert clocks.clocks["ahead"].rate / clocks.clocks["true"].rate == pytest.approx(
        1 / 0.98, abs=0.004
    )
    moved, _ = clocks.retimed(store)
    assert len(moved) == pytest.approx(len(true), abs=20)
    assert any("re-timed to the bars" in note for note in moved.source.notes)
    assert "2 of 2 dances are re-timed" in clocks.words()[0]
    assert clocks.as_mapping()["ahead"]["clear"] is True
