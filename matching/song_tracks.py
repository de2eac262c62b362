"""What clips of dances were danced to, as tracks beside their frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.motion.clip import Clip
from deepphase.music.features import FPS, KINDS, SURE, SongFeatures, song_features, value_names
from deepphase.progress import Progress

Array = np.ndarray

# Tracks whose length says how sure a song's beats or bars are.
_CYCLES = {"beat_cycle": "beat_confidence", "bar_cycle": "bar_confidence"}
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
    return bool(tracks) and all(track.split(_MEAN)[0] in KINDS for track in tracks)


def song_track(song: SongFeatures, name: str) -> Array:
    """(frames, values) float32 of a song, 60 frames a second.

    Parameters
    ----------
    name
        A song feature, as in "onset_strength"; or one with its mean over so many seconds around
        each frame, as in "mel_mean_2". Sine and cosine of beat and bar are as long as the song's
        beats are sure, 0 where there are none.

    Raises
    ------
    ParameterError
        For a name that is none.
    """
    feature, seconds = _parsed(name)
    rows = song.array([feature])
    if feature in _CYCLES:
        rows = rows * np.float32(min(getattr(song, _CYCLES[feature]) / SURE, 1.0))
    if not seconds:
        return rows
    length = max(round(seconds * FPS), 1)
    return uniform_filter1d(rows.astype(np.float64), length, axis=0, mode="nearest").astype(
        np.float32
    )


def frames_of(values: Array, times: Array) -> Array:
    """(..., values) the frames of a song's track nearest to seconds of the song.

    Before the song and behind it its first and last frame go on.
    """
    frames = np.rint(np.asarray(times, np.float64) * FPS)
    return values[np.clip(frames, 0, len(values) - 1).astype(np.intp)]


@dataclass(frozen=True, eq=False)
class DancedSongs:
    """Songs of the clips of a store.

    Parameters
    ----------
    store
        Those clips that have a song.
    songs
        The song of a clip's source -> what it sounds like.
    left_out
        (clip, why) of those that have none.
    tracks
        Which tracks their songs give.
    """

    store: ClipStore
    songs: Mapping[str, SongFeatures]
    left_out: tuple[tuple[str, str], ...]
    tracks: tuple[str, ...]

    @classmethod
    def heard(
        cls,
        store: ClipStore,
        folder: Path,
        layout: FeatureLayout,
        progress: Progress | None = None,
    ) -> DancedSongs:
        """Listen to the songs of a store's clips.

        Parameters
        ----------
        folder
            What the songs' names are relative to: the folder that was prepared.
        layout
            Its tracks are what the songs are asked for.

        Raises
        ------
        ParameterError
            Where no clip has a song that can be read, or a track is of no song feature.
        """
        tracks = tuple(track_features(layout))
        songs: dict[str, SongFeatures] = {}
        refused: dict[str, str] = {"": "no song beside it"}
        left_out, kept = [], []
        for number, (name, source) in enumerate(zip(store.names, store.sources, strict=True)):
            if source.song not in songs and source.song not in refused:
                try:
                    songs[source.song] = song_features(folder / source.song)
                except DeepPhaseError as error:
                    refused[source.song] = str(error)
            if source.song in songs:
                kept.append(name)
            else:
                left_out.append((name, refused[source.song]))
            if progress is not None:
                progress("listening", number + 1, len(store), name)
        if not kept:
            shown = "; ".join(f"{name}: {why}" for name, why in left_out[:3])
            raise ParameterError(
                "these features hear music, and no clip has a song",
                hint="put a sound file of the same name beside each clip before `deepphase "
                f"prepare`, and tell its folder with --songs\n  {shown}",
            )
        if len(kept) < len(store):
            store = store.selected(kept)
        return cls(store, songs, tuple(left_out), tracks)

    def __call__(self, clip: Clip) -> dict[str, Array]:
        """The tracks of a clip, name -> (frames, values), frame by frame what is heard then."""
        song = self.songs.get(clip.source.song)
        if song is None:
            raise ParameterError(f"{clip.name}: no song that was heard", path=clip.source.path)
        times = np.arange(len(clip)) / clip.fps + clip.source.song_start_s
        return {name: frames_of(song_track(song, name), times) for name in self.tracks}

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
    if feature not in KINDS or not 0 <= length <= 60 or (_MEAN in name and not length):
        raise ParameterError(
            f"no track {name!r} of a song",
            hint=f"a song feature ({', '.join(KINDS)}), or its mean over seconds, as in mel_mean_2",
        )
    return feature, length
