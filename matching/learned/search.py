"""Search policy of learned motion matching: projected states in place of rows that are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.learned.rows import DecompressedFrames
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.trajectory_queries import TrajectoryQueries
from deepphase.matching.player.trajectory_search import JumpRequest
from deepphase.steering.rest import RestMoments
from deepphase.terrain.heightmap import Heightmap

Goals = tuple[Array, Array, Array, Array]


class ProjectedSearch(TrajectoryQueries):
    """Projection of queries to the nearest states. A `SearchPolicy`.

    A character changes to the projected state at every search: steppers drift from the data, and
    only projections lead back to it, so that staying on would fade. The label of its own motion is
    kept where goals have none.

    Parameters
    ----------
    frames
        Rows of the characters.
    style
        Value of the matcher's label that is played where goals have none; None for the character's
        own.
    ground
        Uneven ground that characters walk on; a flat floor by default.
    step_m
        Metres of the highest step up or down on that ground.

    Raises
    ------
    ParameterError
        Where the layout has no future trajectory, or the matcher does not have the style.
    """

    playable = None

    def __init__(
        self,
        frames: DecompressedFrames,
        *,
        style: str | None = None,
        ground: Heightmap | None = None,
        step_m: float = 0.0,
    ) -> None:
        super().__init__(frames, ground, step_m)
        self._frames, self._style = frames, style
        check_style(frames.matcher, style)

    def search(self, request: JumpRequest, goals: Goals) -> tuple[Array, Array, Array]:
        """As `TrajectorySearch.search`; the rows are first ones of new stretches."""
        frames, matcher = self._frames, self._frames.matcher
        rows, count = request.rows, matcher.features
        queries = self.queries(rows, goals)
        latents = frames.read("states", rows)[:, count:]
        styles = self._desired_styles(request)
        found = matcher.projected(queries, latents, styles, self.starting(rows, goals))
        costs = np.linalg.norm(queries - found[:, :count], axis=1).astype(np.float64)
        return frames.begin(request.which, found, styles), costs, np.ones(len(rows), bool)

    def _desired_styles(self, request: JumpRequest) -> Array:
        """(q,) indices of the values of the label that are desired."""
        matcher, own = self._frames.matcher, self._frames.styles[request.which]
        if not matcher.styles:
            return own
        desired = own.copy()
        for index, (labels, kept) in enumerate(zip(request.labels, request.kept, strict=True)):
            value = labels.get(matcher.label) or self._style or kept.get(matcher.label)
            if value in matcher.styles:
                desired[index] = matcher.styles.index(value)
        return desired

    def initial(self, goals: Goals) -> int:
        """Index of the state to start from that fits the goals of one character best."""
        starts, features = self.starts(), self._frames.matcher.features
        states = self._frames.matcher.starts.states[starts, :features]
        away = np.square(states - self.initial_queries(goals)[:1]).sum(axis=1)
        return int(starts[np.argmin(away)])

    def starts(self) -> Array:
        """(starts,) indices of the states to start from, of the style that is played."""
        matcher = self._frames.matcher
        every = np.arange(len(matcher.starts.styles))
        if self._style is None:
            return every
        own = every[matcher.starts.styles == matcher.styles.index(self._style)]
        return own if len(own) else every

    def rest(self, playback: Playback, keep: Sequence[str]) -> RestMoments:
        """The moments of rest of the matcher."""
        rest = self._frames.rest
        styles = rest.styles if self._frames.matcher.label in keep else ("",) * len(rest.styles)

        def poses_of(rows: Array) -> Array:
            return playback.positions(rest.poses.rotations[rows], rest.poses.translations[rows])

        if rest.held:
            return RestMoments.of_held_rows(rest.starts, styles, poses_of(rest.starts))
        rows = np.ones(len(rest), bool)
        return RestMoments.of_rows(rows, rest.stops, styles, poses_of, playback.fps)


def check_style(matcher: Matcher, style: str | None) -> None:
    """Raise ParameterError where the matcher does not have this value of its label."""
    if style is not None and style not in matcher.styles:
        raise ParameterError(
            f"{matcher.label or 'style'} {style!r} is not among the matcher's labels",
            hint=f"known: {', '.join(matcher.styles) or 'none'}",
        )


def style_in(labels: Mapping[str, str | Sequence[str]], label: str) -> str | None:
    """The value of a label among labels, the first of several; None without it."""
    value = labels.get(label)
    return value if value is None or isinstance(value, str) else next(iter(value), None)
