"""Synthetic dances to synthetic songs, as a motion database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from deepphase.apps.dances.sources import with_songs
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.features.layout import FeatureLayout
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.music.song_tracks import ClipSongTracks, track_features
from deepphase.music.features import features_of
from deepphase.phase.extractor import PhaseExtractor
from deepphase.progress import Progress
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song

_LAYOUT = "dance_music"
SYNTHETIC_DANCES = (
    "synthetic dances of this package, on the beats but of few figures; a dancer of your own "
    "dances (train dance) has their steps, and follows bars as recorded waltzes do (.80, recorded "
    ".79)"
)
"""Whose dances they are, for a command that dances with them."""
# (beats a minute, beats in a bar) of the songs, in the range of danced tempi.
SONGS = ((88, 4), (97, 4), (106, 4), (115, 4), (126, 4), (94, 3), (108, 3), (122, 3))
_SONG_S = 20.0


def made_dances(
    model: PhaseExtractor,
    progress: Progress,
    songs: Sequence[tuple[int, int]] = SONGS,
    *,
    file: Path | None = None,
) -> MotionDatabase:
    """A motion database of synthetic dances, each to a song of another tempo."""
    clips, features = [], {}
    for number, (bpm, beats_per_bar) in enumerate(songs):
        song = make_song(number, _SONG_S, tempo_bpm=float(bpm), beats_per_bar=beats_per_bar)
        clip, name = dance(song, number).clip, f"{bpm} beats a minute, {beats_per_bar} a bar"
        clips.append(replace(clip, name=name, source=replace(clip.source, song=name)))
        features[name] = features_of(song.samples, name=name)
        progress("making dances, analysing songs", number + 1, len(songs), name)
    layout = FeatureLayout.load(_LAYOUT)
    store = ClipStore.from_clips(clips)
    if file is not None:
        store.save(file)
        store = open_store(file)
    tracks = ClipSongTracks(store, features, (), tuple(track_features(layout)))
    database = MotionDatabase.build(tracks.store, layout, model, tracks=tracks, progress=progress)
    return with_songs(database, tracks, progress)
