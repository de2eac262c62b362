"""Sources of motion for page Control: controllers, motion databases and matchers."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from deepphase.apps.dashboard.parts.collection import OpenModel, open_clips, open_model
from deepphase.apps.dashboard.parts.dancers import follows_goals, is_dancer
from deepphase.apps.dashboard.parts.encodings import all_phases, encodings, known_phases
from deepphase.apps.dashboard.parts.files import FileKind, ListedSource
from deepphase.apps.dashboard.parts.folder import FoundFile, open_folder, stamp_of
from deepphase.apps.dashboard.parts.result_cache import shared_cache
from deepphase.apps.demo import CONTROLLER
from deepphase.apps.demo.controller import turning_clips
from deepphase.apps.live.asset import controller_asset
from deepphase.apps.live.matcher_asset import matcher_asset
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.networks.registry import make_network
from deepphase.controllers.runtime.controller import FORMAT, Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.features.trajectory import TRAJECTORY_POSITION, TrajectoryBlocks
from deepphase.formats.array_file import read_header
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.file import FORMAT as DATABASE_FORMAT
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.settings import MomentFilter, PlayerSettings
from deepphase.matching.player.source import PlayerSource, database_measures
from deepphase.matching.search.searcher import Searcher, open_searcher
from deepphase.motion.clip import Clip
from deepphase.progress import Progress

# Key of the chooser of what is steered, one for all pages.
STEERABLE_KEY = "steerable"
# Values that a chooser can list.
_MAX_VALUES = 40
# m/s; slower clips stand, and the speed of all motion suits them better.
_MIN_SPEED = 0.2


@dataclass(frozen=True, eq=False)
class OpenController:
    """An open controller; `key` changes with its content."""

    usual: ClassVar = CharacterSettings()
    name: str
    key: Hashable
    controller: Controller

    def asset(self) -> bytes:
        """What the live page is made of; raises as `controller_asset` does."""
        return controller_asset(self.controller, weights="float16")

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
        self,
        labels: Mapping[str, list[str]],
        settings: CharacterSettings | PlayerSettings,
        seed: int,
    ) -> CharacterSource:
        """Source of its characters; of each label only the first value is used."""
        assert isinstance(settings, CharacterSettings)
        values = {name: each[0] for name, each in labels.items()}
        return CharacterSource(self.controller, labels=values, settings=settings, seed=seed)


@dataclass(frozen=True, eq=False)
class OpenMatching:
    """An open motion database or matcher, with its playback and search; `key` changes with its
    content.
    """

    usual: ClassVar = PlayerSettings(moments=MomentFilter())
    name: str
    key: Hashable
    database: MotionDatabase
    playback: Playback
    searcher: Searcher
    data: Mapping[str, Any]
    matcher: Matcher | None = None

    def asset(self) -> bytes:
        """What the live page is made of. Raises ParameterError for a database."""
        if self.matcher is None:
            raise ParameterError(
                "a motion database cannot be steered by hand: the page plays controllers and "
                "matchers",
                hint="train a matcher from it on page Train, or with `deepphase train matching`",
            )
        return matcher_asset(self.matcher)

    @classmethod
    def of(
        cls, name: str, key: Hashable, database: MotionDatabase, progress: Progress | None
    ) -> OpenMatching:
        """Prepare a database for playing."""
        database = database.with_kinds(progress)
        playback = Playback.of_database(database, progress)
        searcher = open_searcher(database, "exact", progress=progress)
        data = database_measures(database, playback)
        return cls(name, key, database, playback, searcher, data)

    @classmethod
    def of_matcher(cls, name: str, key: Hashable, matcher: Matcher) -> OpenMatching:
        """A matcher, which is a compressed database."""
        source = matcher.source()
        return cls(
            name, key, source.database, source.playback, source.searcher, source.data, matcher
        )

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
        self,
        labels: Mapping[str, list[str]],
        settings: CharacterSettings | PlayerSettings,
        seed: int,
    ) -> PlayerSource:
        """Source of its characters."""
        assert isinstance(settings, PlayerSettings)
        return PlayerSource(
            self.database, self.playback, self.searcher, labels, settings, seed, self.data
        )


def _load_controller(file: FoundFile) -> OpenController:
    _check_size(file.path)
    return OpenController(file.name, file.stamp, Controller.load(file.path))


def _check_size(path: Path) -> None:
    """Refuse a header whose network is larger than the file, before memory is allocated for it."""
    import torch

    header = read_header(path, FORMAT)
    try:
        config = ControllerConfig.from_header(header["config"])
        schema = ControllerSchema.from_mapping(header["schema"])
        with torch.device("meta"):
            network = make_network(config.name, schema.dims, config.network)
        size = sum(each.nbytes for each in network.parameters())
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError):
        raise CheckpointError(
            "the header does not describe a controller", hint="upload the file as it was written"
        ) from None
    if size > path.stat().st_size:
        raise CheckpointError(
            "the file lacks weights that its header declares",
            hint="upload the file as it was written",
        )


CONTROLLERS = FileKind("controller", _load_controller)
MATCHERS = FileKind(
    "matcher", lambda file: OpenMatching.of_matcher(file.name, file.stamp, Matcher.load(file.path))
)
# Databases in the cache that all sessions share.
_OPEN_DATABASES = 4
# A collection of up to this many frames is offered first, as it opens quickly.
_QUICK_FRAMES = 60_000
Steerable = ListedSource[OpenController | OpenMatching]


def steerables() -> list[Steerable]:
    """All sources of motion, the most likely choice first."""
    folder = open_folder()
    # Dancers follow music.
    controllers = [file for file in CONTROLLERS.files() if not is_dancer(file)]
    sources: list[Any] = [CONTROLLERS.source(file, "Controller: ") for file in controllers]
    sources += [MATCHERS.source(file, "Learned matching: ") for file in MATCHERS.files()]
    shipped_file = FoundFile(CONTROLLER, "small demo", FORMAT, stamp_of(CONTROLLER))
    shipped = ListedSource("demo", "Controller: small demo", lambda: CONTROLLERS.open(shipped_file))
    if folder is None:
        made = ListedSource("made", "Motion matching: made turns (demo)", _made_matching)
        return [*sources, shipped, made, *_of_open_clips()]
    sources += [
        ListedSource(
            f"database:{file.path}", f"Motion matching: {file.name}", partial(_loaded, file)
        )
        for file in folder.of_format(DATABASE_FORMAT)
        # Databases of dances without a trajectory are on page Dance.
        if follows_goals(file)
    ]
    open_ones = _of_open_clips()
    quick = open_ones and open_clips().store.frames <= _QUICK_FRAMES
    return [*sources, *open_ones, shipped] if quick else [*sources, shipped, *open_ones]


def _matching(
    key: Hashable, name: str, build: Callable[[Progress], MotionDatabase]
) -> OpenMatching:
    return shared_cache("databases to steer", _OPEN_DATABASES).find_or_make(
        key,
        lambda progress: OpenMatching.of(name, key, build(progress), progress),
        "Preparing motion matching",
    )


def _loaded(file: FoundFile) -> OpenMatching:
    return _matching(("database", file.stamp), file.name, lambda _: MotionDatabase.load(file.path))


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

    def opened() -> OpenMatching:
        if model is not None:
            all_phases(clips, model)
        known = None if model is None else known_phases(encodings(clips, model))
        layout = "pose_trajectory" if model is None else "phase_trajectory"
        return _matching(
            (by, clips.key, None if model is None else model.key),
            clips.name,
            lambda progress: MotionDatabase.build(clips.store, layout, known, progress=progress),
        )

    return [
        ListedSource(f"clips:{clips.id}:{by}", f"Motion matching: {clips.name}, by {by}", opened)
    ]
