"""Where to go on: the row that fits a character's state and wish, if it beats playing on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.feature import Feature
from deepphase.features.layout import FeatureLayout
from deepphase.features.trajectory import TRAJECTORY_PATH, facing_directions, relative_trajectory
from deepphase.steering.goal_sources import GoalSource
from deepphase.steering.root_states import RootStates
from matching.database.database import MotionDatabase
from matching.search.searcher import Searcher

# So many rows are rehearsed; those that cost this share more than the best are as good as it.
_CANDIDATES, _NEARLY = 16, 0.15
# A transition that accelerates the body by less than this share of what is usual is smooth. The
# rest is for what it does not show: the root's own motion, and feet that are held.
_SMOOTH = 0.8


def _trajectory_features(layout: FeatureLayout) -> list[Feature]:
    return [feature for kind in TRAJECTORY_PATH for feature in layout.of_kind(kind)]


def offsets_ahead(layout: FeatureLayout) -> Array:
    """(offsets,) seconds from now, rising, that the features have the trajectory ahead at."""
    features = _trajectory_features(layout)
    return np.array(sorted({time for each in features for time in each.offsets_s if time > 0}))


class SearchPolicy(Protocol):
    """Who tells characters where to go on; `TrajectorySearch` says what is asked and answered."""

    def goals(self, goal_source: GoalSource, root_states: RootStates, which: Array) -> Any:
        """What some characters wish, as `found` takes it."""
        ...

    def found(
        self,
        rows: Array,
        leaving: Array,
        goals: Any,
        labels: Sequence[Mapping[str, str]],
        roughness: Callable[[Array, Array], Array],
    ) -> tuple[Array, Array, Array]:
        """Rows to jump to, their costs, and whether the way there is smooth."""
        ...


class TrajectorySearch:
    """Searches of a database for characters that play it.

    Parameters
    ----------
    database, searcher
        What is searched, and who searches.
    labels
        Label -> value or values that all clips must have.
    min_improvement
        A row must cost less than playing on by this share of it.
    neighbourhood_s
        Rows within so many seconds of the one that plays are left out.

    Raises
    ------
    ParameterError
        Where the layout has no trajectory ahead to wish with, or no row is left to play.
    """

    def __init__(
        self,
        database: MotionDatabase,
        searcher: Searcher,
        *,
        labels: Mapping[str, str | Sequence[str]] | None = None,
        min_improvement: float = 0.0,
        neighbourhood_s: float = 0.0,
    ) -> None:
        self._database, self._searcher = database, searcher
        self._min_improvement, self._neighbourhood_s = min_improvement, neighbourhood_s
        self._labels = dict(labels or {})
        self._known = {name for each in database.labels for name in each}
        self._allowed: dict[tuple[tuple[str, str], ...], Array | None] = {}
        self._features = _trajectory_features(database.layout)
        self.offsets_s = offsets_ahead(database.layout)
        if not len(self.offsets_s):
            raise ParameterError(
                "the database's features have no trajectory ahead: nothing can be wished",
                hint=f"build it with {' or '.join(TRAJECTORY_PATH)}",
            )
        self._rows_of({})

    def goals(
        self, goal_source: GoalSource, root_states: RootStates, which: Array
    ) -> tuple[Array, Array, Array, Array]:
        """What some characters wish, as `found` and `first` take it.

        Returns
        -------
        Positions and directions (which, offsets, 3) at `offsets_s`, and root positions and
        directions (which, 3), in the world.
        """
        positions, angles = goal_source.trajectory(root_states, which, self.offsets_s)
        return (
            np.insert(positions, 1, 0.0, axis=-1),
            facing_directions(angles),
            np.insert(root_states.positions[which], 1, 0.0, axis=-1),
            facing_directions(root_states.angles[which]),
        )

    def found(
        self,
        rows: Array,
        leaving: Array,
        goals: tuple[Array, Array, Array, Array],
        labels: Sequence[Mapping[str, str]],
        roughness: Callable[[Array, Array], Array],
    ) -> tuple[Array, Array, Array]:
        """Rows to jump to.

        Of rows that fit nearly as well as the best, the one with the smoothest transition is
        taken; where none is smooth, there is no jump but where one must be.

        Parameters
        ----------
        rows
            (q,) rows that play.
        leaving
            (q,) bool: whose clip ends soon, so that playing on is no way.
        wishes
            As `goals` gives them.
        labels
            (q,) labels that the motion shall have now; those that the database does not know are
            passed over.
        roughness
            Of transitions from some of the q (n,) to rows (n, candidates): the acceleration that
            they bring, as a share of what is usual.

        Returns
        -------
        rows : (q,)
            -1 where playing on is best.
        costs : (q,)
            Distance of the wish from what plays from now on.
        smooth : (q,) bool
            False where what was found pops.
        """
        database = self._database
        queries = self._queries(rows, goals)
        staying = np.linalg.norm(queries - database.features[rows], axis=1).astype(np.float64)
        found, costs, smooth = np.full(len(rows), -1), staying.copy(), np.ones(len(rows), bool)
        groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
        for index, desired in enumerate(labels):
            key = tuple(sorted((k, v) for k, v in desired.items() if k in self._known))
            groups.setdefault(key, []).append(index)
        for key, members in groups.items():
            some = np.array(members)
            allowed = self._rows_of(dict(key))
            left = leaving[some].copy()
            if allowed is not None:
                left |= ~allowed[rows[some]]
            distances, near = self._searcher.search(
                queries[some],
                _CANDIDATES,
                allowed=allowed,
                excluded=database.neighbourhood(rows[some], self._neighbourhood_s),
                cost_bound=np.where(left, np.inf, (1.0 - self._min_improvement) * staying[some]),
            )
            stuck = left & (near[:, 0] < 0)
            if stuck.any():
                # Nothing but the neighbourhood is left: better a stumble than a stop.
                distances[stuck], near[stuck] = self._searcher.search(
                    queries[some[stuck]], _CANDIDATES, allowed=allowed
                )
            there = near[:, 0] >= 0
            if not there.any():
                continue
            some, distances, near = some[there], distances[there], near[there]
            usable = (near >= 0) & (
                left[there, None] | (distances <= (1.0 + _NEARLY) * distances[:, :1])
            )
            rough = np.where(usable, roughness(some, np.where(usable, near, near[:, :1])), np.inf)
            best = rough.argmin(1)[:, None]
            found[some] = np.take_along_axis(near, best, 1)[:, 0]
            costs[some] = np.take_along_axis(distances, best, 1)[:, 0]
            smooth[some] = np.take_along_axis(rough, best, 1)[:, 0] < _SMOOTH
        return found, costs, smooth

    def first(self, goals: tuple[Array, Array, Array, Array]) -> Array:
        """(q,) rows to begin with: those that go as is wished, whatever their pose.

        Parameters
        ----------
        wishes
            As `goals` gives them.
        """
        count = len(goals[0])
        blocks = self._desired_blocks(np.zeros((count, self._database.dims), np.float32), goals)
        queries = self._database.query(np.zeros(count, np.int64), blocks)
        for feature in self._database.layout:
            if feature.name not in blocks:
                # Normalised, 0 is the mean: no pose is preferred.
                queries[:, self._database.layout.slices[feature.name]] = 0.0
        return self._searcher.search(queries, 1, allowed=self._rows_of({}))[1][:, 0]

    def _queries(self, rows: Array, goals: tuple[Array, Array, Array, Array]) -> Array:
        """(q, dims) the rows' own features with the wished trajectory ahead."""
        blocks = self._desired_blocks(self._database.query(rows), goals)
        return self._database.query(rows, blocks)

    def _desired_blocks(
        self, own: Array, goals: tuple[Array, Array, Array, Array]
    ) -> dict[str, Array]:
        """Raw values of the trajectory features: `own` normalised rows, and the wish ahead."""
        raw = self._database.normalisation.inverse(own)
        by_kind = dict(zip(TRAJECTORY_PATH, relative_trajectory(*goals), strict=True))
        blocks = {}
        for feature in self._features:
            block = raw[:, self._database.layout.slices[feature.name]].reshape(len(own), -1, 2)
            desired = by_kind[feature.kind].reshape(len(own), -1, 2)
            # What lies behind stays as it was.
            for place, time in enumerate(feature.offsets_s):
                if time > 0:
                    block[:, place] = desired[:, np.searchsorted(self.offsets_s, time)]
            blocks[feature.name] = block.reshape(len(own), -1)
        return blocks

    def _rows_of(self, labels: Mapping[str, str]) -> Array | None:
        """(rows,) bool: rows of clips with these labels and the player's own; None for all."""
        key = tuple(sorted(labels.items()))
        if key not in self._allowed:
            wanted = {**self._labels, **labels}
            allowed = self._database.rows_with(wanted) if wanted else None
            offered = self._database.offered
            if not (offered if allowed is None else offered & allowed).any():
                raise ParameterError(
                    f"no frame of clips with the labels {wanted} can be played on from",
                    hint="their clips are too short for the features' look ahead",
                )
            self._allowed[key] = allowed
        return self._allowed[key]
