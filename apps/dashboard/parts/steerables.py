"""What can be steered: controllers, and motion databases that are played."""

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
from apps.dashboard.parts.dancers import is_dancer
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
from matching.player.start import PlayerSource, database_measures
from matching.search.searcher import Searcher, open_searcher

# Values that a chooser can list.
_MOST_VALUES = 40


@dataclass(frozen=True, eq=False)
class OpenController:
    """A controller that is open; `key` changes with its content."""

    name: str
    key: Hashable
    controller: Controller

    @property
    def label(self) -> str:
        """Which label it is steered by; empty if by none."""
        return self.controller.schema.config.label

    @property
    def values(self) -> tuple[str, ...]:
        """Of that label."""
        return self.controller.schema.label_values

    @cached_property
    def speeds(self) -> Mapping[str, float]:
        """Label value -> m/s at which its motion travels."""
        schema = self.controller.schema
        later_s = schema.config.later_s
        blocks = TrajectoryBlocks(schema.inputs.slices, len(later_s))
        found = {}
        for value in self.values:
            try:
                starts = self.controller.starts.with_label(schema, value)
            except ParameterError:
                continue
            ahead = blocks.read(starts.inputs, TRAJECTORY_POSITION)[:, -1]
            found[value] = float(np.median(np.abs(ahead))) / later_s[-1]
        return found

    def speed(self, value: str | None) -> float:
        """m/s that suits a value of the label, or all of them."""
        travelling = float(self.controller.data.get("travelling_speed", 0.0))
        return self.speeds.get(value or "", 0.0) or travelling or 1.0

    def source(
        self, labels: Mapping[str, list[str]], settings: CharacterSettings, seed: int
    ) -> CharacterSource:
        """What makes its characters; of each label the first value counts."""
        values = {name: each[0] for name, each in labels.items()}
        return CharacterSource(self.controller, labels=values, settings=settings, seed=seed)


@dataclass(frozen=True, eq=False)
class OpenMatching:
    """A motion database that is open, and what plays it; `key` changes with its content."""

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
        """Make a database ready to be played.

        Raises ParameterError where it cannot be.
        """
        playback = Playback.of_database(database, progress)
        searcher = open_searcher(database, "exact", progress=progress)
        data = database_measures(database, playback)
        return cls(name, key, database, playback, searcher, data)

    @cached_property
    def labels(self) -> Mapping[str, list[str]]:
        """Labels that tell clips apart -> their values."""
        found = {}
        for name in dict.fromkeys(name for labels in self.database.labels for name in labels):
            values = sorted({labels[name] for labels in self.database.labels if name in labels})
            if 2 <= len(values) <= _MOST_VALUES and len(values) < len(self.database.labels):
                found[name] = values
        return found

    def speed(self, labels: Mapping[str, list[str]]) -> float:
        """m/s that suits clips with these labels, or all of them."""
        if labels:
            database = self.database
            steps = np.linalg.norm(np.diff(database.root_positions, axis=0), axis=1)
            with_labels = database.rows_with(labels)[1:]
            found = float(np.median(steps[with_labels])) * database.fps
            if math.isfinite(found) and found > 0.2:
                return found
        return self.playback.travelling_speed or 1.0

    def source(
        self, labels: Mapping[str, list[str]], settings: PlayerSettings, seed: int
    ) -> PlayerSource:
        """What makes its characters."""
        return PlayerSource(
            self.database, self.playback, self.searcher, labels, settings, seed, self.data
        )


_UPLOADS = "own controllers"
_MOST_UPLOADS = 6


def uploaded_controllers() -> dict[str, OpenController]:
    """The reader's own, by the name that is shown."""
    return st.session_state.setdefault(_UPLOADS, {})


def read_controller_upload(name: str, content: bytes) -> str:
    """Keep a controller of this session; the name under which it can be chosen.

    Raises CheckpointError where it is none, damaged, or claims to be larger than it is.
    """
    controller = uploads.loaded(content, ".controller", _load)
    given = base = uploads.name_without(".controller", name, "Controller")
    kept, number = uploaded_controllers(), 2
    while given in kept:
        given, number = f"{base} ({number})", number + 1
    while len(kept) >= _MOST_UPLOADS:
        kept.pop(next(iter(kept)))
    kept[given] = OpenController(given, ("upload", content_key(content)), controller)
    return given


def _load(path: Path) -> Controller:
    _check_size(path)
    return Controller.load(path)


def _check_size(path: Path) -> None:
    """A header can claim a network that no memory holds: it must be in the file."""
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
            "weights that its header tells of are missing", hint="upload the file as it was written"
        )


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
