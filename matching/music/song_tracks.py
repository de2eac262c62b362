"""Song tracks of clips: audio features of the songs that clips were danced to, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping
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
from deepphase.motion.clip import Clip
from deepphase.music.features import (
    FPS,
    SONG_FEATURE_KINDS,
    SongFeatures,
    feature_values,
    sample_at,
    value_names,
)
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
