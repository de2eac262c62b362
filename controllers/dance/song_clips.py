"""Training clips of a dancer, each with its song, on one skeleton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.songs import ClipSongs, songs_of_clips
from deepphase.motion.clip import Clip
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress
from deepphase.solving.fitting import solve_body
from deepphase.solving.solve import solve_points, track_of


@dataclass(frozen=True, eq=False)
class SongClips(ClipSongs):
    """Clips with rotations, and the songs that they were danced to.

    Parameters
    ----------
    residual_m
        Mean and 95th percentile of the distance between the captured points and the solved
        skeleton, in metres; None if the clips had rotations.
    """

    residual_m: tuple[float, float] | None

    def song(self, clip: Clip) -> SongFeatures:
        """The song of a clip."""
        return self.songs[clip.source.song]


def song_clips(
    store: ClipStore,
    songs: Path,
    *,
    description: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> SongClips:
    """Read the songs of clips, and solve a skeleton for clips that are point tracks.

    Parameters
    ----------
    store
        Clips whose `source.song` names a file.
    songs
        The folder that those names are relative to.
    description
        Skeleton description, for points whose names and structure do not identify them.
    progress
        Called with the number of clips done.

    Raises
    ------
    ParameterError
        If no clip has a song.
    SkeletonError
        If the points are not those of a body with two legs.
    """
    with_songs = songs_of_clips(store, songs, progress)
    solved, residual = with_skeleton(with_songs.store, description=description, progress=progress)
    return SongClips(solved, with_songs.songs, with_songs.left_out, residual)


def with_skeleton(
    store: ClipStore,
    *,
    description: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> tuple[ClipStore, tuple[float, float] | None]:
    """Solve one skeleton of constant bone lengths for clips that are point tracks.

    Clips that have rotations are returned unchanged.

    Returns
    -------
    The store, in memory, and the mean and 95th percentile of the distance between points and the
    solved skeleton, in metres; None if the clips have rotations.
    """
    if any(clip.has_rotations for clip in store):
        return store, None
    body = solve_body([track_of(clip) for clip in store], description)
    clips, residuals = [], []
    for number, clip in enumerate(store, start=1):
        solved = solve_points(clip, body)
        clips.append(replace(solved.clip, labels=clip.labels, name=clip.name))
        residuals.append(solved.residuals.ravel())
        if progress is not None:
            progress("solving skeletons", number, len(store), clip.name)
    every = np.concatenate(residuals)
    spread = float(every.mean()), float(np.percentile(every, 95))
    return ClipStore.from_clips(clips, provenance=store.provenance), spread
