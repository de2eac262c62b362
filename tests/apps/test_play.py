"""`deepphase play`: clips, their phases and a song as one page."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.formats.bvh.writer import save_bvh
from deepphase.phase.config import PhaseConfig
from deepphase.phase.encoding import make_autoencoder
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import ManifoldProjection
from deepphase.phase.signals import JointVelocities
from deepphase.synthetic.gait_motion import locomotion
from tests.viewer.player_pages import PageParts, wav_bytes


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    for index, gait in enumerate(("walk", "run", "skip")):
        clip = locomotion(index, 2.5, gait=gait).clip
        save_bvh(replace(clip, name=gait), folder / f"{gait}.bvh")
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """An untrained model: the page shows whatever a model says."""
    config = PhaseConfig.load("default", **{"network.channels": 5})
    signals = JointVelocities.from_clip(locomotion(0, 2.5).clip)
    network = make_autoencoder(3 * len(signals.joints), signals.fps, config.network)
    channels = 2 * config.network.channels
    manifold = np.random.default_rng(0).normal(size=(50, channels))
    path = tmp_path_factory.mktemp("model") / "walk.model"
    PhaseModel(network, config, signals, ManifoldProjection.fit(manifold)).save(path)
    return path


def played(*words):
    """The parts of the page that a command line makes."""
    *_, output = words
    assert main(["play", *map(str, words[:-1]), "-o", str(output)]) == 0
    return PageParts(output.read_text(encoding="utf-8"))


def test_one_file(clips, tmp_path):
    parts = played(clips / "walk.bvh", tmp_path / "page.html")
    (take,) = parts.scene["takes"]
    assert parts.title == take["name"] == "walk"
    assert take["duration"] == pytest.approx(2.5, abs=0.05)
    assert take["channels"] is take["song"] is None
    assert [curve["name"] for curve in take["curves"]] == ["Speed"]


def test_folder_with_a_model(clips, model, tmp_path):
    parts = played(clips, "--model", model, tmp_path / "page.html")
    assert [take["name"] for take in parts.scene["takes"]] == ["run", "skip", "walk"]
    trained = PhaseModel.load(model)
    for take in parts.scene["takes"]:
        frames, channels = take["channels"]["phase"]["shape"]
        assert channels == trained.config.network.channels
        assert take["manifold"]["path"]["shape"] == [frames, 3]
        assert take["manifold"]["colourTitle"] == "clip"
    # All clips lie in the one cloud, which is carried once.
    assert len({take["manifold"]["points"]["id"] for take in parts.scene["takes"]}) == 1


@pytest.mark.slow
def test_a_song_plays_with_every_clip(clips, tmp_path):
    song = tmp_path / "tone.wav"
    song.write_bytes(wav_bytes(2.0, rate=22_050))
    parts = played(clips, "--song", song, tmp_path / "page.html")
    assert [take["name"] for take in parts.scene["takes"]] == ["run", "skip", "walk"]
    take = parts.scene["takes"][0]
    assert take["song"]["duration"] == pytest.approx(2.0)
    assert parts.raw(take["song"]["data"]) == song.read_bytes()
    assert take["song"]["spectrogram"]["shape"][0] == 27
