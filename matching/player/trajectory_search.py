"""Search policies: the row that a character plays next, given its pose and goals, or its rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.settings import CONSTANTS, MomentFilter
from deepphase.matching.player.trajectory_queries import TrajectoryQueries
from deepphase.matching.search.request import Searcher, cost_terms
from deepphase.steering.goal_sources import GoalSource, RootStates
from deepphase.steering.rest import RestMoments
from deepphase.terrain.heightmap import Heightmap

_ROWS_AT_ONCE = 1 << 20
# Largest improvement that is ever required, as a share of the cost of rows taken by chance.
_MAX_IMPROVEMENT = 0.2
KEEPING = 2.0
"""Largest improvement of rows without kept labels, over the largest one of others."""


def max_improvement(layout: FeatureLayout) -> float:
    """The largest improvement of costs that is ever required: a fifth of the cost of two rows that
    are taken by chance.
    """
    # The squared difference of two values taken by chance is twice their variance, on average.
    return _MAX_IMPROVEMENT * float(np.sqrt(2.0 * np.square(layout.weights).sum()))


@dataclass(frozen=True, eq=False)
class JumpRequest:
    """Characters that may jump to other rows."""

    which: Array  # (q,) indices of the characters
    rows: Array  # (q,) rows that play
    leaving: Array  # (q,) bool: the clip ends soon, so a jump needs no improvement
    # (q,) shares by which the distance of a row must be below that of the current row.
    min_improvements: Array
    # (q,) desired labels; labels that the database does not have are ignored.
    labels: Sequence[Mapping[str, str]]
    # (q,) labels that are kept where rows without them are not much better.
    kept: Sequence[Mapping[str, str]]
    max_transition_costs: Array  # (q,) transition costs below which a transition counts as smooth
    # Function of indices (n,) into the q and candidate rows (n, candidates): the peak acceleration
    # of each transition as a share of the data's usual one, (n, candidates).
    transition_costs: Callable[[Array, Array], Array]
    most_shares: Array  # (q,) shares of the largest improvement that are ever required


class SearchResult(NamedTuple):
    """Rows that characters jump to."""

    rows: Array  # (q,) -1 where the current clip is to be continued
    costs: Array  # (q,) distance between the query and the row that was found, or that plays
    smooth: Array  # (q,) bool: False where the transition to the row is not smooth
    terms: Array  # (q, features) squared distances of that row, feature by feature


class SearchPolicy(Protocol):
    """Choice of the row that each character jumps to.

    `TrajectorySearch` documents the results.
    """

    @property
    def playable(self) -> Array | None:
        """(rows,) bool: rows that may be played where goals have no labels; None for all."""
        ...

    def goals(self, goal_source: GoalSource, root_states: RootStates, which: Array) -> Any:
        """Goals of the characters `which`, as `search` takes them."""
        ...

    def search(self, request: JumpRequest, goals: Any) -> SearchResult:
        """Rows to jump to."""
        ...

    def rest(self, playback: Playback, keep: Sequence[str]) -> RestMoments | None:
        """Moments of rest; None where goals do not say where to stand."""
        ...


class _Rows(NamedTuple):
    """Rows that may be played and rows that may be jumped to, (rows,) bool; None for all."""

    playable: Array | None
    targets: Array | None


class _LabelSets(NamedTuple):
    """Labels that are desired, and labels of the row that plays that are kept; sorted."""

    desired: tuple[tuple[str, str], ...]
    kept: tuple[tuple[str, str], ...]
    starts: bool


class TrajectorySearch(TrajectoryQueries):
    """Search of a database for rows that follow a desired trajectory.

    A query consists of the features of the row that plays, with the future trajectory replaced
    by the desired one.

    `database, searcher`: the database and the index that searches it; None where only the rows that
    are played are asked for; `neighbourhood_s`: rows of the same clip within this many seconds of
    the current row are excluded; `ground`: uneven ground that characters walk on; a flat floor by
    default. Its heights ahead are in the queries of databases that have them.
    """

    def __init__(
        self,
        database: MotionDatabase,
        searcher: Searcher | None,
        *,
        labels: Mapping[str, str | Sequence[str]] | None = None,
        moments: MomentFilter | None = None,
        keep_improvement: float = 0.0,
        neighbourhood_s: float = 0.0,
        ground: Heightmap | None = None,
        candidates: int = CONSTANTS.candidates,
    ) -> None:
        super().__init__(database, ground)
        self._candidates = candidates
        self.max_improvement = max_improvement(database.layout)
        self._database, self._opened = database, searcher
        self._neighbourhood_s = neighbourhood_s
        self.keep_improvement = keep_improvement
        self._labels = dict(labels or {})
        self._moments = None if moments is None else moments.rows(database)
        self._margin = round(CONSTANTS.margin_s * database.fps)
        self._known = {name for each in database.labels for name in each}
        self._kept: dict[tuple[tuple[tuple[str, str], ...], ...], Array | None] = {}
        self._allowed: dict[tuple[tuple[str, str], ...], _Rows] = {}
        self._rows_of({})

    @property
    def _searcher(self) -> Searcher:
        assert self._opened is not None
        return self._opened

    def search(
        self, request: JumpRequest, goals: tuple[Array, Array, Array, Array]
    ) -> SearchResult:
        """Rows to jump to.

        Among the rows whose distance is close to the smallest, the one with the lowest transition
        cost is chosen.
        """
        rows = request.rows
        database = self._database
        queries = self.queries(rows, goals)
        staying = np.linalg.norm(queries - database.features[rows], axis=1).astype(np.float64)
        chosen, costs, smooth = np.full(len(rows), -1), staying.copy(), np.ones(len(rows), bool)
        starting = self.starting(rows, goals)
        found: list[tuple[Array, ...]] = []
        for label_sets, some in self._groups(request, starting).items():
            desired, kept = dict(label_sets.desired), dict(label_sets.kept)
            targets = self.target_rows(desired)
            kept_targets = self._kept_targets(desired, kept) if kept else None
            must_jump = self.must_jump(rows[some], request.leaving[some], desired)
            if label_sets.starts:
                moving = self._moving(targets)
                if kept_targets is not None:
                    kept_targets = kept_targets & moving
                targets, must_jump = moving, np.ones(len(some), bool)
            required = request.min_improvements[some], request.most_shares[some]
            distances, nearest, ranks = self._nearest(
                queries[some],
                np.where(must_jump, np.inf, self.improved(staying[some], *required)),
                database.neighbourhood(rows[some], self._neighbourhood_s),
                targets,
                kept_targets,
            )
            stuck = must_jump & (nearest[:, 0] < 0)
            if stuck.any():
                # Only neighbouring rows remain; allow them rather than stop.
                distances[stuck], nearest[stuck] = self._searcher.search(
                    queries[some[stuck]], self._candidates, allowed=targets
                )
                ranks[stuck] = distances[stuck]
            any_row = nearest[:, 0] >= 0
            each = (some, distances, nearest, ranks, must_jump)
            found.append(tuple(values[any_row] for values in each))
        # At once for all groups: transitions of many characters take little longer than of one.
        some, distances, nearest, ranks, must_jump = map(np.concatenate, zip(*found, strict=True))
        usable = (nearest >= 0) & (
            must_jump[:, None] | (ranks <= (1.0 + CONSTANTS.tolerance) * ranks[:, :1])
        )
        transition = np.full(usable.shape, np.inf)
        if len(some):
            transition[usable] = request.transition_costs(
                some[np.nonzero(usable)[0]], nearest[usable][:, None]
            )[:, 0]
        best = np.arange(len(some)), transition.argmin(1)
        chosen[some], costs[some] = nearest[best], distances[best]
        smooth[some] = transition[best] < request.max_transition_costs[some]
        found_rows = database.features[np.where(chosen >= 0, chosen, rows)]
        terms = cost_terms(database.layout, queries, found_rows)
        return SearchResult(chosen, costs, smooth, terms)

    def _moving(self, targets: Array | None) -> Array:
        """(rows,) bool: targets of a start; all of them if the others are at rest, too."""
        moving = ~self._database.rows_of_kinds(["idle"])
        both = moving if targets is None else moving & targets
        if (self._database.offered & both).any():
            return both
        return np.ones(len(both), bool) if targets is None else targets

    def _groups(self, request: JumpRequest, starting: Array) -> dict[_LabelSets, Array]:
        """Indices of the characters by labels that they desire and keep, and whether they start."""
        groups: dict[_LabelSets, list[int]] = {}
        for index, (desired, own) in enumerate(zip(request.labels, request.kept, strict=True)):
            known = self._known_labels(desired)
            kept = {name: value for name, value in own.items() if name not in known}
            starts = bool(starting[index])
            label_sets = _LabelSets(
                tuple(sorted(known.items())), tuple(sorted(kept.items())), starts
            )
            groups.setdefault(label_sets, []).append(index)
        return {label_sets: np.array(some) for label_sets, some in groups.items()}

    def _nearest(
        self,
        queries: Array,
        bound: Array,
        excluded: Array,
        targets: Array | None,
        kept_targets: Array | None,
    ) -> tuple[Array, Array, Array]:
        """Candidates of queries: their distances, rows, and distances by which they are ranked."""
        if kept_targets is None:
            found = self._searcher.search(
                queries, self._candidates, allowed=targets, excluded=excluded, cost_bound=bound
            )
            return *found, found[0].copy()
        near, near_rows = self._searcher.search(
            queries, self._candidates, allowed=kept_targets, excluded=excluded, cost_bound=bound
        )
        # Rows that keep the labels are none of these: the nearest of them is at the bound.
        far, far_rows = self._searcher.search(
            queries,
            self._candidates,
            allowed=targets,
            excluded=excluded,
            cost_bound=self.without_kept(np.minimum(bound, near[:, 0])),
        )
        # The inverse of `without_kept`.
        most = KEEPING * self.max_improvement
        ranked = np.minimum(far / (1.0 - self.keep_improvement), far + most)
        ranks = np.concatenate([near, ranked], axis=1)
        order = ranks.argsort(axis=1, kind="stable")[:, : self._candidates]
        return (
            np.take_along_axis(np.concatenate([near, far], axis=1), order, 1),
            np.take_along_axis(np.concatenate([near_rows, far_rows], axis=1), order, 1),
            np.take_along_axis(ranks, order, 1),
        )

    def improved(self, costs: Array, shares: Array, most_shares: Array) -> Array:
        """Costs that improve others by shares, or by shares of the largest improvement.

        Where all costs are high, as after a goal that nothing follows, a share of them is too much.
        """
        return costs - np.minimum(shares * costs, most_shares * self.max_improvement)

    def without_kept(self, costs: Array) -> Array:
        """Costs that rows without kept labels need, in place of costs of rows with them."""
        return costs - np.minimum(self.keep_improvement * costs, KEEPING * self.max_improvement)

    def rest(self, playback: Playback, keep: Sequence[str]) -> RestMoments:
        """Moments of rest of the rows that are played; see `rest_moments`."""
        return rest_moments(self._database, playback, self.playable, keep)

    def initial(self, goals: tuple[Array, Array, Array, Array]) -> Array:
        """(q,) rows to start with: those that fit the goals best, in any pose."""
        queries = self.initial_queries(goals)
        return self._searcher.search(queries, 1, allowed=self._rows_of({}).targets)[1][:, 0]

    @property
    def playable(self) -> Array | None:
        """(rows,) bool: rows that may be played where goals have no labels; None for all."""
        return self._rows_of({}).playable

    @property
    def targets(self) -> Array:
        """(targets,) rows that may be jumped to where goals have no labels, rising."""
        targets = self._rows_of({}).targets
        offered = self._database.offered
        return np.flatnonzero(offered if targets is None else offered & targets)

    def target_rows(self, labels: Mapping[str, str]) -> Array | None:
        """(rows,) bool: rows that may be jumped to with goals of these labels; None for all."""
        return self._rows_of(self._known_labels(labels)).targets

    def must_jump(self, rows: Array, leaving: Array, labels: Mapping[str, str]) -> Array:
        """(q,) bool: rows that are leaving, or soon followed by rows that may not be played."""
        playable = self._rows_of(self._known_labels(labels)).playable
        return leaving if playable is None else leaving | ~playable[self._later(rows)]

    def _known_labels(self, labels: Mapping[str, str]) -> dict[str, str]:
        """The labels that the database has."""
        return {name: value for name, value in labels.items() if name in self._known}

    def check_labels(self, labels: Mapping[str, str]) -> None:
        """Raise ParameterError where goals with these labels would leave nothing to play."""
        self._rows_of(labels)

    def _later(self, rows: Array) -> Array:
        """Rows that are played a quarter of a second after others, up to the end of the clip."""
        _, stops = self._database.ranges_of(rows)
        return np.minimum(rows + self._margin, stops - 1)

    def _kept_targets(self, desired: Mapping[str, str], kept: Mapping[str, str]) -> Array | None:
        """(rows,) bool: rows to jump to that keep labels; None where there are none."""
        key = (tuple(sorted(desired.items())), tuple(sorted(kept.items())))
        if key not in self._kept:
            database, targets = self._database, self._rows_of(desired).targets
            both = np.zeros(len(database), bool)
            with suppress(ParameterError):
                both = database.rows_with(kept)
            if database.kinds is not None:
                both |= database.rows_of_kinds(["idle"])
            if targets is not None:
                both &= targets
            self._kept[key] = both if (database.offered & both).any() else None
        return self._kept[key]

    def _rows_of(self, labels: Mapping[str, str]) -> _Rows:
        """Rows of clips with these and the policy's own labels, of moments that are played."""
        key = tuple(sorted(labels.items()))
        if key not in self._allowed:
            database, wanted = self._database, {**self._labels, **labels}
            playable = database.rows_with(wanted) if wanted else None
            targets, offered = playable, database.offered
            if not (offered if playable is None else offered & playable).any():
                raise ParameterError(
                    f"clips with the labels {wanted} have no frame that can be searched for",
                    hint="their clips are shorter than the time that the features look ahead",
                )
            if self._moments is not None:
                playable = self._moments if playable is None else playable & self._moments
                targets = playable.copy()
                for start in range(0, len(targets), _ROWS_AT_ONCE):
                    rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(targets)))
                    targets[rows] &= playable[self._later(rows)]
                if not (offered & targets).any():
                    those = f"clips with the labels {wanted}" if wanted else "this database"
                    raise ParameterError(
                        f"no moment of {those} is of a kind that is played",
                        hint="include actions: --include action, or the switch in the dashboard",
                    )
            self._allowed[key] = _Rows(playable, targets)
        return self._allowed[key]


def rest_moments(
    database: MotionDatabase, playback: Playback, playable: Array | None, keep: Sequence[str]
) -> RestMoments:
    """The moments of rest of a database, none where its kinds of moments are not known.

    Where no body stands at rest, they are the quietest poses.

    `playable` (rows,) bool: the rows that are played; None for all.
    """
    rest = np.zeros(len(database), bool)
    if database.kinds is not None:
        rest = database.rows_of_kinds(["idle"])
    styles = [style_of(labels, keep) for labels in database.labels]

    def poses_of(rows: Array) -> Array:
        return playback.positions(playback.rotations[rows], playback.translations[rows])

    moments = RestMoments.from_rows(
        rest if playable is None else rest & playable,
        database.range_stops,
        styles,
        poses_of,
        playback.fps,
    )
    if len(moments) or database.kinds is None:
        return moments
    rows = playback.quiet_rows(
        database.offered if playable is None else database.offered & playable
    )
    clips = database.clip_of(rows).tolist()
    return RestMoments.from_held_rows(rows, [styles[clip] for clip in clips], poses_of(rows))


def style_of(labels: Mapping[str, str], keep: Sequence[str]) -> str:
    """The values of some labels in one text, which is the style of a moment of rest."""
    return " ".join(labels.get(name, "") for name in keep)
