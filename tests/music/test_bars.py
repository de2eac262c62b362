import numpy as np
import pytest

from deepphase.music.bars import beats_of_bars, find_bars
from deepphase.music.beats import Beats
from deepphase.music.features import FPS
from deepphase.music.spectra import short_time_spectra
from deepphase.synthetic.song import make_song


def made(tempo_bpm, beats_per_bar, seed=3):
    song = make_song(seed, 30.0, tempo_bpm=tempo_bpm, beats_per_bar=beats_per_bar)
    return song, short_time_spectra(song.samples)


def halves(song, first):
    """The song's beats and the middles between them, from the first or the second of these on."""
    middles = song.beats[:-1] + 0.5 * np.diff(song.beats)
    times = np.sort(np.concatenate([song.beats, middles]))[first:]
    return Beats(times, float(60 / np.median(np.diff(times))), 0.7)


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("bpm", [80.0, 87.0, 96.0])
def test_a_waltz_tracked_twice_as_fast_is_counted_by_its_beats(bpm, first):
    song, spectra = made(bpm, 3)
    beats = beats_of_bars(halves(song, first), spectra, FPS)
    assert beats.tempo_bpm == pytest.approx(bpm, rel=1e-3)
    assert beats.confidence == 0.7
    np.testing.assert_allclose(beats.beats_s, song.beats[first:])
    bars = find_bars(beats.beats_s, spectra, FPS)
    assert bars.beats_per_bar == 3
    # The last bar may be cut off.
    downbeats = beats.beats_s[bars.downbeats]
    assert set(downbeats) <= set(song.bars)
    assert len(downbeats) >= len(song.bars) - 2


@pytest.mark.parametrize(("bpm", "metre"), [(155.0, 3), (175.0, 3), (198.0, 3), (160.0, 4)])
def test_a_fast_song_keeps_its_beats(bpm, metre):
    song, spectra = made(bpm, metre)
    beats = Beats(song.beats, bpm, 0.7)
    assert beats_of_bars(beats, spectra, FPS) is beats


def test_songs_in_four_and_slow_or_short_ones_keep_theirs():
    song, spectra = made(87.0, 4)
    beats = halves(song, 0)
    assert beats_of_bars(beats, spectra, FPS) is beats
    song, spectra = made(74.0, 3)
    beats = halves(song, 0)
    assert beats_of_bars(beats, spectra, FPS) is beats
    short = Beats(beats.beats_s[:17], 174.0, 0.7)
    assert beats_of_bars(short, spectra, FPS) is short
