"""A motion database of made dances to made songs: who dances where there is nobody else."""

from __future__ import annotations

from dataclasses import replace

from apps.pages.parts.demo import demo_model
from apps.reports.database_songs import with_dances
from deepphase.corpus.clip_store import ClipStore
from deepphase.features.layout import FeatureLayout
from deepphase.music.features import features_of
from deepphase.progress import Progress
from deepphase.synthetic.dance import dance
from deepphase.synthetic.song import make_song
from matching.database import MotionDatabase
from matching.song_tracks import DancedSongs, track_features

_LAYOUT = "dance_music"
# (beats a minute, beats in a bar) of the songs: about as fast as people dance.
_SONGS = ((88, 4), (97, 4), (106, 4), (115, 4), (126, 4), (94, 3), (108, 3), (122, 3))
_SONG_S = 20.0


def made_dances(progress: Progress) -> MotionDatabase:
    """A minute or two of dances, in seconds; each to a song of its own tempo."""
    clips, songs = [], {}
    for number, (bpm, beats_per_bar) in enumerate(_SONGS):
        song = make_song(number, _SONG_S, tempo_bpm=float(bpm), beats_per_bar=beats_per_bar)
        clip, name = dance(song, number).clip, f"{bpm} beats a minute, {beats_per_bar} a bar"
        clips.append(replace(clip, name=name, source=replace(clip.source, song=name)))
        songs[name] = features_of(song.samples, name=name)
        progress("making dances, listening to songs", number + 1, len(_SONGS), name)
    layout = FeatureLayout.load(_LAYOUT)
    heard = DancedSongs(ClipStore.from_clips(clips), songs, (), tuple(track_features(layout)))
    database = MotionDatabase.build(
        heard.store, layout, demo_model(), tracks=heard, progress=progress
    )
    return with_dances(database, heard, progress)
