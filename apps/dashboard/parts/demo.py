"""Demo data of the dashboard: synthetic motion of all gaits, and the models that are shipped."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import streamlit as st

from apps.dances.databases import with_songs
from apps.dashboard.pages import PAGES
from apps.demo.model import EMBEDDING, PHASES
from deepphase.corpus.clip_store import ClipStore
from deepphase.features.layout import FeatureLayout
from deepphase.music.features import features_of
from deepphase.phase.model import PhaseModel
from deepphase.progress import Progress
from deepphase.synthetic.dance import dance
from deepphase.synthetic.gait import gaits_of
from deepphase.synthetic.locomotion import locomotion
from deepphase.synthetic.song import make_song
from deepphase.synthetic.training_set import corpus
from matching.database.database import MotionDatabase
from matching.music.song_tracks import ClipSongTracks, track_features

_LAYOUT = "dance_music"
# (beats a minute, beats in a bar) of the songs, in the range of danced tempi.
_SONGS = ((88, 4), (97, 4), (106, 4), (115, 4), (126, 4), (94, 3), (108, 3), (122, 3))
_SONG_S = 20.0


def made_dances(progress: Progress) -> MotionDatabase:
    """A motion database of synthetic dances, each to a song of another tempo."""
    clips, songs = [], {}
    for number, (bpm, beats_per_bar) in enumerate(_SONGS):
        song = make_song(number, _SONG_S, tempo_bpm=float(bpm), beats_per_bar=beats_per_bar)
        clip, name = dance(song, number).clip, f"{bpm} beats a minute, {beats_per_bar} a bar"
        clips.append(replace(clip, name=name, source=replace(clip.source, song=name)))
        songs[name] = features_of(song.samples, name=name)
        progress("making dances, analysing songs", number + 1, len(_SONGS), name)
    layout = FeatureLayout.load(_LAYOUT)
    tracks = ClipSongTracks(ClipStore.from_clips(clips), songs, (), tuple(track_features(layout)))
    database = MotionDatabase.build(
        tracks.store, layout, demo_model(), tracks=tracks, progress=progress
    )
    return with_songs(database, tracks, progress)


NAME = "Made motion (demo)"
# Other individuals than those that the models learnt from.
_SEED = 2203
_CLIP_S, _BODY = 11.0, "biped"
# Modules that Streamlit imports at their first use.
_LAZY_IMPORTS = ("pandas", "pyarrow", "plotly.graph_objects")
# The fourth motion of a corpus is a medley of gaits.
_MEDLEY = 3


@st.cache_resource(show_spinner=False)
def demo_clips() -> ClipStore:
    """Every gait at a drifting speed, and a medley: some 5,000 interior frames."""
    generator = np.random.default_rng(_SEED)
    clips = []
    for gait in (gait.name for gait in gaits_of(_BODY).values() if gait.moves):
        made = locomotion(
            int(generator.integers(2**31)), _CLIP_S, body=_BODY, gait=gait, profile="drift"
        )
        labels = {"gait": gait.replace("_", " "), "pace": "drifting"}
        clips.append(replace(made.clip, name=gait, labels=labels))
    *_, medley = corpus(_SEED, (_MEDLEY + 1) * _CLIP_S / 60, body=_BODY, clip_seconds=_CLIP_S)
    labels = {"gait": "medley", "pace": "changing"}
    clips.append(replace(medley.clip, name="medley", labels=labels))
    return ClipStore.from_clips(clips)


@st.cache_resource(show_spinner=False)
def demo_model() -> PhaseModel:
    """The small phase model that is shipped."""
    return PhaseModel.load(PHASES)


@st.cache_resource(show_spinner=False)
def demo_embedding() -> PhaseModel:
    """The shipped model with fully connected layers in place of the phase layers."""
    return PhaseModel.load(EMBEDDING)


def warm_up() -> None:
    """Load what the first pages need, before the first session opens.

    Modules that Streamlit imports at their first use are imported here as well, because sessions
    that start at the same moment could see them half imported.
    """
    import torch

    # The sessions of a server share the processor; one session must not use all of it.
    torch.set_num_threads(max(1, min(4, torch.get_num_threads())))
    for name in (*_LAZY_IMPORTS, *(f"apps.dashboard.pages.{page.address}" for page in PAGES)):
        importlib.import_module(name)
    clips, model, _ = demo_clips(), demo_model(), demo_embedding()
    model.encode(clips.clip(0))
