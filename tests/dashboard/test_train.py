"""Page Train and the processes behind it: started, watched, cancelled, opened, compared."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

import deepphase.apps.training_run as runs
from deepphase.apps import training_process
from deepphase.apps.training_run import (
    FAILED,
    FINISHED,
    MODEL_FILE,
    STOPPED,
    TrainingRequest,
    TrainingRun,
    TrainingStatus,
    load_curve_points,
    load_views,
)
from deepphase.corpus.store_writer import write_store
from deepphase.errors import CheckpointError, ParameterError
from deepphase.phase.model import PhaseModel
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import opened, players, words

_LIMIT_S = 600


def until(holds):
    limit = time.monotonic() + _LIMIT_S
    while not (value := holds()):
        assert time.monotonic() < limit, "it did not come in time"
        time.sleep(0.05)
    return value


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("stores") / "walks.store"
    write_store(path, [locomotion(seed, 4.0, gait="walk", fps=30.0).clip for seed in (1, 2, 3)])
    return path


def request(store, **changes) -> TrainingRequest:
    tiny = {"channels": 2, "window_s": 1.0, "windows": 256, "batch_size": 64}
    from deepphase.corpus.store import store_groups

    return TrainingRequest(str(store), store_groups(store)[0].name, **(tiny | changes))


@pytest.fixture
def train(monkeypatch, tmp_path):
    """A training in this process, where Lightning is imported once; returns the exit status."""
    monkeypatch.setattr(training_process, "_end_with_input", lambda: None)
    monkeypatch.setattr("os.nice", lambda _: 0)

    def trained(wanted: TrainingRequest) -> int:
        wanted.save(tmp_path)
        return training_process._main(tmp_path)

    return trained


def test_a_training_leaves_a_model_and_what_led_to_it(store, train, tmp_path):
    assert train(request(store)) == 0
    status = TrainingStatus.load(tmp_path)
    assert status.state == FINISHED
    assert PhaseModel.load(tmp_path / MODEL_FILE).channels == 2
    assert [each.windows for each in status.epochs] == [64, 128, 192, 256]
    assert status.epochs[-1].loss > 0
    assert status.epochs[-1].health.frames > 0
    views = load_views(tmp_path, len(status.epochs))
    clips, seconds = load_curve_points(tmp_path)
    assert all(view.shape == (len(clips), 3) for view in views)
    assert set(clips) <= {0, 1, 2}
    assert 0.4 < seconds.min() < seconds.max() < 3.6
    assert not np.allclose(views[0], views[-1])
    assert not (tmp_path / "work").exists()


def test_stopping_keeps_the_model_of_the_last_epoch_and_others_wait(store, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "MAX_TRAININGS", 1)
    run = TrainingRun.start("long", request(store, windows=60_000), tmp_path / "long")
    with pytest.raises(ParameterError, match="1 trainings are running"):
        TrainingRun.start("two", request(store), tmp_path / "two")
    until(lambda: run.can_stop or not run.running)
    run.stop()
    assert not run.running
    assert run.finished
    assert run.status().state == STOPPED
    model = PhaseModel.load(run.model_file)
    assert model.channels == 2
    assert model.health == run.status().epochs[-1].health
    assert len(model.encode(locomotion(9, 3.0, gait="walk", fps=30.0).clip)) == 90
    run.cancel()
    early = TrainingRun.start("early", request(store, windows=60_000), tmp_path / "early")
    with pytest.raises(ParameterError, match="no model yet"):
        early.stop()
    early.cancel()
    assert list(tmp_path.iterdir()) == []


def test_it_ends_with_its_owner(store, tmp_path):
    there = True
    run = TrainingRun.start(
        "owned", request(store, windows=60_000), tmp_path / "owned", alive=lambda: there
    )
    there = False
    until(lambda: not run.running)
    until(lambda: not (tmp_path / "owned").exists())
    forgotten = TrainingRun.start("lost", request(store, windows=60_000), tmp_path / "lost")
    process = forgotten.process
    del forgotten
    gc.collect()
    assert process.poll() is not None
    assert not (tmp_path / "lost").exists()


def test_it_ends_with_the_server(store, tmp_path):
    """A server that is killed closes the pipe, whatever else it leaves undone."""
    run = TrainingRun.start("orphan", request(store, windows=60_000), tmp_path / "orphan")
    run.process.stdin.close()
    until(lambda: not run.running)
    status = run.status()
    assert status.state == FAILED
    assert "ended unexpectedly" in status.fact


def test_a_training_that_cannot_go_says_why(store, train, tmp_path):
    assert train(request(store, window_s=4.0, batch_size=512)) == 2
    status = TrainingStatus.load(tmp_path)
    assert status.state == FAILED
    assert "window" in status.fact
    assert status.hint


def test_a_damaged_status_is_refused(tmp_path):
    assert TrainingStatus.load(tmp_path).under_way
    for damaged in ("{", "2", "[" * 5000):
        (tmp_path / "status.json").write_text(damaged)
        (tmp_path / "request.json").write_text(damaged)
        for kind in (TrainingStatus, TrainingRequest):
            with pytest.raises(CheckpointError):
                kind.load(tmp_path)


def button(app, name):
    return next(each for each in app.button if each.label == name)


def test_the_page_trains_and_opens(store, monkeypatch):
    monkeypatch.setattr(
        "deepphase.apps.dashboard.pages.train._LENGTHS", {"Usual": 256, "Long": 512}
    )
    app = opened("train", monkeypatch, store.parent)
    assert "A finished training, as a sample" in [each.value for each in app.header]
    assert "Made motion (demo)" in words(app).replace("\\", "")
    assert len(app.get("plotly_chart")) == 2
    next(each for each in app.slider if each.label == "Window (s)").set_value(1.0)
    app.text_input(key="training name").set_value("Mine").run()
    button(app, "Start training").click().run()
    assert "Mine is training" in [each.value for each in app.header]
    assert button(app, "Start training").disabled
    assert players(app)
    (training,) = app.session_state["trainings"]
    until(lambda: not training.run.running)
    app.run()
    assert not app.exception
    assert "Mine" in [each.value for each in app.header]
    assert len(app.get("plotly_chart")) == 2
    assert {each.label for each in app.metric} >= {"Explained variance", "Phase goes forward"}
    assert "Model" in {each.label for each in app.get("download_button")}
    button(app, "Open on all pages").click().run()
    app.run()
    chooser = next(each for each in app.sidebar.selectbox if each.label == "Phase model")
    kept = store.parent / "trainings" / "Mine.model"
    assert chooser.value == f"file:{kept}"
    # The model is kept in the folder, with the course of its training.
    assert PhaseModel.load(kept).channels == 5
    assert kept.with_name("Mine.model.metrics.csv").read_text().startswith("step,loss")
    assert "passes over the data" in words(app)
    assert "trainings/Mine" in words(app).replace("\\", "")
    button(app, "Remove").click().run()
    assert not app.exception
    assert app.session_state["trainings"] == []
    assert not training.run.folder.exists()
    assert kept.exists()


def test_the_page_stops_and_keeps_or_discards(store, monkeypatch):
    monkeypatch.setattr(
        "deepphase.apps.dashboard.pages.train._LENGTHS", {"Usual": 60_000, "Long": 60_000}
    )
    app = opened("train", monkeypatch, store.parent)
    next(each for each in app.slider if each.label == "Window (s)").set_value(1.0).run()
    button(app, "Start training").click().run()
    (training,) = app.session_state["trainings"]
    assert training.run.running
    until(lambda: training.run.can_stop)
    app.run()
    button(app, "Stop and keep").click().run()
    app.run()
    assert not training.run.running
    assert "It was stopped before its end" in words(app)
    assert training.kept.path.parent == store.parent / "trainings"
    PhaseModel.load(training.kept.path)
    button(app, "Start training").click().run()
    discarded = app.session_state["trainings"][-1]
    button(app, "Discard it").click().run()
    assert not discarded.run.running
    assert not discarded.run.folder.exists()
    assert app.session_state["trainings"] == [training]
