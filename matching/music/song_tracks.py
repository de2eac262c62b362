"""What clips of dances were danced to, as tracks beside their frames."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.songs import ClipSongs, songs_of_clips
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.motion.clip import Clip
from deepphase.music.conditioning import feature_values, sample_at
from deepphase.music.features import FPS, SONG_FEATURE_KINDS, SongFeatures, value_names
from deepphase.progress import Progress

_MEAN = "_mean_"


def track_features(layout: FeatureLayout) -> list[str]:
    """The tracks of a layout that are of songs, each once; ParameterError where one is not."""
    names = list(dict.fromkeys(feature.track for feature in layout.of_kind("track")))
    for name in names:
        _parsed(name)
    return names


def is_of_songs(layout: FeatureLayout) -> bool:
    """Whether a layout has tracks, and all are of songs."""
    tracks = [feature.track for feature in layout.of_kind("track")]
    return bool(tracks) and all(track.split(_MEAN)[0] in SONG_FEATURE_KINDS for track in tracks)


def song_track(song: SongFeatures, name: str) -> Array:
    """(frames, values) float32 of a song, 60 frames a second.

    Parameters
    ----------
    name
        A song feature, as in "onset_strength"; or one with its mean over so many seconds around
        each frame, as in "mel_mean_2".

    Raises
    ------
    ParameterError
        For a name that is none.
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
    """Clips with a song each, and what is asked of the songs.

    Parameters
    ----------
    tracks
        Which tracks their songs give.
    """

    tracks: tuple[str, ...]

    @classmethod
    def heard(
        cls,
        store: ClipStore,
        folder: Path,
        layout: FeatureLayout,
        progress: Progress | None = None,
    ) -> ClipSongTracks:
        """Listen to the songs of a store's clips for a layout's tracks; see `songs_of_clips`.

        Raises
        ------
        ParameterError
            Where no clip has a song that can be read, or a track is of no song feature.
        """
        tracks = tuple(track_features(layout))
        found = songs_of_clips(store, folder, progress)
        return cls(found.store, found.songs, found.left_out, tracks)

    def __call__(self, clip: Clip) -> dict[str, Array]:
        """The tracks of a clip, name -> (frames, values), frame by frame what is heard then."""
        song = self.songs.get(clip.source.song)
        if song is None:
            raise ParameterError(f"{clip.name}: no song that was heard", path=clip.source.path)
        times = np.arange(len(clip)) / clip.fps + clip.source.song_start_s
        return {name: sample_at(song_track(song, name), times) for name in self.tracks}

    def as_mapping(self) -> dict[str, Any]:
        """What a database keeps of them in its header."""
        return {
            "tracks": {name: value_names([_parsed(name)[0]]) for name in self.tracks},
            "songs": {name: song.sha256 for name, song in self.songs.items()},
        }


def _parsed(name: str) -> tuple[str, float]:
    """A track's song feature, and the seconds of its mean or 0."""
    feature, _, seconds = name.partition(_MEAN)
    try:
        length = float(seconds) if seconds else 0.0
    except ValueError:
        length = -1.0
    if feature not in SONG_FEATURE_KINDS or not 0 <= length <= 60 or (_MEAN in name and not length):
        raise ParameterError(
            f"no track {name!r} of a song",
            hint=f"a song feature ({', '.join(SONG_FEATURE_KINDS)}), "
            "or its mean over seconds, as in mel_mean_2",
        )
    return feature, length
