"""Choice of weights by runs along a course, and what it measures."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.training import course as course_module
from deepphase.controllers.training import health
from deepphase.controllers.training.course import COURSE_S, CourseChecks, course, course_run
from deepphase.controllers.training.module import new_network
from deepphase.controllers.training.train import train_controller
from deepphase.errors import ParameterError
from deepphase.steering.path import MADE_PATHS
from deepphase.training.folder import read_metrics
from tests.controllers.made_controllers import FormulaPhases, walking_store

_SMALL = {
    "network.experts": 2,
    "network.gating_hidden": 8,
    "network.hidden": 16,
    "training.samples": 800,
    "training.batch_size": 32,
}


@pytest.fixture(scope="module")
def data():
    return ControllerData.read(walking_store(), _config(), FormulaPhases())


@pytest.fixture
def short(monkeypatch):
    """Checks of few characters, in trainings of few pairs."""
    monkeypatch.setattr(course_module, "_PAIRS_PER_CHECK", 200)
    for module in (course_module, health):
        monkeypatch.setattr(
            module, "course_run", lambda made: course_run(made, characters=2, seconds=1.0)
        )


def _config(**changes) -> ControllerConfig:
    return ControllerConfig.load("experts", **{**_SMALL, **changes})


def test_the_course_has_curves_corners_stops_and_other_speeds():
    path = course(1.2)
    assert path.duration == pytest.approx(COURSE_S)
    assert "course" not in MADE_PATHS
    speeds = np.linalg.norm(np.diff(path.positions, axis=0), axis=1) * 30.0
    for speed in (0.0, 0.84, 1.2, 1.56):
        assert np.isclose(speeds, speed).mean() > 0.05
    assert np.isclose(speeds[-45:], 0.0).all()
    moving = speeds > 0
    steps = np.diff(path.positions, axis=0)[moving]
    turns = np.degrees(np.diff(np.unwrap(np.arctan2(steps[:, 0], steps[:, 1]))))
    corners = np.abs(turns[np.abs(turns) > 10.0])
    np.testing.assert_allclose(corners, [70.0, 110.0, 180.0], atol=2.0)
    bends = turns[np.abs(turns) < 10.0]
    assert bends.max() > 1.0
    assert bends.min() < -1.0
    with pytest.raises(ParameterError):
        course(np.inf)


def test_directions_in_which_less_is_reached_than_the_clips_go_are_said(data, monkeypatch):
    controller = data.controller(new_network(_config(), data), _config())
    speeds = [2.0, *3 * [0.0], 0.6, *3 * [0.0], 0.8, *7 * [0.0]]
    made = {**controller.data, "direction_speeds": speeds, "travelling_speed": 1.2}
    velocities = np.repeat([[0.0, 1.1], [0.6, 0.0], [0.0, 0.2]], 3, axis=0)
    run = SimpleNamespace(positions=np.arange(361)[:, None] / 60.0 * velocities[:, None], fps=60.0)
    monkeypatch.setattr(course_module, "rollout", lambda *_: run)
    found = course_module.direction_speeds(replace(controller, data=made))
    assert found == {"ahead": (1.2, 1.1), "left": (0.6, 0.6), "backward": (0.8, -0.2)}
    (said,) = health._direction_findings(found)
    assert "backward 0% of 0.80 m/s" in said
    assert "ahead" not in said


@pytest.mark.slow
def test_the_weights_that_run_best_are_kept_and_resumed_trainings_keep_the_same(
    data, short, tmp_path, monkeypatch
):
    seen: list[dict[str, torch.Tensor]] = []
    check = CourseChecks.check

    def recorded(self, network, step):
        seen.append({name: each.clone() for name, each in network.network.state_dict().items()})
        return check(self, network, step)

    monkeypatch.setattr(CourseChecks, "check", recorded)
    made = train_controller(data, _config(), folder=tmp_path / "whole")
    assert made is not None
    checks = made.provenance["run_checks"]
    assert [each["step"] for each in checks] == [16, 19, 22, 25]
    scores = [each["score"] for each in checks]
    best = int(np.argmin(scores))
    assert made.provenance["best_step"] == checks[best]["step"]
    kept = made.network.network.state_dict()
    assert all(torch.equal(value, kept[name]) for name, value in seen[best].items())
    assert made.health["course"]["score"] > 0
    logged = read_metrics(tmp_path / "whole" / "metrics.csv")["run_score"]
    np.testing.assert_allclose(logged[np.isfinite(logged)], scores, rtol=1e-4)

    def interrupt(what, done, of, text):
        if what == "training" and len(seen) >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_controller(data, _config(), folder=tmp_path / "parts", progress=interrupt)
    resumed = train_controller(data, _config(), folder=tmp_path / "parts", resume=True)
    assert resumed is not None
    assert resumed.provenance["run_checks"] == checks
    for name, value in resumed.network.network.state_dict().items():
        assert torch.equal(value, kept[name]), name
