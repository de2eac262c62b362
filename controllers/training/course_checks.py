"""Choice of weights during a training, by runs of the controller along a course."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from torch import Tensor

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.evaluation.course import course_run
from deepphase.controllers.networks.normalised import NormalisedController

# Share of the training after which weights are checked; before, the learning rate is too high.
_BEGIN = 0.5
# Number of checks at most. A check takes as long as the training on a tenth of these frame pairs.
_CHECKS, _PAIRS_PER_CHECK = 6, 100_000


class CourseChecks:
    """Runs a network along the course from time to time, and remembers the best weights.

    Checks depend on the weights and the config alone. What they found is in the resume points, so
    that a training that is resumed chooses the same weights.
    """

    def __init__(self, config: ControllerConfig, data: ControllerData, pairs: int) -> None:
        self._config, self._data = config, data
        self._count = min(_CHECKS, pairs // _PAIRS_PER_CHECK)
        if data.schema.config.tracks or (self._count and not data.measures["travelling_speed"] > 0):
            self._count = 0
        self.checks: list[dict[str, Any]] = []
        self._best: dict[str, Tensor] = {}

    def is_due(self, share: float) -> bool:
        """Whether a check is due after a share of the training; the last one is at its end."""
        done = len(self.checks) + 1
        return done <= self._count and share >= _BEGIN + (1.0 - _BEGIN) * done / self._count - 1e-9

    def check(self, network: NormalisedController, step: int) -> float:
        """Run a copy of a network along the course; the score, the lower the better."""
        copied = copy.deepcopy(network)
        run = course_run(self._data.controller(copied, self._config))
        score = run.score.total
        if not self.checks or score < min(each["score"] for each in self.checks):
            self._best = {
                name: value.clone() for name, value in copied.network.state_dict().items()
            }
        self.checks.append({"step": step, "score": score, **asdict(run.score)})
        return score

    @property
    def best_step(self) -> int | None:
        """The step of the check with the best score; None before the first check."""
        if not self.checks:
            return None
        return int(min(self.checks, key=lambda each: float(each["score"]))["step"])

    def restore(self, network: NormalisedController) -> None:
        """Set a network to the best weights; none before the first check."""
        if self._best:
            network.network.load_state_dict(self._best)

    def state(self) -> dict[str, Any]:
        """What a resume point holds."""
        return {"checks": self.checks, "best": self._best}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from the `state` of a resume point."""
        self.checks, self._best = list(state["checks"]), dict(state["best"])
