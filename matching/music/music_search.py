"""Where a dance goes on: moments that were danced to what the song sounds like, not just seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.music.conditioning import sample_at
from deepphase.music.features import SongFeatures
from deepphase.steering.goal_sources import GoalSource
from deepphase.steering.root_states import RootStates
from matching.database.database import MotionDatabase
from matching.music.song_tracks import song_track, track_features
from matching.search.searcher import Searcher

# So many rows are looked at; those within this many seconds of each other are one moment.
_CANDIDATES, _MOMENT_S = 256, 0.15
# Moments that are rehearsed, and those that cost this share more than the best are as good.
_REHEARSED, _NEARLY = 12, 0.2
# A transition that accelerates the body by less than this share of what is usual is smooth.
_SMOOTH = 0.8
# Moments that a dance may begin with, out of so many rows.
_BEGINNINGS, _BEGINNING_ROWS = 24, 2048
_LONG_AGO = -1e9


@dataclass(frozen=True)
class DanceSettings:
    """How a dance is put together.

    Parameters
    ----------
    min_improvement
        A jump must cost less than dancing on by this share of it.
    least_s
        Seconds that are danced between two jumps, where the clip has them.
    ending_s
        Seconds before a clip's end from which on any smooth way on is taken.
    neighbourhood_s
        No jump within so many seconds of what is danced.
    memory_s
        Seconds in which a third is forgotten of what was danced.
    memory
        Cost of what was danced just now, in the unit of the database's distances.
    variety
        Spread by which costs differ from seed to seed, as a share of them.
    """

    min_improvement: float = 0.1
    least_s: float = 1.0
    ending_s: float = 1.5
    neighbourhood_s: float = 1.0
    memory_s: float = 60.0
    memory: float = 6.0
    variety: float = 0.1

    def __post_init__(self) -> None:
        for name in ("least_s", "ending_s", "neighbourhood_s", "memory", "variety"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"{name} {getattr(self, name)}: it must not be negative")
        if not self.memory_s > 0:
            raise ParameterError(f"memory_s {self.memory_s}: it must be above 0")
        if not 0 <= self.min_improvement < 1:
            raise ParameterError(
                f"min_improvement {self.min_improvement}: it must be at least 0 and below 1"
            )


class MusicSearch:
    """Searches of a database for one dancer; see `matching.player.trajectory_search.SearchPolicy`.

    What is searched for is the dancer's own pose and phases, and what the song sounds like now
    and ahead. What was danced of late costs more.

    Parameters
    ----------
    database, searcher
        What is searched, and who searches.
    song
        What is danced to.
    start_s
        The song's second at the first frame.
    settings
        How the dance is put together.
    seed
        Of the choices between what fits as well.

    Attributes
    ----------
    time_s
        Seconds of the song: the dance tells it before every frame.
    """

    def __init__(
        self,
        database: MotionDatabase,
        searcher: Searcher,
        song: SongFeatures,
        *,
        start_s: float = 0.0,
        settings: DanceSettings | None = None,
        seed: int = 0,
    ) -> None:
        self._database, self._searcher = database, searcher
        self._settings = settings or DanceSettings()
        self.time_s = start_s
        self._random = np.random.default_rng(seed)
        self._danced = np.full(len(database), _LONG_AGO)
        self._jumped_s = _LONG_AGO
        self._lasting = _lasting(database, self._settings.least_s + self._settings.ending_s)
        heard = {name: song_track(song, name) for name in track_features(database.layout)}
        self._tracks = [
            (feature, heard[feature.track]) for feature in database.layout.of_kind("track")
        ]

    @property
    def has_music(self) -> bool:
        """Whether the database's features have music at all."""
        return bool(self._tracks)

    def initial(self) -> Array:
        """(1,) the row to begin with: one whose music is most like the song's, whatever the pose.

        Without music, or for another seed, another.
        """
        database = self._database
        query = np.zeros((1, database.dims), np.float32)
        for name, block in self._heard().items():
            place = database.layout.slices[name]
            query[:, place] = database.normalisation.of_block(block, place)
        if self.has_music:
            _, near = self._searcher.search(query, _BEGINNING_ROWS, allowed=self._lasting)
            moments = near[0, near[0] >= 0]
        else:
            moments = self._random.choice(np.flatnonzero(self._lasting), 1)
        kept = self._moments(moments, np.arange(len(moments), dtype=float))[:_BEGINNINGS]
        return moments[[self._random.choice(kept)]]

    def danced(self, row: int) -> None:
        """Remember a row that is danced now, and with it those that lead there."""
        clip = int(self._database.clip_of(row))
        reach = round(self._database.fps)
        first = max(row - reach, int(self._database.range_starts[clip]))
        self._danced[first : row + 1] = self.time_s

    def goals(
        self, goal_source: GoalSource, root_states: RootStates, which: Array
    ) -> dict[str, Array]:
        """As `SearchPolicy.goals`: raw values of the features that hear the song."""
        return self._heard()

    def search(
        self,
        rows: Array,
        leaving: Array,
        goals: dict[str, Array],
        labels: Sequence[Mapping[str, str]],
        transition_costs: Callable[[Array, Array], Array],
    ) -> tuple[Array, Array, Array]:
        """As `SearchPolicy.search`, for a single dancer."""
        database, settings = self._database, self._settings
        query = database.query(rows, goals)
        staying = float(np.linalg.norm(query[0] - database.features[rows[0]]))
        nowhere = np.full(1, -1), np.full(1, staying), np.ones(1, bool)
        if not leaving[0] and self.time_s - self._jumped_s < settings.least_s:
            return nowhere
        ending = database.frames_left(rows)[0] < settings.ending_s * database.fps
        left = bool(leaving[0] or ending)
        bound = np.inf if left else (1.0 - settings.min_improvement) * staying
        if not bound > 0:
            return nowhere
        distances, near = self._searcher.search(
            query,
            _CANDIDATES,
            allowed=self._lasting,
            excluded=database.neighbourhood(rows, settings.neighbourhood_s),
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
        transition = transition_costs(np.zeros(1, np.int64), near[kept][None])[0]
        best = int(transition.argmin())
        smooth = bool(transition[best] < _SMOOTH)
        if smooth:
            self._jumped_s = self.time_s
        return near[kept[[best]]], costs[kept[[best]]], np.array([smooth])

    def _heard(self) -> dict[str, Array]:
        """Feature name -> (1, feature dims) raw values at this moment of the song."""
        return {
            feature.name: sample_at(rows, self.time_s + np.array(feature.offsets_s)).reshape(1, -1)
            for feature, rows in self._tracks
        }

    def _costs(self, rows: Array, distances: Array) -> Array:
        """(n,) distances with what is remembered, and what makes seeds differ."""
        settings = self._settings
        ago = self.time_s - self._danced[rows]
        remembered = settings.memory * np.exp(-ago / settings.memory_s)
        costs = np.hypot(distances.astype(np.float64), remembered)
        return costs * np.exp(settings.variety * self._random.standard_normal(len(rows)))

    def _moments(self, rows: Array, costs: Array) -> Array:
        """(m,) indices of rows, the cheapest first, none near a cheaper one."""
        if not len(rows):
            return np.zeros(0, np.int64)
        order = np.argsort(rows, kind="stable")
        apart = np.diff(rows[order]) > _MOMENT_S * self._database.fps
        groups = np.split(order, np.flatnonzero(apart) + 1)
        best = np.array([group[costs[group].argmin()] for group in groups])
        return best[np.argsort(costs[best], kind="stable")]


def _lasting(database: MotionDatabase, seconds: float) -> Array:
    """(rows,) bool: so long goes the clip on, or half of it; what is offered where none does."""
    rows = np.arange(len(database))
    half = (database.range_stops - database.range_starts)[database.clip_of(rows)] // 2
    enough = database.frames_left(rows) >= np.minimum(seconds * database.fps, half)
    lasting = database.offered & enough
    return lasting if lasting.any() else database.offered
