"""Sources of motion-matching runs: players with their start rows, and measures of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.evaluation.captured_data import measured_data
from deepphase.features.moment_kinds import KINDS
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.player import Player, runner_spec
from deepphase.matching.player.settings import CONSTANTS, PlayerSettings
from deepphase.matching.player.trajectory_search import TrajectorySearch
from deepphase.matching.search.request import Searcher
from deepphase.matching.search.searcher import open_searcher
from deepphase.steering.goal_sources import GoalSource, RootStates
from deepphase.steering.run import Run
from deepphase.terrain.heightmap import Heightmap
from deepphase.work import Progress

# Distance between characters that start side by side, in leg lengths.
SPACING = 1.8
_SAMPLED_CLIPS = 80


@brief_repr
@dataclass(frozen=True, eq=False)
class PlayerSource:
    """A motion database with the options of a run; see `deepphase.steering.run.RunnerSource`.

    Parameters
    ----------
    database, playback, searcher
        As of :class:`deepphase.matching.Player`.
    labels
        Label -> value or values: only clips that have them are played.
    settings
        As of :class:`deepphase.matching.Player`.
    seed
        Random seed for the start rows of characters 2..N. The first character starts with the
        row that fits the goals best.
    data
        Measures of the database's clips, as `database_measures` gives them.
    ground
        Uneven ground that the players walk on.
    """

    database: MotionDatabase
    playback: Playback
    searcher: Searcher
    labels: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    settings: PlayerSettings = field(default_factory=PlayerSettings)
    seed: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)
    ground: Heightmap | None = None

    @classmethod
    def from_database(
        cls,
        database: MotionDatabase,
        index: str = "auto",
        *,
        progress: Progress | None = None,
        note: Callable[[str], None] | None = None,
        **options: Any,
    ) -> Self:
        """The search, the motion and the measures of a database, with `options` of the run.

        `index` and `note` are as of :func:`deepphase.matching.open_searcher`. Raises as
        :meth:`deepphase.matching.Playback.from_database` does.
        """
        playback = Playback.from_database(database, progress)
        searcher = open_searcher(database, index, progress=progress, note=note)
        data = database_measures(database, playback)
        return cls(database, playback, searcher, data=data, **options)

    @property
    def spacing_m(self) -> float:
        """Metres between characters that start side by side."""
        return SPACING * self.playback.leg_length

    @property
    def travelling_speed(self) -> float:
        """Median speed in m/s of rows in locomotion; 0 where there are none."""
        return self.playback.travelling_speed

    def start(self, goal_source: GoalSource, root_states: RootStates) -> Player:
        """A player of characters with these root states.

        Raises
        ------
        ParameterError
            As `Player` does.
        """
        policy = self.policy()
        return Player(
            self.database,
            self.playback,
            policy,
            self._rows(policy, goal_source, root_states),
            positions=root_states.positions,
            angles=root_states.angles,
            settings=self.settings,
            ground=self.ground,
        )

    def _rows(
        self, policy: TrajectorySearch, goal_source: GoalSource, root_states: RootStates
    ) -> Array:
        first = policy.initial(policy.goals(goal_source, root_states, np.arange(1)))
        generator = np.random.default_rng(self.seed)
        count, targets = len(root_states.positions) - 1, policy.targets
        others = generator.choice(targets, count, replace=count > len(targets))
        return np.concatenate([first, others])

    @property
    def played(self) -> Array | None:
        """(rows,) bool: rows that are played where goals have no labels; None for all."""
        return self.policy().playable

    def policy(self) -> TrajectorySearch:
        """The search for the rows that players jump to; raises as it does."""
        return TrajectorySearch(
            self.database,
            self.searcher,
            labels=self.labels or None,
            moments=self.settings.moments,
            keep_improvement=self.settings.keep_improvement,
            neighbourhood_s=CONSTANTS.neighbourhood_s,
            ground=self.ground,
            candidates=self.playback.candidates,
        )

    @property
    def label_names(self) -> set[str]:
        """Names of labels that clips have."""
        return {name for labels in self.database.labels for name in labels}

    def check_labels(self, labels: Mapping[str, str]) -> None:
        """Raise ParameterError where goals with these labels would leave nothing to play."""
        self.policy().check_labels(labels)

    def columns(self, run: Run, character: int) -> Mapping[str, Sequence[object]]:
        """Name -> (frames,): the clip that plays, the frame in it, its kind where it is known, and
        the clip's labels as ``label_``.
        """
        rows, database = run.tracks["row"][character], self.database
        clips = database.clip_of(rows).tolist()
        names = dict.fromkeys(name for labels in database.labels for name in labels)
        columns: dict[str, Sequence[object]] = {
            "clip": [database.clip_names[clip] for clip in clips],
            "frame": database.frame_of(rows).tolist(),
            **{
                f"label_{name}": [database.labels[clip].get(name, "") for clip in clips]
                for name in names
            },
        }
        if self.database.kinds is not None:
            columns["kind"] = [KINDS[kind] for kind in self.database.kinds[rows]]
        return columns


def database_measures(database: MotionDatabase, playback: Playback) -> dict[str, Any]:
    """Measures of a database's captured motion, from up to 80 clips spread over it.

    See :func:`deepphase.evaluation.captured_data.measured_data`. The usual acceleration
    is that of all clips.
    """
    count = len(database.clip_names)
    chosen = np.unique(np.linspace(0, count - 1, min(count, _SAMPLED_CLIPS)).round().astype(int))
    clips = (database.clip(index).in_order_of(playback.skeleton) for index in chosen.tolist())
    data = measured_data(clips, runner_spec(database, playback))
    return data | {"usual_acceleration": playback.usual_acceleration}
