"""Search of a motion database by pose, phase and music, for dances to a song."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.music.song_tracks import song_track, track_features
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.trajectory_search import JumpRequest, SearchResult
from deepphase.matching.search.request import Searcher, cost_terms
from deepphase.music.features import SongFeatures, sample_at
from deepphase.steering.goal_sources import GoalSource, RootStates

# Number of rows that a search returns; rows this near in time count as one moment.
_CANDIDATES, _MOMENT_S = 256, 0.15
# Number of moments whose transition is estimated, and tolerance: moments that cost this share
# more than the best are considered as well.
_REHEARSED, _NEARLY = 12, 0.2
# A transition is smooth if its acceleration is below this share of the data's usual one.
_SMOOTH = 0.8
# Number of initial moments to choose from, and of rows that the search for them returns.
_BEGINNINGS, _BEGINNING_ROWS = 24, 2048
_LONG_AGO = -1e9
# A jump costs less than continued playback by this share.
_MIN_IMPROVEMENT = 0.1
# Seconds before a clip's end from which on any smooth transition is taken, and near the current row
# within which rows are not jumped to.
_ENDING_S, _NEIGHBOURHOOD_S = 1.5, 1.0
# Cost of repeating what was just played, in the unit of distances, and seconds in which it decays.
_MEMORY, _MEMORY_S = 6.0, 60.0
LEAST_S = 1.0
"""Least seconds from one jump to the next, where the clip does not end."""
VARIETY = 0.1
"""Standard deviation of random cost factors, which make the dances of seeds differ."""


class MusicSearch:
    """Searches for one dancer; see `deepphase.matching.player.trajectory_search.SearchPolicy`.

    The query is the current pose and phases, and the audio features of the song, now and in the
    future. Rows that were played recently cost more. `time_s` is the current time in the song,
    which the goal source sets before every frame.
    """

    def __init__(
        self,
        database: MotionDatabase,
        searcher: Searcher,
        song: SongFeatures,
        *,
        start_s: float = 0.0,
        variety: float = VARIETY,
        seed: int = 0,
        least_s: float = LEAST_S,
    ) -> None:
        self._database, self._searcher = database, searcher
        self._least_s = least_s
        self._variety = variety
        self.time_s = start_s
        self._random = np.random.default_rng(seed)
        self._played_s = np.full(len(database), _LONG_AGO)
        self._jumped_s = _LONG_AGO
        self._lasting = _lasting(database, least_s + _ENDING_S)
        tracks = {name: song_track(song, name) for name in track_features(database.layout)}
        self._tracks = [
            (feature, tracks[feature.track]) for feature in database.layout.of_kind("track")
        ]

    @property
    def has_music(self) -> bool:
        """Whether the database has music features."""
        return bool(self._tracks)

    @property
    def playable(self) -> Array | None:
        """As `SearchPolicy.playable`: all rows."""
        return None

    def initial(self) -> Array:
        """(1,) initial row: one of those with the most similar music, chosen by the seed."""
        database = self._database
        query = np.zeros((1, database.dims), np.float32)
        for name, block in self._audio().items():
            place = database.layout.slices[name]
            query[:, place] = database.normalisation.of_block(block, place)
        if self.has_music:
            _, near = self._searcher.search(query, _BEGINNING_ROWS, allowed=self._lasting)
            moments = near[0, near[0] >= 0]
        else:
            moments = self._random.choice(np.flatnonzero(self._lasting), 1)
        kept = self._moments(moments, np.arange(len(moments), dtype=float))[:_BEGINNINGS]
        return moments[[self._random.choice(kept)]]

    def mark_played(self, row: int) -> None:
        """Record that a row is played now, and with it the second before it in its clip."""
        clip = int(self._database.clip_of(row))
        reach = round(self._database.fps)
        first = max(row - reach, int(self._database.range_starts[clip]))
        self._played_s[first : row + 1] = self.time_s

    def goals(
        self, goal_source: GoalSource, root_states: RootStates, which: Array
    ) -> dict[str, Array]:
        """As `SearchPolicy.goals`: raw values of the music features."""
        return self._audio()

    def search(self, request: JumpRequest, goals: dict[str, Array]) -> SearchResult:
        """As `SearchPolicy.search`, for a single dancer."""
        database, rows, leaving = self._database, request.rows, request.leaving
        query = database.query(rows, goals)
        staying = float(np.linalg.norm(query[0] - database.features[rows[0]]))
        terms = cost_terms(database.layout, query, database.features[rows])
        nowhere = SearchResult(np.full(1, -1), np.full(1, staying), np.ones(1, bool), terms)
        ending = database.frames_left(rows)[0] < _ENDING_S * database.fps
        least_s = LEAST_S if ending else self._least_s
        if not leaving[0] and self.time_s - self._jumped_s < least_s:
            return nowhere
        left = bool(leaving[0] or ending)
        bound = np.inf if left else (1.0 - _MIN_IMPROVEMENT) * staying
        if not bound > 0:
            return nowhere
        distances, near = self._searcher.search(
            query,
            _CANDIDATES,
            allowed=self._lasting,
            excluded=database.neighbourhood(rows, _NEIGHBOURHOOD_S),
            cost_bound=bound,
        )
        if leaving[0] and near[0, 0] < 0:
            # Only neighbouring rows remain; allow them rather than stop.
            distances, near = self._searcher.search(query, _CANDIDATES, allowed=self._lasting)
        there = near[0] >= 0
        near, costs = near[0, there], self._costs(near[0, there], distances[0, there])
        kept = self._moments(near, costs)
        kept = kept[costs[kept] < bound][:_REHEARSED]
        if not kept.size:
            return nowhere
        if not left:
            kept = kept[costs[kept] <= (1.0 + _NEARLY) * costs[kept[0]]]
        transition = request.transition_costs(np.zeros(1, np.int64), near[kept][None])[0]
        best = int(transition.argmin())
        smooth = bool(transition[best] < _SMOOTH)
        if smooth:
            self._jumped_s = self.time_s
        row = near[kept[[best]]]
        terms = cost_terms(database.layout, query, database.features[row])
        return SearchResult(row, costs[kept[[best]]], np.array([smooth]), terms)

    def rest(self, playback: Playback, keep: Sequence[str]) -> None:
        """None: goals of a dance do not say where to stand."""

    def _audio(self) -> dict[str, Array]:
        """Feature name -> (1, feature dims) raw values at the current time of the song."""
        return {
            feature.name: sample_at(rows, self.time_s + np.array(feature.offsets_s)).reshape(1, -1)
            for feature, rows in self._tracks
        }

    def _costs(self, rows: Array, distances: Array) -> Array:
        """(n,) distances, with the cost of repetition and the random factors of the seed."""
        elapsed_s = self.time_s - self._played_s[rows]
        repetition = _MEMORY * np.exp(-elapsed_s / _MEMORY_S)
        costs = np.hypot(distances.astype(np.float64), repetition)
        return costs * np.exp(self._variety * self._random.standard_normal(len(rows)))

    def _moments(self, rows: Array, costs: Array) -> Array:
        """(m,) indices of the cheapest row of each moment, in the order of their costs."""
        if not len(rows):
            return np.zeros(0, np.int64)
        order = np.argsort(rows, kind="stable")
        apart = np.diff(rows[order]) > _MOMENT_S * self._database.fps
        groups = np.split(order, np.flatnonzero(apart) + 1)
        best = np.array([group[costs[group].argmin()] for group in groups])
        return best[np.argsort(costs[best], kind="stable")]


def _lasting(database: MotionDatabase, seconds: float) -> Array:
    """(rows,) bool: offered rows whose clip continues for so long, or for half of its length."""
    offered = database.offered
    rows = np.arange(len(database))
    half = (database.range_stops - database.range_starts)[database.clip_of(rows)] // 2
    enough = database.frames_left(rows) >= np.minimum(seconds * database.fps, half)
    lasting = offered & enough
    return lasting if lasting.any() else offered
