"""Databases of dances: songs and reference measures in their headers, and the choice of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.reference import DanceReference
from deepphase.errors import DeepPhaseError
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.music.song_tracks import ClipSongTracks
from deepphase.progress import Progress

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


def known_songs(database: MotionDatabase) -> list[str]:
    """Files of the songs of a database's clips; none if it was built without songs."""
    songs = database.made_with.get(_SONGS)
    return [*songs.get("songs", ())] if isinstance(songs, Mapping) else []


def dance_reference(database: MotionDatabase) -> DanceReference | None:
    """Reference measures of a database's dances; None if it was built without songs."""
    content = database.made_with.get(_REFERENCE)
    return DanceReference.from_mapping(content) if isinstance(content, Mapping) else None


def dance_source(folder: Path) -> tuple[Path | None, Path | None]:
    """A dancer or a database of dances: the newest database of a folder, or its newest dancer.

    Databases repeat less than dancers do and never restart, see docs/measurements/dance.md; that
    is why they come first.

    Returns
    -------
    dancer, database
        One of them is None; both are where the folder has neither.
    """
    for path in _newest(folder, (".db", ".database")):
        try:
            if known_songs(MotionDatabase.load(path, verify=False)):
                return None, path
        except DeepPhaseError:
            # A damaged or foreign file is not a reason not to dance with another.
            continue
    for path in _newest(folder, (".dancer",)):
        try:
            Dancer.load(path)
        except DeepPhaseError:
            continue
        return path, None
    return None, None


def _newest(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Files of the folder with one of these suffixes, the newest first."""
    files = [path for path in folder.iterdir() if path.suffix in suffixes and path.is_file()]
    yield from sorted(files, key=lambda path: (-path.stat().st_mtime, path.name))
