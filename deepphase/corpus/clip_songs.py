"""The songs of clips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.music.cache import song_features
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress


@dataclass(frozen=True, eq=False)
class ClipSongs:
    """Clips with a song each.

    Parameters
    ----------
    store
        Those clips that have a song.
    songs
        The song of a clip's source -> what it sounds like.
    left_out
        (clip, why) of those that have none.
    """

    store: ClipStore
    songs: Mapping[str, SongFeatures]
    left_out: tuple[tuple[str, str], ...]


def songs_of_clips(store: ClipStore, folder: Path, progress: Progress | None = None) -> ClipSongs:
    """Listen to the songs of a store's clips.

    Parameters
    ----------
    folder
        What the songs' names are relative to: the folder that was prepared.

    Raises
    ------
    ParameterError
        Where no clip has a song that can be read.
    """
    songs: dict[str, SongFeatures] = {}
    refused: dict[str, str] = {"": "no song beside it"}
    left_out, kept = [], []
    for number, (name, source) in enumerate(zip(store.names, store.sources, strict=True), start=1):
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
            progress("listening", number, len(store), name)
    if not kept:
        shown = "; ".join(f"{name}: {why}" for name, why in left_out[:3])
        raise ParameterError(
            "no clip has a song that can be heard",
            hint="put a sound file of the same name beside each clip (.wav, .flac, .ogg, .mp3), or "
            f"tell where songs are with --songs\n  {shown}",
        )
    if len(kept) < len(store):
        store = store.selected(kept)
    return ClipSongs(store, songs, tuple(left_out))
