"""`deepphase train controller`."""

from __future__ import annotations

import pytest

from deepphase.apps import cli
from deepphase.controllers.runtime.controller import Controller
from deepphase.formats.load import save
from deepphase.phase.baselines.foot_phases import PfnnPhase
from deepphase.synthetic.gait_motion import locomotion
from tests.apps.running import run

pytestmark = pytest.mark.slow

_TINY = ["--set=network.hidden=8", "--set=training.samples=512", "--set=training.batch-size=64"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    for seed in range(3):
        save(locomotion(seed, 4.0).clip, folder / f"walk_{'ab'[seed % 2]}_{seed}.bvh")
    path = folder.parent / "walks.store"
    labels = "{action}_{style}_{take}"
    assert run("prepare", folder, "-o", path, "--labels", labels) == 0
    return path


@pytest.fixture(scope="module")
def strikes(store):
    path = store.parent / "strikes.model"
    assert run("fit", "phases", store, "--method", "pfnn", "-o", path) == 0
    return path


def test_a_config_and_options_make_a_controller(store, strikes, tmp_path, capsys):
    words = ["--model", strikes, "--config", "pfnn", *_TINY, "--set=schema.label=style"]
    assert run("train", "controller", store, *words, "-o", tmp_path / "c") == 0
    said = capsys.readouterr()
    made = Controller.load(tmp_path / "c")
    assert made.name == "pfnn"
    assert made.config.network.hidden == 8
    assert made.config.training.samples == 512
    assert made.schema.label_values == ("a", "b")
    assert made.phases["sha256"] == PfnnPhase.load(strikes).sha256
    assert made.data["travelling_speed"] > 0.5
    text = said.out + said.err
    assert "one step: joint error" in text
    assert "free-running" in text
    assert not (tmp_path / "c.unfinished").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "experts needs phases"),
        (["--config", "expert"], "no config 'expert'"),
        (["--config", "mann", "--set=network.redraw=step"], "unknown key 'redraw' in network"),
        (["--config", "mann", "--set=schema.label=mood"], "mood"),
        (["--config", "mann", "--set=training.held_out=2"], "held_out must be above 0"),
        (["--config", "mann", "--resume"], "no checkpoint"),
        (["--config", "mann", "--set=trainer.accelerator=abacus"], "Lightning refuses"),
    ],
)
def test_impossible_requests_are_refused(store, words, said, tmp_path, capsys):
    assert run("train", "controller", store, *words, "-o", tmp_path / "c") == cli.MISTAKE
    error = capsys.readouterr().err
    assert error.count("deepphase: error:") == 1
    assert said in error
    assert not list(tmp_path.iterdir())
