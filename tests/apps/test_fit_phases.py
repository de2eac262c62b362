"""`deepphase fit phases`, and the commands that take what it writes as a model."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from apps import cli
from apps.reports import training_report
from deepphase.formats.load import save
from deepphase.phase.extractor import BASELINES, load_extractor
from deepphase.phase.phase_file import load_phases
from deepphase.synthetic.locomotion import locomotion
from matching.database.database import MotionDatabase
from tests.formula_motion import swinging

pytestmark = pytest.mark.slow


def run(*words: object) -> int:
    return cli.main([str(word) for word in words])


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


def test_figures_and_player_take_it_and_compare_it(files, clips, store, tmp_path):
    others = f"{files / 'contact'},{files / 'pfnn'}"
    assert run("figures", files / "pca", store, "-o", tmp_path / "f", "--compare", others) == 0
    page = (tmp_path / "f" / "index.html").read_text(encoding="utf-8")
    assert "The same frames in other spaces" in page
    assert "One window and its reconstruction" not in page
    for name in ("joint velocities", "contact", "pfnn", "this model"):
        assert name in page
    assert run("play", clips, "--model", files / "contact", "-o", tmp_path / "p.html") == 0


def test_normalised_is_of_pca_alone(store, tmp_path, capsys):
    words = ("fit", "phases", store, "--normalised", "-o", tmp_path / "m")
    assert run(*words, "--method", "contact") == cli.MISTAKE
    assert "--normalised applies to the method pca" in capsys.readouterr().err
    assert run(*words, "--method", "pca") == 0
    assert load_extractor(tmp_path / "m").normalised


def test_unknown_methods_and_foreign_files(store, clips, tmp_path, capsys):
    assert run("fit", "phases", store, "--method", "magic", "-o", tmp_path / "m") == cli.MISTAKE
    assert "expected one of 'contact', 'pca', 'pfnn'" in capsys.readouterr().err
    assert run("evaluate", store, clips, "-o", tmp_path / "o") == cli.MISTAKE
    assert "not a phase model" in capsys.readouterr().err


def test_an_embedding_is_trained_encoded_and_evaluated(store, clips, tmp_path, monkeypatch):
    """The convolutional embedding goes the way of every network, and tells no frequency."""
    # A browser, which makes pictures, takes seconds to start.
    none = SimpleNamespace(paths=[], problem="")
    monkeypatch.setattr(training_report, "write_images", lambda *_, **__: none)
    given = ("--training.windows", 640, "--training.batch_size", 32, "--network.window_s", 1.0)
    trained = ("train", "phase", store, "--config", "conv_embedding", "-o", tmp_path / "m")
    assert run(*trained, *given, "--accelerator", "cpu") == 0
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


@pytest.mark.parametrize("method", list(BASELINES))
def test_a_motion_database_is_built_with_it(files, store, method, tmp_path):
    made = ("--model", files / method, "-o", tmp_path / "d")
    assert run("match", "build", store, *made) == 0
    database = MotionDatabase.load(tmp_path / "d")
    assert database.made_with["model_sha256"] == load_extractor(files / method).sha256


def test_evaluate_compares_it_with_other_features(files, store, tmp_path):
    rivals = f"contact,velocity,pose,full_pose,posture,{files / 'pca'}"
    words = ("evaluate", files / "pca", store, "-o", tmp_path, "--queries", 100)
    assert run(*words, "--against", rivals) == 0
    comparison = json.loads((tmp_path / "report.json").read_text())["comparison"]
    values = {
        name: {key: each["value"] for key, each in found["measures"].items()}
        for name, found in comparison["features"].items()
    }
    # The model itself, read from its file, is level with itself in everything.
    assert values["pca"] == values["this model"]
    same = [each for each in comparison["differences"] if each["rival"] == "pca"]
    assert {each["outcome"] for each in same} == {"level"}
    assert {each["key"] for each in same} == values["pca"].keys()
    # Poses match poses best.
    errors = {name: each["alignment"] for name, each in values.items()}
    assert min(errors, key=errors.__getitem__) == "pose"
    # Posture has no phases of its own.
    assert values["posture"]["strikes"] == values["this model"]["strikes"]
    assert "strikes" not in values["velocity"]
    # Phases of gaits go on, and velocities are stuck.
    assert values["this model"]["distinct"] > 2 * values["velocity"]["distinct"]
    verdicts = {each["source"]: each["verdict"] for each in comparison["claims"]}
    assert verdicts["Fig. 17"] == "holds"
    page = (tmp_path / "index.html").read_text()
    assert "claims on these clips" in page
    assert "Autoregressive search" in page


def test_posture_tells_frames_of_equal_phase_apart(tmp_path):
    for number in range(4):
        clip, _ = swinging(1.0, 6.0, start=0.13 * number)
        crouched = clip.translations.copy()
        crouched[:, 0, 1] -= 0.4 * (number % 2)
        save(replace(clip, translations=crouched), tmp_path / "clips" / f"{number}.bvh")
    model, report = tmp_path / "pca.model", tmp_path / "report"
    assert run("fit", "phases", tmp_path / "clips", "--method", "pca", "-o", model) == 0
    words = ("evaluate", model, tmp_path / "clips", "-o", report, "--queries", 200)
    assert run(*words, "--against", "posture") == 0
    comparison = json.loads((report / "report.json").read_text())["comparison"]
    by_phase, by_posture = (
        {key: each["value"] for key, each in comparison["features"][name]["measures"].items()}
        for name in ("this model", "posture")
    )
    # Half of the frames of equal phase are of a body that is 0.4 m higher or lower.
    assert by_phase["alignment"] > 0.1
    assert by_posture["alignment"] < 0.02
    # Phases advance beside it as before.
    assert by_posture["next_advanced"] <= by_phase["next_advanced"] < 3


def test_evaluate_refuses_unknown_features(files, store, tmp_path, capsys):
    words = ("evaluate", files / "pca", store, "-o", tmp_path, "--against", "contact,nonsense")
    assert run(*words) == 2
    assert "'nonsense'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
