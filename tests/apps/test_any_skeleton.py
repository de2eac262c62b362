"""Commands with phase models for any skeleton, and without a model."""

from __future__ import annotations

import json

import pytest

from deepphase.apps import cli
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store_writer import write_store
from deepphase.formats.load import save
from deepphase.phase.extractor import load_model
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import load_phases
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.training_set import corpus
from tests.apps.running import run

_TINY = (
    *("--set=training.windows=256", "--set=training.batch_size=32", "--set=network.window_s=1.0"),
    *("--set=network.kernel_s=0.3", "--set=network.hidden=6", "--set=network.channels=2"),
    "--set=trainer.accelerator=cpu",
)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    save(locomotion(3, 4.0).clip, folder / "walk.bvh")
    save(locomotion(3, 4.0, body="quadruped", gait="trot").clip, folder / "trot.bvh")
    return folder


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    for body in ("biped", "quadruped"):
        motions = corpus(2, 0.3, body=body, clip_seconds=6.0)
        store = ClipStore.from_clips(motion.clip for motion in motions)
        write_store(folder / f"{body}.store", store)
    return [folder / "biped.store", folder / "quadruped.store"]


def test_several_stores_need_the_config_for_several(stores, tmp_path, capsys):
    assert run("train", "phase", *stores, "-o", tmp_path / "m") == cli.MISTAKE
    assert "--config any_skeleton trains one model on several" in capsys.readouterr().err
    words = ("train", "phase", *stores, "--config", "any_skeleton", "-o", tmp_path / "m")
    assert run(*words, "--memory", "1GB") == cli.MISTAKE
    assert "apply to models of one skeleton" in capsys.readouterr().err


@pytest.mark.slow
def test_a_model_of_two_skeletons_goes_the_way_of_every_model(
    stores, clips, tmp_path, monkeypatch, capsys
):
    model = tmp_path / "any.model"
    assert run("train", "phase", *stores, "--config", "any_skeleton", "-o", model, *_TINY) == 0
    said = capsys.readouterr().out
    assert "Hips-25 (biped, 25 joints): explained variance" in said
    assert "Hips-29 (quadruped, 29 joints): explained variance" in said
    assert len(list((tmp_path / "any.model.report").glob("*/index.html"))) == 2
    assert len(load_model(model).skeletons) == 2

    assert run("encode", model, clips, "-o", tmp_path / "phases") == 0
    capsys.readouterr()
    _, meta = load_phases(tmp_path / "phases" / "walk.phases.npz")
    assert meta["model_sha256"] == load_model(model).sha256

    report = tmp_path / "report"
    assert run("evaluate", model, stores[1], "-o", report, "--queries", "50") == 0
    health = json.loads((report / "report.json").read_text())["health"]
    assert "LeftForeArm" in health["explained_by_joint"]

    base = tmp_path / "walk.db"
    assert run("match", "build", stores[0], "--model", model, "-o", base) == 0
    query = ("match", "query", base, clips / "walk.bvh", "--frame", "60", "--model", model)
    assert run(*query, "-o", tmp_path / "found") == 0

    own = tmp_path / "own.model"
    words = ("train", "phase", stores[1], "--start", model, "-o", own)
    assert run(*words, "--set=training.windows=64", "--set=training.batch_size=32") == 0
    assert PhaseModel.load(own).config.network.channels == 2
    assert run("train", "phase", stores[0], "--start", own, "-o", tmp_path / "no") == cli.MISTAKE
    assert "has no signal" in capsys.readouterr().err


def test_files_may_stand_on_both_sides_of_an_option(clips, tmp_path):
    trot, walk = clips / "trot.bvh", clips / "walk.bvh"
    assert run("encode", trot, "-o", tmp_path / "phases", "--csv", walk) == 0
    assert {path.name for path in (tmp_path / "phases").glob("*.csv")} == {
        "trot.phases.csv",
        "walk.phases.csv",
    }
