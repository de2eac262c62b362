"""What a database of dances keeps besides its rows: its songs, and what its dances measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from controllers.dance.reference import DanceReference
from deepphase.errors import DeepPhaseError
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.music.song_tracks import ClipSongTracks

# Where a database's header keeps it.
_SONGS, _REFERENCE = "songs", "dances"
# Dances that are measured, spread over all.
_MEASURED = 12


def with_dances(
    database: MotionDatabase, heard: ClipSongTracks, progress: Progress | None = None
) -> MotionDatabase:
    """The database with its songs' names and hashes, and the measures of some of its dances."""
    count = len(heard.store)
    chosen = np.unique(np.linspace(0, count - 1, min(_MEASURED, count)).round()).astype(int)
    clips = [clip for clip in map(heard.store.clip, chosen.tolist()) if clip.duration >= 1.0]
    if progress is not None:
        progress("measuring the dances", 0, 1, "")
    kept = heard.as_mapping()
    before = database.made_with.get(_SONGS)
    if isinstance(before, Mapping):
        kept["songs"] = {**before.get("songs", {}), **kept["songs"]}
    more: dict[str, object] = {_SONGS: kept}
    if clips and _REFERENCE not in database.made_with:
        try:
            songs = [heard.songs[clip.source.song] for clip in clips]
            more[_REFERENCE] = DanceReference.of(clips, songs).as_mapping()
        except DeepPhaseError:
            # A body without arms or legs can dance, and is not measured.
            pass
    if progress is not None:
        progress("measuring the dances", 1, 1, "")
    return replace(database, made_with={**database.made_with, **more})


def dances_of(database: MotionDatabase) -> DanceReference | None:
    """What the dances of a database measure; None where it was built of no songs."""
    kept = database.made_with.get(_REFERENCE)
    return DanceReference.from_mapping(kept) if isinstance(kept, Mapping) else None
