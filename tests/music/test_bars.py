from functools import lru_cache

import numpy as np
import pytest

from deepphase.music.bars import BarEvidence, find_bars, find_rhythm
from deepphase.music.features import FPS
from deepphase.music.spectra import short_time_spectra
from deepphase.synthetic.song import make_song


@lru_cache(maxsize=4)
def made(tempo_bpm, beats_per_bar, seed=3):
    song = make_song(seed, 30.0, tempo_bpm=tempo_bpm, beats_per_bar=beats_per_bar)
    return song, short_time_spectra(song.samples)


@pytest.mark.parametrize("ratio", [0.5, 2.0, 1.5])
@pytest.mark.parametrize(("bpm", "metre"), [(64.0, 3), (116.0, 3), (84.0, 4)])
def test_a_song_followed_at_another_level_is_counted_by_its_beats(bpm, metre, ratio, monkeypatch):
    song, spectra = made(bpm, metre)
    tempo = np.full(len(spectra.flux), bpm * ratio)
    monkeypatch.setattr("deepphase.music.bars.follow_tempo", lambda *_: tempo)
    beats, bars = find_rhythm(spectra, FPS)
    assert beats.tempo_bpm == pytest.approx(bpm, rel=0.01)
    assert np.abs(beats.beats_s - song.beats).max() < 0.03
    assert bars.beats_per_bar == metre
    # The last bar may be cut off.
    downbeats = beats.beats_s[bars.downbeats]
    assert len(downbeats) >= len(song.bars) - 2
    assert np.abs(downbeats[:, None] - song.bars).min(axis=1).max() < 0.03


def test_few_beats_have_no_bars():
    song, spectra = made(120.0, 4)
    assert find_bars(BarEvidence.from_beats(song.beats[:11], spectra, FPS)) is None
    bars = find_bars(BarEvidence.from_beats(song.beats, spectra, FPS))
    assert song.beats[bars.downbeats] == pytest.approx(song.bars)


def test_beats_have_no_bars_where_nothing_sounds():
    spectra = short_time_spectra(np.zeros(20 * 30_720, np.float32))
    assert find_bars(BarEvidence.from_beats(np.arange(0.5, 19.0, 0.5), spectra, FPS)) is None
