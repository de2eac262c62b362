import numpy as np
import pytest
from scipy.signal import find_peaks, stft

from deepphase.errors import ParameterError
from deepphase.synthetic.bodies import biped
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import SAMPLE_RATE, TempoMap, make_song
from tests.synthetic.motion_checks import (
    largest_acceleration,
    largest_slide,
    lowest_points,
    stances,
)

CHANGING = [(0.0, 100.0), (8.0, 100.0), (14.0, 140.0)]
SONGS = [
    {"tempo_bpm": 120.0},
    {"tempo_bpm": 92.0, "beats_per_bar": 3},
    {"tempo_bpm": CHANGING},
    {"tempo_bpm": 128.0, "swing": 2 / 3, "noise": 0.05},
]


def onset_energy(song):
    """Flux of the spectrum and the times of its frames: a plain onset detector."""
    hop = 256
    _, times, bins = stft(song.samples, song.sample_rate, nperseg=1024, noverlap=1024 - hop)
    loud = np.log1p(50 * np.abs(bins))
    return times[1:], np.maximum(np.diff(loud, axis=1), 0).sum(axis=0)


@pytest.mark.parametrize("options", SONGS)
def test_onsets_are_at_the_beats(options):
    song = make_song(3, 20.0, **options)
    times, energy = onset_energy(song)
    peaks = times[find_peaks(energy, height=0.25 * np.percentile(energy, 99.5))[0]]
    inner = song.beats[(song.beats > 0.2) & (song.beats < song.duration - 0.2)]
    misses = np.abs(peaks[None, :] - inner[:, None]).min(axis=1)
    assert misses.max() < 0.025
    halves = 0.5 * (inner[1:] + inner[:-1])
    on_beat = np.interp(inner, times, np.maximum.reduce([np.roll(energy, k) for k in (-1, 0, 1)]))
    if options.get("swing"):
        assert np.median(on_beat) > 3 * np.median(np.interp(halves, times, energy))


def test_beats_follow_the_tempo():
    song = make_song(1, 20.0, tempo_bpm=CHANGING)
    assert np.diff(song.beats[:5]) == pytest.approx(0.6)
    assert np.diff(song.beats[-4:]) == pytest.approx(60 / 140)
    assert (np.diff(np.diff(song.beats)) < 1e-9).all()
    positions = song.tempo.beat_position(song.beats)
    np.testing.assert_allclose(positions, np.arange(len(positions)), atol=1e-9)
    np.testing.assert_array_equal(song.bars, song.beats[::4])


def test_tempo_map_agrees_with_numeric_integration():
    tempo = TempoMap(np.array([1.0, 4.0, 9.0]), np.array([60.0, 180.0, 90.0]), 0.5, 4)
    times = np.linspace(0.5, 12, 200001)
    rate = tempo.tempo_bpm(times) / 60
    numeric = np.concatenate([[0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(times))])
    np.testing.assert_allclose(tempo.beat_position(times), numeric, atol=1e-7)
    np.testing.assert_allclose(tempo.seconds_at(numeric), times, atol=1e-7)
    np.testing.assert_allclose(tempo.beat_position(np.array([-1.0])), [-1.5])


def test_a_song_is_float32_mono_and_repeats_by_seed():
    song, again, other = make_song(1, 5), make_song(1, 5), make_song(2, 5)
    assert song.samples.dtype == np.float32
    assert song.samples.shape == (5 * SAMPLE_RATE,)
    assert 0.5 < np.abs(song.samples).max() <= 1.0
    np.testing.assert_array_equal(song.samples, again.samples)
    assert np.abs(song.samples - other.samples).max() > 0.1


@pytest.mark.parametrize(
    "options",
    [{"beats_per_bar": 5}, {"tempo_bpm": 0.0}, {"swing": 0.1}, {"noise": -1}, {"seconds": 0.0}],
)
def test_impossible_songs_are_refused(options):
    with pytest.raises(ParameterError):
        make_song(1, **options)


@pytest.mark.parametrize("options", SONGS)
def test_a_dance_is_on_the_beat(options):
    song = make_song(5, 24.0, **options)
    motion = dance(song, 2)
    assert len(motion) == 24 * 60
    assert motion.oscillator_names == ("Beat", "Bar")
    frames = np.round(song.beats * 60).astype(int)
    frames = frames[frames < len(motion)]
    late = motion.oscillator_phase[frames, 0]
    assert np.abs(late).max() < 0.5 * 140 / 60 / 60 + 1e-6
    phase_step = np.diff(motion.oscillator_phase[:, 1])
    expected = 0.5 * (motion.oscillator_frequency[1:, 1] + motion.oscillator_frequency[:-1, 1]) / 60
    assert np.abs(np.mod(phase_step - expected + 0.5, 1) - 0.5).max() < 1e-4
    # Feet land on beats.
    for limb in range(2):
        landings = [run.start for run in stances(motion.contacts[:, limb]) if run.start > 0]
        assert len(landings) >= 3
        beats = song.tempo.beat_position(np.array(landings) / 60.0)
        assert (np.abs(beats - np.round(beats)) < 0.05).all()


@pytest.mark.slow
@pytest.mark.parametrize("options", SONGS)
def test_a_dance_keeps_its_feet_still_and_its_joints_smooth(options):
    song = make_song(5, 40.0, **options)
    for seed in range(4):
        motion = dance(song, seed)
        assert largest_slide(motion) < 1e-3
        assert largest_acceleration(motion) < 260.0
        assert lowest_points(motion, biped()).min() > -0.01
        assert len(motion.gait_names) >= 2


def test_arms_repeat_over_bars():
    song = make_song(5, 30.0, tempo_bpm=120.0)
    motion = dance(song, 3)
    elbow = motion.clip.rotations[:, motion.clip.skeleton.index("LeftForeArm")]
    bar = 120
    # Within a phrase of four bars, away from where it begins and ends.
    start = round(song.bars[4] * 60) + 60
    np.testing.assert_allclose(
        elbow[start : start + bar], elbow[start + bar : start + 2 * bar], atol=2e-3
    )


def test_dances_repeat_by_seed():
    song = make_song(5, 10.0)
    one, again, other = dance(song, 1), dance(song, 1), dance(song, 2)
    np.testing.assert_array_equal(one.clip.rotations, again.clip.rotations)
    assert np.abs(one.clip.rotations - other.clip.rotations).max() > 0.05
