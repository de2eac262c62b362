"""What can be steered: controllers, and motion databases that are played."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import streamlit as st

from apps.demo_controller import CONTROLLER, turning_clips
from apps.pages.parts.collection import (
    OpenClips,
    OpenModel,
    open_clips,
    open_folder,
    open_model,
)
from apps.pages.parts.controller_intake import uploaded_controllers
from apps.pages.parts.dancers import is_dancer
from apps.pages.parts.databases import KnownPhases
from apps.pages.parts.encodings import all_phases, encodings
from apps.pages.parts.folder import Stamp, stamp_of
from apps.pages.parts.open_steering import OpenController, OpenMatching
from apps.pages.parts.result_cache import ResultCache
from controllers.controller import Controller
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import DeepPhaseError
from deepphase.motion.clip import Clip
from deepphase.progress import Progress
from matching.database import MotionDatabase

_OPEN_CONTROLLERS, _OPEN_DATABASES = 6, 4
# A collection of so many frames is made ready without being asked for.
_AT_ONCE = 60_000


@dataclass(frozen=True)
class Steerable:
    """What can be chosen; `open` raises DeepPhaseError where it cannot be opened."""

    id: str
    name: str
    open: Callable[[], OpenController | OpenMatching] = field(compare=False)


def steerables() -> list[Steerable]:
    """Everything that can be steered, the likeliest first."""
    found = open_folder()
    sources = [
        Steerable(f"session:{name}", f"Controller: {name} (this session)", _opener(each))
        for name, each in uploaded_controllers().items()
    ]
    if found is not None:
        sources += [
            Steerable(
                f"file:{file.path}", f"Controller: {file.name}", _of_file(file.name, file.stamp)
            )
            for file in found.controllers
            # They go where the music leads: page Dance has them.
            if not is_dancer(file)
        ]
        sources += [
            Steerable(
                f"database:{file.path}",
                f"Motion matching: {file.name}",
                _of_database(file.name, file.stamp),
            )
            for file in found.databases
        ]
    shipped = Steerable(
        "demo",
        "Controller: small demo",
        lambda: _file_controller("small demo", stamp_of(CONTROLLER)),
    )
    if found is None:
        made = Steerable("made", "Motion matching: made turns (demo)", _made_matching)
        return [*sources, shipped, made, *_of_open_clips()]
    open_ones = _of_open_clips()
    quick = open_ones and open_clips().store.frames <= _AT_ONCE
    return [*sources, *open_ones, shipped] if quick else [*sources, shipped, *open_ones]


def _opener(opened: OpenController) -> Callable[[], OpenController]:
    return lambda: opened


@st.cache_resource(max_entries=_OPEN_CONTROLLERS, show_spinner="Opening the controller")
def _file_controller(name: str, stamp: Stamp) -> OpenController:
    return OpenController(name, stamp, Controller.load(stamp[0]))


def _of_file(name: str, stamp: Stamp) -> Callable[[], OpenController]:
    return lambda: _file_controller(name, stamp)


@st.cache_resource(show_spinner=False)
def _ready() -> ResultCache[OpenMatching]:
    return ResultCache(_OPEN_DATABASES)


def _matching(
    key: Hashable, name: str, build: Callable[[Progress], MotionDatabase]
) -> OpenMatching:
    return _ready().known_or_made(
        key,
        lambda progress: OpenMatching.of(name, key, build(progress), progress),
        "Getting ready to play motion",
    )


def _of_database(name: str, stamp: Stamp) -> Callable[[], OpenMatching]:
    return lambda: _matching(("database", stamp), name, lambda _: MotionDatabase.load(stamp[0]))


def _made_matching() -> OpenMatching:
    def build(progress: Progress) -> MotionDatabase:
        clips: list[Clip] = []
        for clip in turning_clips(clips=3):
            clips.append(clip)
            progress("making motion", len(clips), 12, "")
        return MotionDatabase.build(
            ClipStore.from_clips(clips), "pose_trajectory", progress=progress
        )

    return _matching("made turns", "made turns", build)


def _of_open_clips() -> list[Steerable]:
    """The open collection, played: by phases where a model reads them, by poses else."""
    try:
        clips = open_clips()
        model = open_model(clips)
    except DeepPhaseError:
        # The sidebar and the other pages say it.
        return []
    if model is not None and model.extractor.fps != clips.store.fps:
        model = None
    by = "poses" if model is None else "phases"
    return [
        Steerable(
            f"clips:{clips.id}:{by}",
            f"Motion matching: {clips.name}, by {by}",
            lambda: _clips_matching(clips, model),
        )
    ]


def _clips_matching(clips: OpenClips, model: OpenModel | None) -> OpenMatching:
    if model is None:
        return _matching(
            ("poses", clips.key),
            clips.name,
            lambda progress: MotionDatabase.build(
                clips.store, "pose_trajectory", progress=progress
            ),
        )
    all_phases(clips, model)
    known = KnownPhases(encodings(clips, model))
    return _matching(
        ("phases", clips.key, model.key),
        clips.name,
        lambda progress: MotionDatabase.build(
            clips.store, "phase_trajectory", known, progress=progress
        ),
    )
