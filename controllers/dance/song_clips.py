"""Clips with a song beside each: what a dancer learns from."""

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
class SongClip(ClipSongs):
    """Clips and the songs that they were danced to.

    Parameters
    ----------
    residual_m
        Metres, mean and 95th percentile: points from their places on the rig; None where the
        clips had rotations of their own.
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
) -> SongClip:
    """Listen to the songs of clips, and give clips that are points a skeleton.

    Parameters
    ----------
    store
        Clips whose `source.song` names a file.
    songs
        The folder that those names are relative to.
    description
        A skeleton description, where names and structure do not tell which point is which.

    Raises
    ------
    ParameterError
        Where no clip has a song.
    SkeletonError
        Where points are of no body with two legs.
    """
    found = songs_of_clips(store, songs, progress)
    with_body, residual = with_skeleton(found.store, description=description, progress=progress)
    return SongClip(with_body, found.songs, found.left_out, residual)


def with_skeleton(
    store: ClipStore,
    *,
    description: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> tuple[ClipStore, tuple[float, float] | None]:
    """The clips on one skeleton of constant lengths where they are points; else as they are.

    Returns
    -------
    The store, in memory, and the mean and 95th percentile in metres of how far points are from
    their places on the skeleton; None where the clips have rotations.
    """
    # Clips of points can look like others for some frames, not all of them.
    if any(clip.has_rotations for clip in store):
        return store, None
    body = solve_body([track_of(clip) for clip in store], description)
    clips, residuals = [], []
    for number, clip in enumerate(store, start=1):
        made = solve_points(clip, body)
        clips.append(replace(made.clip, labels=clip.labels, name=clip.name))
        residuals.append(made.residuals.ravel())
        if progress is not None:
            progress("rigging", number, len(store), clip.name)
    every = np.concatenate(residuals)
    spread = float(every.mean()), float(np.percentile(every, 95))
    return ClipStore.from_clips(clips, provenance=store.provenance), spread
