"""Dance data in the header of a motion database: its songs, and reference measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from controllers.dance.reference import DanceReference
from deepphase.errors import DeepPhaseError
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.music.song_tracks import ClipSongTracks

# Keys of the header.
_SONGS, _REFERENCE = "songs", "dances"
# Number of dances of which the reference is measured.
_MEASURED = 12


def with_songs(
    database: MotionDatabase, clips: ClipSongTracks, progress: Progress | None = None
) -> MotionDatabase:
    """The database with the names and hashes of its songs, and a `DanceReference` of its dances."""
    count = len(clips.store)
    chosen = np.unique(np.linspace(0, count - 1, min(_MEASURED, count)).round()).astype(int)
    measured = [clip for clip in map(clips.store.clip, chosen.tolist()) if clip.duration >= 1.0]
    if progress is not None:
        progress("measuring the dances", 0, 1, "")
    songs = clips.as_mapping()
    before = database.made_with.get(_SONGS)
    if isinstance(before, Mapping):
        songs["songs"] = {**before.get("songs", {}), **songs["songs"]}
    header: dict[str, object] = {_SONGS: songs}
    if measured and _REFERENCE not in database.made_with:
        try:
            features = [clips.songs[clip.source.song] for clip in measured]
            header[_REFERENCE] = DanceReference.of(measured, features).as_mapping()
        except DeepPhaseError:
            # Bodies without arms or legs cannot be measured.
            pass
    if progress is not None:
        progress("measuring the dances", 1, 1, "")
    return replace(database, made_with={**database.made_with, **header})


def dance_reference(database: MotionDatabase) -> DanceReference | None:
    """Reference measures of a database's dances; None if it was built without songs."""
    content = database.made_with.get(_REFERENCE)
    return DanceReference.from_mapping(content) if isinstance(content, Mapping) else None
