import warnings
from pathlib import Path

import numpy as np
import pytest
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st

from deepphase.errors import ParameterError
from deepphase.music import spectra
from deepphase.music.cache import song_features
from deepphase.music.features import FPS, SONG_FEATURE_KINDS, features_of, value_names
from deepphase.synthetic.song import SAMPLE_RATE, make_song
from tests.music.made_sounds import file_bytes, white_noise


@pytest.fixture(scope="module")
def song():
    return features_of(make_song(2, 12.3).samples)


def test_names_and_shapes(song):
    assert FPS == song.fps == 60
    assert len(song) == int(np.ceil(12.3 * 60))
    assert song.duration_s == pytest.approx(12.3, abs=1e-4)
    assert song.array().shape == (len(song), 62)
    assert len(value_names()) == 62
    assert value_names(["mel"])[26] == "mel.26"
    assert value_names(["chroma", "beat", "beat_cycle"])[-4:] == [
        "chroma.B",
        "beat",
        "beat_cycle.sin",
        "beat_cycle.cos",
    ]
    for name, kind in SONG_FEATURE_KINDS.items():
        assert song.blocks[name].shape == (len(song), len(kind.values))
        assert song.blocks[name].dtype == np.float32
    with pytest.raises(ParameterError, match="loudness"):
        song.array(["mel", "loudness"])
    with pytest.raises(ParameterError):
        song.array([])


@pytest.mark.parametrize("at", [0.5, 1.0, 1.237, 2.0 + 1 / 120, 2.9])
def test_an_impulse_lies_in_its_frame(at):
    samples = np.zeros(4 * SAMPLE_RATE, np.float32)
    # Above the song's silence there is something, as in any recording.
    samples += 1e-4 * white_noise(4.0)
    samples[round(at * SAMPLE_RATE)] = 0.9
    song = features_of(samples)
    for name in ("mel", "spectral_flux", "onset_strength"):
        found = int(song.blocks[name].sum(axis=1).argmax())
        assert abs(found - 60 * at) <= 0.5 + 1e-6, name


@pytest.mark.parametrize("at", [1.0, 1.74])
def test_a_tone_that_begins_is_an_onset_there(at):
    time = np.arange(4 * SAMPLE_RATE) / SAMPLE_RATE
    song = features_of(np.sin(2 * np.pi * 440 * time) * (time >= at))
    assert abs(int(song.blocks["onset_strength"].argmax()) - 60 * at) <= 1.5
    mel = song.blocks["mel"].max(axis=1)
    assert mel[: int(60 * at) - 2].max() == pytest.approx(-80)
    assert mel[int(60 * at) + 3 :].min() > -3


def test_pitch_and_crossings_are_what_sounds():
    time = np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE
    for hertz, note in ((440.0, 9), (261.63, 0), (440 * 2 ** (0.4 / 12), 9)):
        song = features_of(np.sin(2 * np.pi * hertz * time))
        inside = slice(10, -10)
        assert (song.blocks["chroma"][inside].argmax(axis=1) == note).all()
        np.testing.assert_allclose(
            song.blocks["zero_crossing_rate"][inside, 0] * SAMPLE_RATE, 2 * hertz, rtol=0.03
        )


def _spectra_of_librosa(samples, tuned):
    import librosa

    def mel(bands):
        power = librosa.feature.melspectrogram(
            y=samples / np.abs(samples).max(),
            sr=SAMPLE_RATE,
            n_fft=2048,
            hop_length=512,
            n_mels=bands,
            fmin=30.0,
            fmax=11_000.0,
            pad_mode="constant",
        )
        return librosa.power_to_db(S=power, ref=np.max, amin=1e-12, top_db=80.0)

    rate = librosa.feature.zero_crossing_rate(
        y=samples, frame_length=2048, hop_length=512, pad=False
    )
    magnitude = np.abs(librosa.stft(y=tuned, n_fft=2048, hop_length=512, pad_mode="constant"))
    pitches, strengths = librosa.piptrack(
        S=magnitude, sr=SAMPLE_RATE, n_fft=2048, fmin=80.0, fmax=2000.0
    )
    strong = (strengths > 0) & (strengths >= np.median(strengths[strengths > 0]))
    tuning = librosa.pitch_tuning(frequencies=pitches[strong], resolution=0.01)
    bank = librosa.filters.chroma(sr=SAMPLE_RATE, n_fft=2048, tuning=tuning)
    mfcc = librosa.feature.mfcc(S=mel(64), n_mfcc=20)
    spectra = {"mel": mel(27), "crossings": rate, "mfcc": mfcc, "chroma": bank @ magnitude**2}
    return {name: np.float32(values.T) for name, values in spectra.items()} | {"tuning": tuning}


def test_spectra_are_librosas():
    samples = make_song(4, 4.0).samples
    moments = np.arange(0, len(samples) - 1, 2 ** (0.21 / 12))
    tuned = np.float32(np.interp(moments, np.arange(len(samples)), samples))  # Played higher.
    # librosa compiles for a minute: its values are kept. Without the file they are made again.
    kept = Path(__file__).with_name("librosa.npz")
    if not kept.exists():
        np.savez_compressed(kept, **_spectra_of_librosa(samples, tuned))
    expected = np.load(kept)
    song = features_of(samples)
    # The end is mirrored here and silent there.
    for name in ("mel", "mfcc"):
        values = expected[name][: len(song)]
        np.testing.assert_allclose(song.blocks[name][:-2], values[:-2], atol=0.05)
    ours = song.blocks["zero_crossing_rate"][4:-4]
    np.testing.assert_allclose(ours, expected["crossings"][4 : len(song) - 4], atol=0.002)

    ours = spectra.short_time_spectra(tuned)
    assert ours.tuning == pytest.approx(float(expected["tuning"]), abs=0.011)
    chroma = expected["chroma"][3 : len(ours.chroma) - 4]
    loudest = chroma.max(axis=1)
    audible = loudest > 1e-4 * loudest.max()
    np.testing.assert_allclose(
        ours.chroma[3:-4][audible], chroma[audible] / loudest[audible, None], atol=4e-3
    )


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(512, 60_000),
    scale=st.sampled_from([1e-30, 1e-4, 1.0, 1e6]),
    share=st.floats(0, 1),
)
def test_every_sound_keeps_the_bounds(seed, count, scale, share):
    generator = np.random.default_rng(seed)
    samples = scale * generator.standard_normal(count) * (generator.uniform(size=count) < share)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        song = features_of(samples)
    assert len(song) == -(-count // 512)
    bounds = {
        "mel": (-80, 0),
        "chroma": (0, 1),
        "spectral_flux": (0, 10.01),
        "onset_strength": (0, 3.34),
        "beat": (0, 1),
        "zero_crossing_rate": (0, 1),
        "beat_cycle": (-1, 1),
        "bar_cycle": (-1, 1),
        "tempo_bpm": (0, 400),
    }
    for name, block in song.blocks.items():
        assert np.isfinite(block).all(), name
        low, high = bounds.get(name, (-np.inf, np.inf))
        assert low - 1e-4 <= block.min() <= block.max() <= high + 1e-4, name
    for name in ("beat_phase", "bar_phase"):
        assert ((song.blocks[name] >= -0.5) & (song.blocks[name] < 0.5)).all()
    assert (np.diff(song.beats_s) > 0).all()
    assert 0 <= song.beat_confidence <= 1


@pytest.fixture(scope="module")
def played():
    made = make_song(5, 20.0, tempo_bpm=104.0)
    return made.samples, features_of(made.samples)


@pytest.mark.parametrize("format", ["WAV", "FLAC", "OGG"])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [22_050, 44_100, 48_000])
def test_one_song_in_any_file_has_the_same_features(tmp_path, played, rate, channels, format):
    samples, expected = played
    sound = soxr.resample(samples, SAMPLE_RATE, rate)
    sound = 0.6 * sound / np.abs(sound).max()
    if channels == 2:
        sound = np.stack([1.2 * sound, 0.8 * sound], axis=1)
    path = tmp_path / "song"
    path.write_bytes(file_bytes(sound, rate, format))
    song = song_features(path, cache=False)
    assert len(song) == len(expected)
    assert len(song.beats_s) == len(expected.beats_s)
    assert np.abs(song.beats_s - expected.beats_s).max() < 0.001
    assert song.beat_confidence == pytest.approx(expected.beat_confidence, abs=0.005)
    assert song.beats_per_bar == expected.beats_per_bar
    np.testing.assert_allclose(song.downbeats_s, expected.downbeats_s, atol=0.001)
    # A file of 22,050 samples a second has nothing above 11 kHz, Vorbis little that is soft.
    narrow, lossy = rate == 22_050, format == "OGG"
    mean_differences = {
        "mel": 0.5 if lossy else 0.025,
        "mfcc": 2.0 if lossy else 0.5 if narrow else 0.01,
        "chroma": 0.015,
        "spectral_flux": 0.1 if narrow else 0.025,
        "onset_strength": 0.002,
        "zero_crossing_rate": 0.05 if narrow else 0.01,
    }
    for name, most in mean_differences.items():
        assert np.abs(song.blocks[name] - expected.blocks[name]).mean() < most, name


def test_features_do_not_depend_on_threads(played, monkeypatch):
    samples, expected = played
    monkeypatch.setattr(spectra, "_THREADS", 1)
    alone = features_of(samples)
    for name, block in expected.blocks.items():
        np.testing.assert_array_equal(block, alone.blocks[name])
