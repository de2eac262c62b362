"""The number of channels that a training chooses, on motion with one rhythm and with several."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.phase.config import PhaseConfig
from deepphase.phase.model import PhaseModel
from deepphase.phase.training import channels
from deepphase.phase.training.channels import Pilot, choice_words, fewest_channels, pilots
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.module import PhaseModule
from deepphase.phase.training.train import train_phase
from tests.formula_motion import NAMES, swinging

LIMBS = ("LeftUpLeg", "RightUpLeg", "LeftArm", "RightArm", "Head")


def one_rhythm(count: int = 8) -> ClipStore:
    rates = np.linspace(0.9, 1.5, count)
    return ClipStore.from_clips([swinging(rate, 8.0, seed=i)[0] for i, rate in enumerate(rates)])


def independent_limbs(count: int = 8) -> ClipStore:
    """Every limb has a rhythm of its own, which no other limb shares."""
    generator, made = np.random.default_rng(0), []
    for clip in one_rhythm(count):
        times = np.arange(len(clip)) / clip.fps
        rotations = np.zeros_like(clip.rotations)
        rotations[..., 3] = 1.0
        for limb in LIMBS:
            swing = np.sin(2 * np.pi * (generator.uniform(0.7, 3.0) * times + generator.random()))
            turns = np.stack([0.6 * swing, np.zeros_like(swing), np.zeros_like(swing)], axis=1)
            rotations[:, NAMES.index(limb)] = Rotation.from_rotvec(turns).as_quat()
        made.append(replace(clip, rotations=rotations))
    return ClipStore.from_clips(made)


def config(**changes) -> PhaseConfig:
    small = {
        "network.window_s": 1.5,
        "network.hidden": 12,
        "training.windows": 64_000,
        "training.batch_size": 32,
    }
    return PhaseConfig.load("default", **(small | changes))


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(channels, "_WINDOWS", 6_400)


@pytest.mark.slow
@pytest.mark.parametrize(("clips", "several"), [(one_rhythm, False), (independent_limbs, True)])
def test_one_rhythm_needs_the_fewest_channels_and_five_limbs_more(short, clips, several):
    store = clips()
    found = pilots(store, PhaseData(store, config()), channels=(2, 4, 8))
    assert (fewest_channels(found) > 2) == several, found


def test_fewest_channels_that_are_nearly_the_best():
    def tried(*unexplained):
        counts = (5, 8, 12)
        return [Pilot(n, 1 - u, 0.02, 0.05) for n, u in zip(counts, unexplained, strict=True)]

    assert fewest_channels(tried(0.4, 0.3, 0.2)) == 12
    assert fewest_channels(tried(0.4, 0.3, 0.29)) == 8
    assert fewest_channels(tried(0.4, 0.39, 0.39)) == 5
    # What is explained more is lost in the speed of the phases.
    faster = [Pilot(5, 0.6, 0.02, 0.05), Pilot(8, 0.7, 0.03, 0.05)]
    assert fewest_channels(faster) == 5
    # Nothing counts below what can be told apart.
    assert fewest_channels([Pilot(5, 0.995, 1e-3, 1e-3), Pilot(8, 0.999, 1e-5, 1e-4)]) == 5
    assert fewest_channels([]) == 5


@pytest.mark.slow
def test_a_training_chooses_resumes_and_keeps_the_choice(tmp_path, monkeypatch):
    monkeypatch.setattr(channels, "_WINDOWS", 320)
    clips, small = one_rhythm(), config(**{"training.windows": 3_200})

    def stop(what, done, total, words):
        if what == "training" and done > total / 2:
            raise KeyboardInterrupt

    whole = train_phase(clips, small, folder=tmp_path / "whole", accelerator="cpu")
    with pytest.raises(KeyboardInterrupt):
        train_phase(clips, small, folder=tmp_path / "cut", progress=stop, accelerator="cpu")
    monkeypatch.setattr(channels, "_trained", None)  # what was measured is not measured again
    model = train_phase(clips, small, folder=tmp_path / "cut", resume=True, accelerator="cpu")
    assert model.sha256 == whole.sha256
    tried = [pilot["channels"] for pilot in model.provenance["pilots"]]
    assert tried == [5, 8, 12]
    assert model.channels in tried
    model.save(tmp_path / "a.model")
    (words,) = choice_words(PhaseModel.load(tmp_path / "a.model").provenance)
    assert words.startswith(f"{model.channels} channels were chosen by short trainings: 5 explain")


def test_short_trainings_have_five_channels_and_no_pilots():
    store = one_rhythm(2)
    assert pilots(store, PhaseData(store, config(**{"training.windows": 320}))) == []


def test_channels_that_are_not_chosen_are_refused():
    clips = one_rhythm(2)
    with pytest.raises(ParameterError, match=r"number of channels is not chosen yet"):
        PhaseModule(config(), PhaseData(clips, config()).signals)
    with pytest.raises(ParameterError, match="applies to models of one skeleton"):
        PhaseConfig.load("any_skeleton", **{"network.channels": 0})
