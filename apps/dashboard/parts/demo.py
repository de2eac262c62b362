"""What the dashboard opens on: made motion of all gaits, and the models that come with it."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import streamlit as st

from apps.dances.databases import with_dances
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
    heard = ClipSongTracks(ClipStore.from_clips(clips), songs, (), tuple(track_features(layout)))
    database = MotionDatabase.build(
        heard.store, layout, demo_model(), tracks=heard, progress=progress
    )
    return with_dances(database, heard, progress)


NAME = "Made motion (demo)"
# Other individuals than those that the models learnt from.
_SEED = 2203
_CLIP_S, _BODY = 11.0, "biped"
# What Streamlit imports late.
_STREAMLITS = ("pandas", "pyarrow", "plotly.graph_objects")
# The fourth motion of a corpus is a medley of gaits.
_MEDLEY = 3


@st.cache_resource(show_spinner=False)
def demo_clips() -> ClipStore:
    """Every gait at a speed that drifts, and a medley: some 5,000 frames with whole windows."""
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
    """The small phase model that comes with the program."""
    return PhaseModel.load(PHASES)


@st.cache_resource(show_spinner=False)
def demo_embedding() -> PhaseModel:
    """Its counterpart with fully connected layers in place of the phase layers."""
    return PhaseModel.load(EMBEDDING)


def warm_up() -> None:
    """Make all that the first pages need, before somebody waits for it.

    What Streamlit would import at the first table is imported here, too: sessions that come at the
    same moment would find it half there.
    """
    import torch

    # The sessions of a server share the processor; one of them alone must not take it all.
    torch.set_num_threads(max(1, min(4, torch.get_num_threads())))
    for name in (*_STREAMLITS, *(f"apps.dashboard.pages.{page.address}" for page in PAGES)):
        importlib.import_module(name)
    clips, model, _ = demo_clips(), demo_model(), demo_embedding()
    model.encode(clips.clip(0))
