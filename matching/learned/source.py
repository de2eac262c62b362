"""Sources of runs of learned motion matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.learned.rows import DecompressedFrames, DecompressedMotion
from deepphase.matching.learned.search import ProjectedSearch, check_style, style_in
from deepphase.matching.player.player import Player, PlayerSettings
from deepphase.matching.player.source import SPACING
from deepphase.steering.goal_sources import GoalSource
from deepphase.steering.root_states import RootStates
from deepphase.steering.run import Frame, Run
from deepphase.terrain.heightmap import Heightmap

_NOTE = "of learned motion matching"


class LearnedPlayer(Player):
    """Characters of a matcher. A `Runner`.

    Its frames have the tracks of a `Player` without ``row``, and ``style``, the index of the value
    of the matcher's label that plays.

    Parameters
    ----------
    frames
        Rows of the characters.
    rows, search_policy, others
        As of `Player`.
    """

    def __init__(
        self,
        frames: DecompressedFrames,
        search_policy: ProjectedSearch,
        rows: np.ndarray,
        **others: Any,
    ) -> None:
        motion = DecompressedMotion.of_frames(frames)
        super().__init__(frames, motion, search_policy, rows, **others)
        self.spec = replace(self.spec, note=_NOTE)
        self._frames = frames

    def step(self, goal_source: GoalSource | None = None) -> Frame:
        """As `Player.step`."""
        frame = super().step(goal_source)
        tracks = {name: each for name, each in frame.tracks.items() if name != "row"}
        return replace(frame, tracks={**tracks, "style": self._frames.styles.copy()})


@dataclass(frozen=True, eq=False)
class MatcherSource:
    """A matcher with the options of a run; see `deepphase.steering.run.RunnerSource`.

    Parameters
    ----------
    matcher
        The matcher.
    labels
        Value, or values of which the first counts, of the matcher's label; others are ignored.
    settings
        As of :class:`deepphase.matching.Player`; moments were chosen before the training.
    seed
        Random seed for the start states of characters 2..N. The first character starts in the
        state that fits the goals best.
    ground
        Uneven ground that the characters walk on.
    """

    matcher: Matcher
    labels: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    settings: PlayerSettings = field(default_factory=PlayerSettings)
    seed: int = 0
    ground: Heightmap | None = None

    @property
    def spacing_m(self) -> float:
        """Metres between characters that start side by side."""
        return SPACING * self._motion(1).leg_length

    @property
    def travelling_speed(self) -> float:
        """Median speed in m/s of the database's rows in locomotion; 0 where there are none."""
        return self.matcher.body.travelling_speed

    @property
    def data(self) -> Mapping[str, Any]:
        """Measures of the database's clips."""
        return self.matcher.data

    def _motion(self, characters: int) -> DecompressedMotion:
        return DecompressedMotion.of_frames(DecompressedFrames(self.matcher, characters))

    def start(self, goal_source: GoalSource, root_states: RootStates) -> LearnedPlayer:
        """A player of characters with these root states.

        Raises
        ------
        ParameterError
            As `Player` and `ProjectedSearch` do.
        """
        matcher, count = self.matcher, len(root_states.positions)
        frames = DecompressedFrames(matcher, count)
        policy = ProjectedSearch(
            frames,
            style=style_in(self.labels, matcher.label),
            ground=self.ground,
            step_m=self._motion(1).step_m,
        )
        goals = policy.goals(goal_source, root_states, np.arange(1))
        others = np.random.default_rng(self.seed).choice(policy.starts(), count - 1)
        chosen = np.concatenate([[policy.initial(goals)], others]).astype(np.int64)
        starts = matcher.starts
        return LearnedPlayer(
            frames,
            policy,
            frames.begin(np.arange(count), starts.states[chosen], starts.styles[chosen]),
            positions=root_states.positions,
            angles=root_states.angles,
            settings=self.settings,
            ground=self.ground,
        )

    @property
    def label_names(self) -> set[str]:
        """Name of the matcher's label, if it has one."""
        return {self.matcher.label} - {""}

    def check_labels(self, labels: Mapping[str, str]) -> None:
        """Raise ParameterError where the matcher has the label, but not the value."""
        if self.matcher.label in labels:
            check_style(self.matcher, labels[self.matcher.label])

    def columns(self, run: Run, character: int) -> Mapping[str, Sequence[object]]:
        """Name -> (frames,): the value of the label that plays, as ``label_``."""
        matcher = self.matcher
        if not matcher.label:
            return {}
        styles = run.tracks["style"][character].tolist()
        return {f"label_{matcher.label}": [matcher.styles[style] for style in styles]}
