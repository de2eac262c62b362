"""Phases of songs: learnt from songs by formula, they go with the true beats."""

import numpy as np
import pytest
import soundfile

from deepphase.arrays import wrapped
from deepphase.corpus.motion_files import holds_only_songs
from deepphase.corpus.songs import find_songs
from deepphase.errors import CheckpointError, DeepPhaseError, FormatError, ParameterError
from deepphase.formats.array_file import read_header
from deepphase.music.audio import HOP, SAMPLE_RATE
from deepphase.music.cache import song_features
from deepphase.music.features import features_of
from deepphase.phase.config import PhaseConfig, reads_songs
from deepphase.phase.extractor import load_extractor
from deepphase.phase.model import PhaseModel
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.song_signals import SONG_FEATURES
from deepphase.phase.training.train import train_phase
from deepphase.synthetic.song import make_song
from tests.formula_motion import swinging

pytestmark = pytest.mark.slow

# Of the beat's frequency, what a channel may have learnt.
MULTIPLES = (0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def songs(tmp_path_factory):
    """A folder of five songs from 90 to 140 beats a minute."""
    folder = tmp_path_factory.mktemp("songs")
    for seed, bpm in enumerate(np.linspace(90.0, 140.0, 5)):
        song = make_song(seed, 10.0, tempo_bpm=float(bpm), beats_per_bar=3 + seed % 2)
        soundfile.write(folder / f"song_{seed}.wav", song.samples, song.sample_rate)
    return folder


@pytest.fixture(scope="module")
def corpus(songs):
    return SignalCorpus.from_songs(find_songs(songs))


def config(**changes):
    tiny = {
        "network.channels": 3,
        "network.hidden": 16,
        "network.band_hz": 6.0,
        "training.windows": 2_400,
        "training.batch_size": 32,
        "training.learning_rate": 4e-3,
        "training.held_out": 0.2,
    }
    return PhaseConfig.load("default", **(tiny | changes))


@pytest.fixture(scope="module")
def model(corpus, tmp_path_factory):
    return train_phase(
        corpus, config(), folder=tmp_path_factory.mktemp("training"), accelerator="cpu"
    )


def test_a_channel_goes_with_the_beat(model):
    """Of a song that was never heard: its frequency is the beat's, and its phase goes with it."""
    song = make_song(60, 10.0, tempo_bpm=107.0)
    phases = model.encode(features_of(song.samples))
    beats = song.tempo.beat_position(phases.time)[phases.interior]
    inside = phases.parameters[phases.interior]
    found = []
    for channel in range(model.channels):
        frequency = np.median(inside.frequency[:, channel]) / (107.0 / 60)
        for multiple in MULTIPLES:
            ahead = wrapped(inside.phase[:, channel] - multiple * beats)
            centre = np.angle(np.exp(2j * np.pi * ahead).mean()) / (2 * np.pi)
            error = np.median(np.abs(wrapped(ahead - centre)))
            found.append((error, abs(frequency / multiple - 1.0)))
    error, off = min(found)
    assert error < 0.01  # a phase that has nothing to do with the beat is 0.25 off
    assert off < 0.015


def test_health_is_told_feature_by_feature(model):
    health = model.health
    assert set(health.explained_by_joint) == set(SONG_FEATURES)
    assert health.explained_by_joint["onset_strength"] > 0.15
    assert health.forward_strongest > 0.95
    assert model.provenance["data"]["files"][0] == "song_0.wav"


def test_a_model_of_songs_is_a_file_like_any_other(model, songs, tmp_path):
    path = tmp_path / "song.model"
    model.save(path)
    again = PhaseModel.load(path)
    assert again.signals == model.signals
    song = song_features(songs / "song_1.wav")
    one, two = model.encode(song), again.encode(song)
    np.testing.assert_array_equal(one.parameters.manifold(), two.parameters.manifold())
    assert one.name == "song_1"
    assert len(one) == len(song)
    assert read_header(path)["version"] == 1
    assert reads_songs(path)


def test_what_asks_for_motion_refuses_a_model_of_songs(model, tmp_path):
    model.save(tmp_path / "song.model")
    with pytest.raises(CheckpointError, match="of songs where a phase model of motion is needed"):
        load_extractor(tmp_path / "song.model")
    with pytest.raises(ParameterError, match="this is a clip, and the model reads songs"):
        model.encode(swinging(1.0)[0])


def test_every_feature_has_the_same_say(corpus):
    """Decibels from -80 to 0 count no more than a pulse of 1."""
    values = corpus.values.astype(np.float64)
    groups = np.array(corpus.signals.groups)
    parts = [
        values[a:b] - values[a:b].mean(0) for a, b in zip(corpus.starts, corpus.stops, strict=True)
    ]
    variance = np.square(np.concatenate(parts)).mean(0)
    for name in SONG_FEATURES:
        # Bands that are all but empty count for less.
        assert 0.8 < variance[groups == name].sum() < 1.001, name
    assert corpus.signals.names[:2] == ["mel.0", "mel.1"]
    assert corpus.signals.names[-1] == "beat"


def test_a_song_that_is_there_twice_is_on_one_side(songs, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.wav").write_bytes((songs / "song_0.wav").read_bytes())
    (tmp_path / "c.wav").write_bytes((songs / "song_1.wav").read_bytes())
    corpus = SignalCorpus.from_songs(find_songs(tmp_path))
    assert corpus.sources[0] == corpus.sources[1] != corpus.sources[2]


def test_songs_that_cannot_be_read_are_left_out(songs, tmp_path):
    (tmp_path / "good.wav").write_bytes((songs / "song_0.wav").read_bytes())
    (tmp_path / "bad.ogg").write_bytes(b"HIERARCHY\nROOT Hips")
    refused: list[DeepPhaseError] = []
    corpus = SignalCorpus.from_songs(find_songs(tmp_path), refused=refused)
    assert len(corpus.starts) == 1
    assert "BVH" in str(refused[0])
    with pytest.raises(FormatError, match=r"bad\.ogg"):
        SignalCorpus.from_songs(find_songs(tmp_path))
    with pytest.raises(FormatError, match="none of 1 songs"):
        SignalCorpus.from_songs([tmp_path / "bad.ogg"], refused=[])


def test_silence_and_unknown_features_are_refused(tmp_path):
    soundfile.write(tmp_path / "silence.wav", np.zeros(200 * HOP, np.float32), SAMPLE_RATE)
    with pytest.raises(ParameterError, match="the same all through every song"):
        SignalCorpus.from_songs([tmp_path / "silence.wav"])
    with pytest.raises(ParameterError, match="no song feature 'loudness'"):
        SignalCorpus.from_songs([tmp_path / "silence.wav"], ["loudness"])


def test_which_files_are_songs(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("b/two.OGG", "one.wav", ".hidden.wav", "cover.txt"):
        (tmp_path / name).write_bytes(b"x")
    assert [path.name for path in find_songs(tmp_path)] == ["two.OGG", "one.wav"]
    assert [path.name for path in find_songs(tmp_path / "cover.txt")] == ["cover.txt"]
    assert all(map(holds_only_songs, (tmp_path, tmp_path / "b", tmp_path / "one.wav")))
    assert not holds_only_songs(tmp_path / "cover.txt")
    (tmp_path / "dance.bvh").write_bytes(b"HIERARCHY")
    assert not holds_only_songs(tmp_path)
    with pytest.raises(FormatError, match="no such file"):
        find_songs(tmp_path / "nowhere")
    (tmp_path / "none").mkdir()
    with pytest.raises(FormatError, match="no songs"):
        find_songs(tmp_path / "none")
