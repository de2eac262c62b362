"""Songs of a motion database: audio features of the songs that clips were danced to, frame by
frame, and the search by pose, phase and music for dances to another song."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.songs import ClipSongs, songs_of_clips
from deepphase.errors import DeepPhaseError, ParameterError, SkeletonError
from deepphase.evaluation.dance import DanceReference
from deepphase.evaluation.dance_clock import DanceClocks, clocks_of_clips
from deepphase.features.layout import FeatureLayout
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.trajectory_search import JumpRequest, SearchResult
from deepphase.matching.search.request import Searcher, cost_terms
from deepphase.motion.clip import Clip
from deepphase.music.features import (
    FPS,
    SONG_FEATURE_KINDS,
    SongFeatures,
    feature_values,
    sample_at,
    value_names,
)
from deepphase.steering.goal_sources import GoalSource, RootStates
from deepphase.work import Progress, report

_MEAN = "_mean_"
# Keys of a database's header.
_SONGS_KEY, DANCES_KEY = "songs", "dances"


def track_features(layout: FeatureLayout) -> list[str]:
    """Names of the tracks of a layout, each once; ParameterError where one is not a song track."""
    names = list(dict.fromkeys(feature.track for feature in layout.of_kind("track")))
    for name in names:
        _parsed(name)
    return names


def has_song_tracks(layout: FeatureLayout) -> bool:
    """Whether a layout has tracks, and all of them are song tracks."""
    tracks = [feature.track for feature in layout.of_kind("track")]
    return bool(tracks) and all(track.split(_MEAN)[0] in SONG_FEATURE_KINDS for track in tracks)


def song_track(song: SongFeatures, name: str) -> Array:
    """(frames, values) float32 track of a song, 60 frames a second.

    `name`: a song feature, as in "onset_strength", or its moving average over a centred window of
    some seconds, as in "mel_mean_2". Raises ParameterError for an unknown track.
    """
    feature, seconds = _parsed(name)
    rows = feature_values(song, feature)
    if not seconds:
        return rows
    length = max(round(seconds * FPS), 1)
    return uniform_filter1d(rows.astype(np.float64), length, axis=0, mode="nearest").astype(
        np.float32
    )


@dataclass(frozen=True, eq=False)
class ClipSongTracks(ClipSongs):
    """Clips with a song each, and the names of the tracks that are read from the songs.

    Parameters
    ----------
    tracks
        Names of the tracks.
    clocks
        Clocks of the dances: where one is clear, the song is read at the bars that the dance is
        in. None reads songs at the times of the recording.
    """

    tracks: tuple[str, ...]
    clocks: DanceClocks | None = None

    @classmethod
    def read(
        cls,
        store: ClipStore,
        folder: Path | None,
        layout: FeatureLayout,
        progress: Progress | None = None,
    ) -> ClipSongTracks:
        """Read the songs of a store's clips for the tracks of a layout; see `songs_of_clips`.

        Raises ParameterError if no clip has a song that can be read, or a track is not a song
        track.
        """
        tracks = tuple(track_features(layout))
        clips = songs_of_clips(store, folder, progress)
        clocks = None
        # Bodies without arms or legs have no clock.
        with suppress(SkeletonError):
            clocks = clocks_of_clips(clips, progress)
        return cls(clips.store, clips.songs, clips.left_out, tracks, clocks)

    def __call__(self, clip: Clip) -> dict[str, Array]:
        """Track name -> (frames, values): the song at the times of the clip's frames."""
        song = self.songs.get(clip.source.song)
        if song is None:
            raise ParameterError(f"{clip.name}: its song was not read", path=clip.source.path)
        times = np.arange(len(clip)) / clip.fps
        if self.clocks is not None and self.clocks.is_clear(clip.name):
            clock = self.clocks.clocks[clip.name]
            times = clock.offset_s + clock.rate * times
        times = times + clip.source.song_start_s
        return {name: sample_at(song_track(song, name), times) for name in self.tracks}

    def as_mapping(self) -> dict[str, Any]:
        """The tracks and songs, as a database stores them in its header."""
        return {
            "tracks": {name: value_names([_parsed(name)[0]]) for name in self.tracks},
            "songs": {name: song.sha256 for name, song in self.songs.items()},
            "clocks": {} if self.clocks is None else self.clocks.as_mapping(),
        }


def with_songs(
    database: MotionDatabase,
    clips: ClipSongTracks,
    progress: Progress | None = None,
) -> MotionDatabase:
    """The database with the names and hashes of its songs, and a `DanceReference` of its dances."""
    count = len(clips.store)
    chosen = np.unique(np.linspace(0, count - 1, min(12, count)).round()).astype(int)
    measured = [clip for clip in map(clips.store.clip, chosen.tolist()) if clip.duration >= 1.0]
    report(progress, "measuring the dances", 0, 1)
    songs = clips.as_mapping()
    before = database.made_with.get(_SONGS_KEY)
    if isinstance(before, Mapping):
        songs["songs"] = {**before.get("songs", {}), **songs["songs"]}
    header: dict[str, object] = {_SONGS_KEY: songs}
    if measured and DANCES_KEY not in database.made_with:
        # Bodies without arms or legs cannot be measured.
        with suppress(DeepPhaseError):
            features = [clips.songs[clip.source.song] for clip in measured]
            header[DANCES_KEY] = DanceReference.from_clips(measured, features).as_mapping()
    report(progress, "measuring the dances", 1, 1)
    return replace(database, made_with={**database.made_with, **header})


def _parsed(name: str) -> tuple[str, float]:
    """Song feature of a track, and the seconds of its moving average, or 0."""
    feature, _, seconds = name.partition(_MEAN)
    try:
        length = float(seconds) if seconds else 0.0
    except ValueError:
        length = -1.0
    if feature not in SONG_FEATURE_KINDS or not 0 <= length <= 60 or (_MEAN in name and not length):
        raise ParameterError(
            f"there is no song track {name!r}",
            hint=f"give a song feature ({', '.join(SONG_FEATURE_KINDS)}) "
            "or its mean over some seconds, as in mel_mean_2",
        )
    return feature, length


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
