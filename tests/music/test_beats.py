import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.music.beats import beat_position, local_tempo_bpm
from deepphase.music.features import MIN_CONFIDENCE, features_of
from deepphase.synthetic.song import SAMPLE_RATE, make_song
from tests.music.made_sounds import babble, clicks, f_measure, white_noise

SONGS = [
    {"tempo_bpm": 72.0},
    {"tempo_bpm": 90.0},
    {"tempo_bpm": 100.0, "swing": 2 / 3},
    {"tempo_bpm": 112.0},
    {"tempo_bpm": 120.0, "noise": 0.3},
    {"tempo_bpm": 128.0},
    {"tempo_bpm": 140.0, "noise": 0.1},
    {"tempo_bpm": 150.0, "swing": 2 / 3},
    {"tempo_bpm": 84.0, "beats_per_bar": 3},
    {"tempo_bpm": 96.0, "beats_per_bar": 3, "noise": 0.2},
    {"tempo_bpm": 130.0, "beats_per_bar": 3},
    {"tempo_bpm": 160.0, "beats_per_bar": 3},
    {"tempo_bpm": [(0.0, 100.0), (8.0, 100.0), (16.0, 130.0)]},
]


@pytest.mark.parametrize("bpm", [60, 90, 120, 140, 150])
@pytest.mark.parametrize("seconds", [10.0, 31.7])
def test_click_tracks(bpm, seconds):
    samples, moments = clicks(bpm, seconds)
    song = features_of(samples)
    assert song.tempo_bpm == pytest.approx(bpm, rel=0.01)
    assert len(song.beats_s) == len(moments)
    assert np.abs(song.beats_s - moments).max() < 0.025
    assert song.beat_confidence > 0.7
    # One click sounds like the next: there are no bars.
    assert song.downbeats_s is None


@pytest.mark.parametrize("options", SONGS)
def test_songs_with_known_beats_and_bars(options):
    made = make_song(7, 30.0, **options)
    song = features_of(made.samples)
    assert f_measure(song.beats_s, made.beats) > 0.97
    assert song.beat_confidence > MIN_CONFIDENCE
    assert song.beats_per_bar == made.tempo.beats_per_bar
    assert song.downbeats_s is not None
    assert f_measure(song.downbeats_s, made.bars) > 0.9
    assert set(song.downbeats_s) <= set(song.beats_s)
    # Where the song plays, phases are those of the formula.
    playing = (song.time > made.beats[0]) & (song.time < made.beats[-1])
    for name, beats in (("beat", 1), ("bar", made.tempo.beats_per_bar)):
        away = song.blocks[f"{name}_phase"][:, 0] - made.tempo.beat_position(song.time) / beats
        away = np.abs(np.mod(away + 0.5, 1) - 0.5)[playing]
        assert np.quantile(away, 0.95) < 0.06
    tempo = song.blocks["tempo_bpm"][playing, 0]
    np.testing.assert_allclose(tempo, made.tempo.tempo_bpm(song.time)[playing], rtol=0.06)


def with_hits(made, moments, hit, level=1.0):
    samples = made.samples.copy()
    for moment in moments:
        start = round(moment * SAMPLE_RATE)
        samples[start : start + len(hit)] += level * hit[: len(samples) - start]
    return samples


@pytest.mark.parametrize("bpm", [90.0, 100.0])
@pytest.mark.parametrize("level", [0.3, 1.0])
@pytest.mark.parametrize("sound", ["hat", "tone"])
def test_loud_off_beats_do_not_double_the_tempo(bpm, level, sound):
    made = make_song(3, 30.0, tempo_bpm=bpm)
    time = np.arange(round(0.05 * SAMPLE_RATE)) / SAMPLE_RATE
    hit = np.random.default_rng(0).standard_normal(len(time)) * np.exp(-time / 0.015)
    if sound == "tone":
        hit = np.sin(2 * np.pi * 440 * time) * np.exp(-time / 0.03)
    song = features_of(with_hits(made, made.beats[:-1] + 30 / bpm, hit, level))
    assert song.tempo_bpm == pytest.approx(bpm, rel=0.01)
    assert f_measure(song.beats_s, made.beats) > 0.95
    assert song.has_beat
    # It may be counted at twice the tempo, and that is said.
    assert song.beat_confidence < 0.95
    if song.other_tempi:
        assert song.other_tempi[0] == pytest.approx(2 * bpm, rel=0.01)
        assert f"at {2 * bpm:.0f} a minute as well as at {bpm:.0f}" in song.doubt


@pytest.mark.parametrize("bpm", [105.0, 120.0, 140.0])
def test_loud_snares_do_not_halve_the_tempo(bpm):
    made = make_song(3, 30.0, tempo_bpm=bpm)
    time = np.arange(round(0.2 * SAMPLE_RATE)) / SAMPLE_RATE
    hit = np.random.default_rng(0).standard_normal(len(time)) * np.exp(-time / 0.06)
    song = features_of(with_hits(made, made.beats[1:-1:2], hit))
    assert song.tempo_bpm == pytest.approx(bpm, rel=0.01)
    assert f_measure(song.beats_s, made.beats) > 0.95


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("bpm", [178.0, 195.0])
def test_fast_songs_are_not_counted_at_half_but_may_be(bpm, seed):
    song = features_of(make_song(seed, 30.0, tempo_bpm=bpm).samples)
    assert song.tempo_bpm == pytest.approx(bpm, rel=0.01)
    assert any(other == pytest.approx(bpm / 2, rel=0.01) for other in song.other_tempi)
    assert song.beat_confidence <= 0.8


def test_fast_triplets_are_counted_at_half_and_it_is_said():
    bpm = 184.9
    made = make_song(7030, 30.0, tempo_bpm=bpm)
    time = np.arange(round(0.05 * SAMPLE_RATE)) / SAMPLE_RATE
    hit = np.random.default_rng(0).standard_normal(len(time)) * np.exp(-time / 0.015)
    thirds = np.concatenate([made.beats[:-1] + part / bpm for part in (20, 40)])
    song = features_of(with_hits(made, thirds, hit, 0.8))
    assert bpm == pytest.approx(song.other_tempi[0], rel=0.01)


def test_clicks_of_two_readings_are_not_certain_and_a_hint_decides():
    """Off-beats as loud as beats: 75 and 150 beats a minute are the same sounds."""
    samples, _ = clicks(150, 20.0)
    assert features_of(samples).beat_confidence < 0.85
    for bpm, count in ((70.0, 75.0), (155.0, 150.0)):
        song = features_of(samples, bpm=bpm)
        assert song.tempo_bpm == pytest.approx(count, rel=0.01)
        assert song.tempo_confidence == 1.0
        assert not song.doubt
    with pytest.raises(ParameterError, match="900 beats a minute is not a tempo of a song"):
        features_of(samples, bpm=900.0)


def test_a_steady_tempo_has_a_steady_phase_to_the_end():
    made = make_song(3, 40.0, tempo_bpm=107.0, noise=0.1)
    song = features_of(made.samples)
    step = np.diff(song.blocks["beat_phase"][:, 0].astype(np.float64))
    step = np.mod(step + 0.5, 1) - 0.5
    np.testing.assert_allclose(step, 107 / 60 / 60, rtol=0.01)
    assert song.beats_s[-1] == pytest.approx(made.beats[-1], abs=0.025)
    assert song.blocks["beat"].sum() == len(song.beats_s)


@pytest.mark.parametrize("seconds", [3.0, 8.0, 30.0])
@pytest.mark.parametrize("kind", ["silence", "noise", "speech", "hum"])
def test_what_has_no_beat(kind, seconds):
    count = round(seconds * SAMPLE_RATE)
    samples = {
        "silence": lambda: np.zeros(count, np.float32),
        "noise": lambda: white_noise(seconds, 5),
        "speech": lambda: babble(seconds, 4),
        "hum": lambda: np.sin(2 * np.pi * 100 * np.arange(count) / SAMPLE_RATE),
    }[kind]()
    song = features_of(samples)
    assert song.beat_confidence < (MIN_CONFIDENCE if seconds > 3 else 0.5)
    assert song.downbeats_s is None
    assert np.isfinite(song.tempo_bpm)
    for block in song.blocks.values():
        assert np.isfinite(block).all()
    if kind == "silence":
        assert song.tempo_bpm == song.beat_confidence == len(song.beats_s) == 0
        for name in ("beat", "beat_phase", "beat_cycle", "bar_cycle", "tempo_bpm"):
            assert not song.blocks[name].any()


@pytest.mark.parametrize("snr_db", [10, 0, -5])
@pytest.mark.parametrize(("metre", "bpm"), [(3, 88.0), (4, 124.0)])
def test_songs_in_loud_noise_have_their_beats(metre, bpm, snr_db):
    made = make_song(4, 30.0, tempo_bpm=bpm, beats_per_bar=metre)
    noise = white_noise(30.0, 1)
    noise *= np.sqrt(np.mean(made.samples**2) / np.mean(noise**2)) * 10 ** (-snr_db / 20)
    song = features_of(made.samples + noise)
    assert song.has_beat
    assert f_measure(song.beats_s, made.beats) > 0.97


def test_beat_position_goes_on_beyond_the_beats():
    beats = np.array([1.0, 1.5, 2.0, 3.0])
    np.testing.assert_allclose(
        beat_position(beats, np.array([0.5, 1.0, 1.25, 2.5, 3.0, 3.5])),
        [-1.0, 0.0, 0.5, 2.5, 3.0, 4.0],
    )
    assert local_tempo_bpm(np.arange(9) * 0.5, np.array([-1.0, 2.0, 9.0])) == pytest.approx(120)
