"""The controller that ships: small, of this config, learnt from what the command makes, alive.

Training it again takes most of a minute of processor time, too long for a test. What is compared
instead is all that leads to it: the config, the phases and the normalised motion that it learns
from, its errors on the clips that the command holds out, and that the training's first steps learn.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from apps.dashboard.parts.steerables import OpenController
from apps.dashboard.parts.steered_runs import SteeringRequest, steered_run
from apps.demo.controller import CONTROLLER, demo_controller_config, demo_data
from apps.demo.model import EMBEDDING, PHASES
from controllers.data.controller_data import ControllerData
from controllers.runtime.controller import Controller
from controllers.training.health import training_health
from controllers.training.train import train_controller
from deepphase.phase.model import PhaseModel
from deepphase.steering.made_paths import made_path

_MOST_BYTES = 2_000_000


@pytest.fixture(scope="module")
def shipped() -> Controller:
    return Controller.load(CONTROLLER)


@pytest.fixture(scope="module")
def data() -> ControllerData:
    return demo_data(PhaseModel.load(PHASES))


def test_all_that_ships_is_small():
    assert sum(path.stat().st_size for path in (CONTROLLER, PHASES, EMBEDDING)) < _MOST_BYTES


def test_it_has_the_shipped_config_and_reads_the_shipped_phases(shipped):
    given = demo_controller_config()
    assert shipped.config.network == given.network
    assert shipped.config.training == given.training
    assert shipped.config.schema.label == "gait"
    assert shipped.phases["sha256"] == PhaseModel.load(PHASES).sha256


def test_it_learnt_from_what_the_command_makes(shipped, data):
    made = data.samples.normalisations(data.split.train)
    for name, normalisation in zip(("inputs", "gate", "outputs"), made, strict=True):
        mean, scale = (
            shipped.network.get_buffer(f"{name}_{part}").numpy() for part in ("mean", "scale")
        )
        np.testing.assert_allclose(mean, normalisation.mean, atol=1e-4, rtol=1e-3)
        np.testing.assert_allclose(scale, normalisation.scale, atol=1e-4, rtol=1e-3)


def test_its_errors_on_held_out_clips_are_those_of_its_header(shipped, data):
    again = training_health(shipped, data)
    assert shipped.health["explained"] > 0.95
    assert shipped.health["findings"] == ["nothing out of the ordinary"]
    for name in ("explained", "position_cm", "rotation_degrees", "samples"):
        assert again[name] == pytest.approx(shipped.health[name], rel=0.02)


def test_the_config_learns(data, tmp_path):
    config = demo_controller_config()
    errors = []
    for steps in (1, 40):
        few = replace(config.training, samples=steps * config.training.batch_size)
        made = train_controller(
            data, replace(config, training=few), folder=tmp_path / str(steps), accelerator="cpu"
        )
        assert made is not None
        errors.append(made.health["position_cm"])
    assert errors[1] < 0.8 * errors[0]


@pytest.mark.parametrize("gait", ["walk", "jog", "run", "skip"])
def test_every_gait_goes_on(shipped, gait):
    opened = OpenController("demo", "demo", shipped)
    speed = opened.speed(gait)
    run = steered_run(
        opened, SteeringRequest(made_path("wave", speed, 6.0), 6.0, 4, labels={"gait": [gait]})
    )
    measures = {name: each.value for name, each in run.measures.items()}
    assert measures["frozen"] == 0
    assert measures["path_error"] < 0.5
    assert measures["speed"] == pytest.approx(speed, rel=0.2)
    assert measures["found_contact_speed"] < 5.0 * speed
