"""A short form of `tests.studies.soak`: finite, alive, at the data's speeds, no memory kept."""

from __future__ import annotations

import tracemalloc

import pytest

from deepphase.apps.demo import CONTROLLER
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.steering.path import made_path
from deepphase.steering.run import start_on_path
from tests.studies.soak import soak


@pytest.mark.slow
def test_long_runs_stay_alive_and_keep_no_memory():
    controller = Controller.load(CONTROLLER)
    source = CharacterSource(controller)
    running, goals = start_on_path(source, made_path("square", source.travelling_speed, 60.0))

    def step(_):
        return running.step(goals)

    first = soak(step, 200, controller.fps)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    found = soak(step, 600, controller.fps)
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    for part in (first, found):
        assert (part.finite, part.alive) == (1.0, 1.0)
        assert part.fastest < 1.5 * controller.data["top_speed"]
    # One frame is more than a kilobyte.
    assert kept < 100_000
