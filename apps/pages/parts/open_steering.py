"""A controller, or a motion database and what plays it, open to be steered."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from controllers.character_frame import CharacterSettings
from controllers.controller import Controller
from controllers.run_start import CharacterSource
from deepphase.errors import ParameterError
from deepphase.features.trajectory import TRAJECTORY_POSITION, TrajectoryBlocks
from deepphase.progress import Progress
from matching.database import MotionDatabase
from matching.playback import Playback
from matching.player import PlayerSettings
from matching.search import Searcher, open_searcher
from matching.start import PlayerSource, database_measures

# Values that a chooser can list.
_MOST_VALUES = 40


@dataclass(frozen=True, eq=False)
class OpenController:
    """A controller that is open; `key` changes with its content."""

    name: str
    key: Hashable
    controller: Controller

    @property
    def label(self) -> str:
        """Which label it is steered by; empty if by none."""
        return self.controller.schema.config.label

    @property
    def values(self) -> tuple[str, ...]:
        """Of that label."""
        return self.controller.schema.label_values

    @cached_property
    def speeds(self) -> Mapping[str, float]:
        """Label value -> m/s at which its motion travels."""
        schema = self.controller.schema
        later_s = schema.config.later_s
        blocks = TrajectoryBlocks(schema.inputs.slices, len(later_s))
        found = {}
        for value in self.values:
            try:
                starts = self.controller.starts.with_label(schema, value)
            except ParameterError:
                continue
            ahead = blocks.read(starts.inputs, TRAJECTORY_POSITION)[:, -1]
            found[value] = float(np.median(np.abs(ahead))) / later_s[-1]
        return found

    def speed(self, value: str | None) -> float:
        """m/s that suits a value of the label, or all of them."""
        travelling = float(self.controller.data.get("travelling_speed", 0.0))
        return self.speeds.get(value or "", 0.0) or travelling or 1.0

    def source(
        self, labels: Mapping[str, list[str]], settings: CharacterSettings, seed: int
    ) -> CharacterSource:
        """What makes its characters; of each label the first value counts."""
        values = {name: each[0] for name, each in labels.items()}
        return CharacterSource(self.controller, labels=values, settings=settings, seed=seed)


@dataclass(frozen=True, eq=False)
class OpenMatching:
    """A motion database that is open, and what plays it; `key` changes with its content."""

    name: str
    key: Hashable
    database: MotionDatabase
    playback: Playback
    searcher: Searcher
    data: Mapping[str, Any]

    @classmethod
    def of(
        cls, name: str, key: Hashable, database: MotionDatabase, progress: Progress | None
    ) -> OpenMatching:
        """Make a database ready to be played.

        Raises ParameterError where it cannot be.
        """
        playback = Playback.of_database(database, progress)
        searcher = open_searcher(database, "exact", progress=progress)
        data = database_measures(database, playback)
        return cls(name, key, database, playback, searcher, data)

    @cached_property
    def labels(self) -> Mapping[str, list[str]]:
        """Labels that tell clips apart -> their values."""
        found = {}
        for name in dict.fromkeys(name for labels in self.database.labels for name in labels):
            values = sorted({labels[name] for labels in self.database.labels if name in labels})
            if 2 <= len(values) <= _MOST_VALUES and len(values) < len(self.database.labels):
                found[name] = values
        return found

    def speed(self, labels: Mapping[str, list[str]]) -> float:
        """m/s that suits clips with these labels, or all of them."""
        if labels:
            database = self.database
            steps = np.linalg.norm(np.diff(database.root_positions, axis=0), axis=1)
            with_labels = database.rows_with(labels)[1:]
            found = float(np.median(steps[with_labels])) * database.fps
            if math.isfinite(found) and found > 0.2:
                return found
        return self.playback.travelling_speed or 1.0

    def source(
        self, labels: Mapping[str, list[str]], settings: PlayerSettings, seed: int
    ) -> PlayerSource:
        """What makes its characters."""
        return PlayerSource(
            self.database, self.playback, self.searcher, labels, settings, seed, self.data
        )
