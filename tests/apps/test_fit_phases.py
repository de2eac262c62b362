"""`deepphase fit phases`, and the commands that take what it writes as a model."""

from __future__ import annotations

import json

import numpy as np
import pytest

from deepphase.formats.load import save
from deepphase.phase.extractor import BASELINES, load_extractor
from deepphase.phase.parameters import load_phases
from deepphase.synthetic.gait_motion import locomotion
from tests.apps.running import run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    for seed, gait in enumerate(("walk", "run", "skip")):
        save(locomotion(seed, 4.0, gait=gait).clip, folder / f"{gait}.bvh")
    return folder


@pytest.fixture(scope="module")
def store(clips):
    path = clips.parent / f"{clips.name}.store"
    assert run("prepare", clips, "-o", path) == 0
    return path


@pytest.fixture(scope="module")
def files(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    for method in BASELINES:
        assert run("fit", "phases", store, "--method", method, "-o", folder / method) == 0
    return folder


@pytest.mark.parametrize("method", list(BASELINES))
def test_encode_and_evaluate_take_it(files, clips, store, method, tmp_path):
    made = load_extractor(files / method)
    assert run("encode", files / method, clips, "-o", tmp_path / "phases") == 0
    phases, meta = load_phases(tmp_path / "phases" / "walk.phases.npz")
    assert phases.parameters.channels == meta["channels"] == made.channels
    assert meta["model_sha256"] == made.sha256
    assert run("evaluate", files / method, store, "-o", tmp_path / "r", "--queries", 200) == 0
    report = json.loads((tmp_path / "r" / "report.json").read_text())
    measured = {each["name"]: each["value"] for each in report["measures"]}
    assert "explained variance" not in measured
    assert report["health"]["explained_variance"] is None
    assert measured["phase goes forward"] > 0.95
    assert 0 <= measured["phase-speed error"] < 0.1
    assert measured["rank of the frame 15 frames ahead"] >= 1
    assert "none" in (tmp_path / "r" / "index.html").read_text()


def test_an_embedding_is_trained_encoded_and_evaluated(store, clips, tmp_path, monkeypatch):
    """The convolutional embedding goes the way of every network, and tells no frequency."""
    given = (
        "--set=training.windows=640",
        "--set=training.batch_size=32",
        "--set=network.window_s=1.0",
    )
    trained = ("train", "phase", store, "--config", "conv_embedding", "-o", tmp_path / "m")
    assert run(*trained, *given, "--set=trainer.accelerator=cpu") == 0
    assert run("encode", tmp_path / "m", clips, "-o", tmp_path / "phases") == 0
    phases, _ = load_phases(tmp_path / "phases" / "walk.phases.npz")
    assert not phases.parameters.frequency.any()
    assert np.ptp(phases.parameters.manifold(), axis=0).max() > 0
    assert run("evaluate", tmp_path / "m", store, "-o", tmp_path / "r", "--queries", 200) == 0
    report = json.loads((tmp_path / "r" / "report.json").read_text())
    names = [each["name"] for each in report["measures"]]
    assert "phase-speed error" not in names
    assert "explained variance" in names
    assert run("figures", tmp_path / "m", store, "-o", tmp_path / "f") == 0


def test_evaluate_measures_other_phases_on_the_same_frames(files, store, tmp_path):
    words = ("evaluate", files / "pca", store, "-o", tmp_path, "--queries", 100)
    assert run(*words, "--against", f"contact,{files / 'pca'}") == 0
    report = json.loads((tmp_path / "report.json").read_text())
    others = report["against"]
    own = {each["name"]: each for each in report["measures"]}
    # The model itself, read from its file, has the same measures.
    assert others[str(files / "pca")] == [own[each["name"]] for each in others["contact"]]
    assert others["contact"] != others[str(files / "pca")]
    assert "this model" in (tmp_path / "index.html").read_text()
