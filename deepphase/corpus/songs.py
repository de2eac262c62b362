"""Songs beside clips and under folders, and their features."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.clips import ClipEntry
from deepphase.corpus.motion_files import (
    SONG_SUFFIXES,
    SONGS_FOLDER,
    existing,
    files_under,
    is_song,
)
from deepphase.errors import DeepPhaseError, FormatError, ParameterError
from deepphase.music.cache import song_features
from deepphase.music.features import SongFeatures
from deepphase.work import Progress, report

BESIDE_CLIPS = (
    f"put a sound file of the same name ({', '.join(SONG_SUFFIXES)}) beside each clip, or give the "
    "folder of the songs with --songs"
)
"""What to do where clips have no songs."""


def song_entries(paths: str | Path | Sequence[str | Path]) -> list[ClipEntry]:
    """The songs among files and in folders, as entries whose `load` gives their features."""
    songs = [song.absolute() for song in find_songs(paths)]
    return [
        ClipEntry(song.stem, partial(song_features, song), song.stat().st_size) for song in songs
    ]


def find_songs(inputs: str | Path | Sequence[str | Path]) -> list[Path]:
    """All sound files among files and under folders that are not hidden, sorted by their path."""
    paths = existing(inputs)
    found = {path for path in paths if not path.is_dir()}
    for root in filter(Path.is_dir, paths):
        found |= set(filter(is_song, files_under(root)))
    if not found:
        raise FormatError(
            "there are no songs here",
            hint=f"give sound files ({', '.join(SONG_SUFFIXES)}), or a folder that has some",
            path=paths[0] if paths else None,
        )
    return sorted(found)


@dataclass(frozen=True, eq=False)
class ClipSongs:
    """Clips with a song each, and (clip, reason) of those without."""

    store: ClipStore
    songs: Mapping[str, SongFeatures]
    left_out: tuple[tuple[str, str], ...]


def songs_of_clips(
    store: ClipStore, folder: Path | None = None, progress: Progress | None = None
) -> ClipSongs:
    """Features of the songs of a store's clips: in a folder, else where they lay from the store."""
    songs: dict[str, SongFeatures] = {}
    refused: dict[str, str] = {"": "no song beside it"}
    left_out, kept = [], []
    for number, (name, source) in enumerate(zip(store.names, store.sources, strict=True), start=1):
        if source.song not in songs and source.song not in refused:
            try:
                songs[source.song] = song_features(_place(source.song, store, folder))
            except DeepPhaseError as error:
                refused[source.song] = str(error)
        if source.song in songs:
            kept.append(name)
        else:
            left_out.append((name, refused[source.song]))
        report(progress, "reading songs", number, len(store), name)
    if not kept:
        shown = "; ".join(f"{name}: {why}" for name, why in left_out[:3])
        raise ParameterError(
            "no clip has a song that can be read",
            hint=f"{BESIDE_CLIPS}\n  {shown}",
        )
    if len(kept) < len(store):
        store = store.selected(kept)
    return ClipSongs(store, songs, tuple(left_out))


def _place(song: str, store: ClipStore, folder: Path | None) -> Path:
    """Where the song of a clip is, or is missed."""
    beside = folder or Path(os.path.realpath(store.path or "")).parent
    recorded = str((store.header.get("options") or {}).get(SONGS_FOLDER, ""))
    places = [beside / song, beside / Path(song).name]
    if folder is None:
        places.insert(0, Path(os.path.normpath(beside / recorded / song)))
    return next(filter(Path.is_file, places), places[0])
