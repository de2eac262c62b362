"""Sources of motion for page Control: controllers, and motion databases for matching."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from apps.dashboard.parts import uploads
from apps.dashboard.parts.collection import (
    OpenClips,
    OpenModel,
    content_key,
    open_clips,
    open_folder,
    open_model,
)
from apps.dashboard.parts.dancers import follows_goals, is_dancer
from apps.dashboard.parts.databases import KnownPhases
from apps.dashboard.parts.encodings import all_phases, encodings
from apps.dashboard.parts.folder import Stamp, stamp_of
from apps.dashboard.parts.result_cache import ResultCache
from apps.demo.controller import CONTROLLER, turning_clips
from controllers.config import ControllerConfig
from controllers.networks.registry import make_network
from controllers.runtime.controller import FORMAT, Controller
from controllers.runtime.frame import CharacterSettings
from controllers.runtime.start import CharacterSource
from controllers.schema.schema import ControllerSchema
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.features.trajectory import TRAJECTORY_POSITION, TrajectoryBlocks
from deepphase.formats.array_file import read_header
from deepphase.motion.clip import Clip
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.player.playback import Playback
from matching.player.player import PlayerSettings
from matching.player.source import PlayerSource, database_measures
from matching.search.searcher import Searcher, open_searcher

# Values that a chooser can list.
_MAX_VALUES = 40
# m/s; slower clips stand, and the speed of all motion suits them better.
_MIN_SPEED = 0.2


@dataclass(frozen=True, eq=False)
class OpenController:
    """An open controller; `key` changes with its content."""

    name: str
    key: Hashable
    controller: Controller

    @property
    def label(self) -> str:
        """The label that selects its motion; empty if there is none."""
        return self.controller.schema.config.label

    @property
    def values(self) -> tuple[str, ...]:
        """Values of that label."""
        return self.controller.schema.label_values

    @cached_property
    def speeds(self) -> Mapping[str, float]:
        """Label value -> median speed of its motion, m/s."""
        schema = self.controller.schema
        later_s = schema.config.later_s
        blocks = TrajectoryBlocks(schema.inputs.slices, len(later_s))
        speeds = {}
        for value in self.values:
            try:
                starts = self.controller.starts.with_label(schema, value)
            except ParameterError:
                continue
            future = blocks.read(starts.inputs, TRAJECTORY_POSITION)[:, -1]
            speeds[value] = float(np.median(np.abs(future))) / later_s[-1]
        return speeds

    def speed(self, value: str | None) -> float:
        """Typical speed of motion with a value of the label, or of all motion, m/s."""
        travelling = float(self.controller.data.get("travelling_speed", 0.0))
        return self.speeds.get(value or "", 0.0) or travelling or 1.0

    def source(
        self, labels: Mapping[str, list[str]], settings: CharacterSettings, seed: int
    ) -> CharacterSource:
        """Source of its characters; of each label only the first value is used."""
        values = {name: each[0] for name, each in labels.items()}
        return CharacterSource(self.controller, labels=values, settings=settings, seed=seed)


@dataclass(frozen=True, eq=False)
class OpenMatching:
    """An open motion database with its playback and search; `key` changes with its content."""

    name: str
    key: Hashable
    database: MotionDatabase
    playback: Playback
    searcher: Searcher
    data: Mapping[str, Any]

    @classmethod
    def of(
        cls, name: str, key: Hashable, database: MotionDatabase, progress: Progress | None
    ) -> OpenMatching:
        """Prepare a database for playing.

        Raises
        ------
        ParameterError
            As `Playback.of_database`.
        """
        database = database.with_kinds(progress)
        playback = Playback.of_database(database, progress)
        searcher = open_searcher(database, "exact", progress=progress)
        data = database_measures(database, playback)
        return cls(name, key, database, playback, searcher, data)

    @cached_property
    def labels(self) -> Mapping[str, list[str]]:
        """Labels with several values that clips share -> their values."""
        labels_and_values = {}
        for name in dict.fromkeys(name for labels in self.database.labels for name in labels):
            values = sorted({labels[name] for labels in self.database.labels if name in labels})
            if 2 <= len(values) <= _MAX_VALUES and len(values) < len(self.database.labels):
                labels_and_values[name] = values
        return labels_and_values

    def speed(self, labels: Mapping[str, list[str]]) -> float:
        """Typical speed of clips with these labels, or of all clips, m/s."""
        if labels:
            database = self.database
            steps = np.linalg.norm(np.diff(database.root_positions, axis=0), axis=1)
            with_labels = database.rows_with(labels)[1:]
            speed = float(np.median(steps[with_labels])) * database.fps
            if math.isfinite(speed) and speed > _MIN_SPEED:
                return speed
        return self.playback.travelling_speed or 1.0

    def source(
        self, labels: Mapping[str, list[str]], settings: PlayerSettings, seed: int
    ) -> PlayerSource:
        """Source of its characters."""
        return PlayerSource(
            self.database, self.playback, self.searcher, labels, settings, seed, self.data
        )


# Session state: name -> uploaded controller.
_UPLOADS = "own controllers"
_MAX_UPLOADS = 6


def uploaded_controllers() -> dict[str, OpenController]:
    """Name -> uploaded controller of this session."""
    return st.session_state.setdefault(_UPLOADS, {})


def read_controller_upload(name: str, content: bytes) -> str:
    """Add an uploaded controller to the session, and return the name under which it can be chosen.

    Raises
    ------
    CheckpointError
        If the file is not a controller, is damaged, or declares more weights than it holds.
    """
    controller = uploads.load_upload(content, ".controller", _load)
    given = base = uploads.display_name(".controller", name, "Controller")
    controllers, number = uploaded_controllers(), 2
    while given in controllers:
        given, number = f"{base} ({number})", number + 1
    while len(controllers) >= _MAX_UPLOADS:
        controllers.pop(next(iter(controllers)))
    controllers[given] = OpenController(given, ("upload", content_key(content)), controller)
    return given


def _load(path: Path) -> Controller:
    _check_size(path)
    return Controller.load(path)


def _check_size(path: Path) -> None:
    """Refuse a header whose network is larger than the file, before memory is allocated for it."""
    import torch

    header = read_header(path, FORMAT)
    try:
        config = ControllerConfig.from_mapping(header["config"])
        schema = ControllerSchema.from_mapping(header["schema"])
        with torch.device("meta"):
            network = make_network(config.name, schema.dims, config.network)
        size = sum(each.nbytes for each in network.parameters())
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError):
        raise CheckpointError(
            "a header that describes no controller", hint="upload the file as it was written"
        ) from None
    if size > path.stat().st_size:
        raise CheckpointError(
            "the file lacks weights that its header declares",
            hint="upload the file as it was written",
        )


# Controllers and databases in the caches that all sessions share.
_OPEN_CONTROLLERS, _OPEN_DATABASES = 6, 4
# A collection of up to this many frames is offered first, as it opens quickly.
_QUICK_FRAMES = 60_000


@dataclass(frozen=True)
class Steerable:
    """An entry of the chooser; `open` raises DeepPhaseError if opening fails."""

    id: str
    name: str
    open: Callable[[], OpenController | OpenMatching] = field(compare=False)


def steerables() -> list[Steerable]:
    """All sources of motion, the most likely choice first."""
    folder = open_folder()
    sources = [
        Steerable(f"session:{name}", f"Controller: {name} (this session)", _opener(each))
        for name, each in uploaded_controllers().items()
    ]
    if folder is not None:
        sources += [
            Steerable(
                f"file:{file.path}", f"Controller: {file.name}", _of_file(file.name, file.stamp)
            )
            for file in folder.controllers
            # Dancers follow music: they are on page Dance.
            if not is_dancer(file)
        ]
        sources += [
            Steerable(
                f"database:{file.path}",
                f"Motion matching: {file.name}",
                _of_database(file.name, file.stamp),
            )
            for file in folder.databases
            # Databases of dances without a trajectory are on page Dance.
            if follows_goals(file)
        ]
    shipped = Steerable(
        "demo",
        "Controller: small demo",
        lambda: _file_controller("small demo", stamp_of(CONTROLLER)),
    )
    if folder is None:
        made = Steerable("made", "Motion matching: made turns (demo)", _made_matching)
        return [*sources, shipped, made, *_of_open_clips()]
    open_ones = _of_open_clips()
    quick = open_ones and open_clips().store.frames <= _QUICK_FRAMES
    return [*sources, *open_ones, shipped] if quick else [*sources, shipped, *open_ones]


def _opener(opened: OpenController) -> Callable[[], OpenController]:
    return lambda: opened


@st.cache_resource(max_entries=_OPEN_CONTROLLERS, show_spinner="Opening the controller")
def _file_controller(name: str, stamp: Stamp) -> OpenController:
    return OpenController(name, stamp, Controller.load(stamp[0]))


def _of_file(name: str, stamp: Stamp) -> Callable[[], OpenController]:
    return lambda: _file_controller(name, stamp)


@st.cache_resource(show_spinner=False)
def _matching_cache() -> ResultCache[OpenMatching]:
    return ResultCache(_OPEN_DATABASES)


def _matching(
    key: Hashable, name: str, build: Callable[[Progress], MotionDatabase]
) -> OpenMatching:
    return _matching_cache().find_or_make(
        key,
        lambda progress: OpenMatching.of(name, key, build(progress), progress),
        "Preparing motion matching",
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
    """The open clips, searched by phases if a model reads them, else by poses."""
    try:
        clips = open_clips()
        model: OpenModel | None = open_model(clips)
    except DeepPhaseError:
        # The sidebar and the other pages show the error.
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
