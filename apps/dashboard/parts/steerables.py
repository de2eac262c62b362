"""What moves characters on page Control: controllers, motion databases and matchers; their runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from deepphase.apps.dashboard.parts.collection import open_clips
from deepphase.apps.dashboard.parts.dancers import follows_goals, is_dancer
from deepphase.apps.dashboard.parts.encodings import (
    Encodings,
    all_phases,
    known_phases,
    open_encodings,
)
from deepphase.apps.dashboard.parts.files import FileKind, ListedSource
from deepphase.apps.dashboard.parts.folder import FoundFile, open_folder, stamp_of
from deepphase.apps.dashboard.parts.result_cache import shared_cache
from deepphase.apps.dashboard.parts.widgets import sentence
from deepphase.apps.demo import CONTROLLER
from deepphase.apps.demo.controller import turning_clips
from deepphase.apps.live.assets import controller_asset, matcher_asset
from deepphase.apps.runs.run import RunResult, run_goal
from deepphase.apps.runs.take import run_take
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
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion.clip import Clip
from deepphase.progress import Progress
from deepphase.steering.path import GroundPath
from deepphase.viewer.take import Take

# Key of the chooser of what is steered, one for all pages.
STEERABLE_KEY = "steerable"
# Values that a chooser can list.
_MAX_VALUES = 40
# m/s; slower clips stand, and the speed of all motion suits them better.
_MIN_SPEED = 0.2
# Databases in the cache that all sessions share.
_OPEN_DATABASES = 4
# A collection of up to this many frames is offered first, as it opens quickly.
_QUICK_FRAMES = 60_000
# A value of each label, or several.
Labels = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, eq=False)
class Steerable:
    """An open controller, motion database or matcher; `key` changes with its content."""

    name: str
    key: Hashable
    source: CharacterSource | PlayerSource
    matcher: Matcher | None = None

    @property
    def controller(self) -> Controller | None:
        """The controller; None for motion matching."""
        return self.source.controller if isinstance(self.source, CharacterSource) else None

    def asset(self) -> bytes:
        """What the live page is made of. Raises ParameterError for a database."""
        if self.controller is not None:
            return controller_asset(self.controller, weights="float16")
        if self.matcher is not None:
            return matcher_asset(self.matcher)
        raise ParameterError(
            "a motion database cannot be steered by hand: the page plays controllers and matchers",
            hint="train a matcher from it on page Train, or with `deepphase train matching`",
        )

    @property
    def labels(self) -> dict[str, list[str]]:
        """Label -> values: those of a controller, or those that several clips share."""
        if isinstance(self.source, CharacterSource):
            schema = self.source.controller.schema
            return {schema.config.label: list(schema.label_values)} if schema.label_values else {}
        clips = self.source.database.labels
        labels: dict[str, list[str]] = {}
        for name in dict.fromkeys(name for own in clips for name in own):
            values = sorted({own[name] for own in clips if name in own})
            if 2 <= len(values) <= _MAX_VALUES and len(values) < len(clips):
                labels[name] = values
        return labels

    def speed(self, labels: Labels) -> float:
        """Typical speed of motion with these labels, or of all motion, m/s."""
        source, speed = self.source, math.nan
        if labels and isinstance(source, CharacterSource):
            speed = _controller_speed(source.controller, labels)
        elif labels and isinstance(source, PlayerSource):
            steps = np.linalg.norm(np.diff(source.database.root_positions, axis=0), axis=1)
            rows = source.database.rows_with(labels)[1:]
            speed = float(np.median(steps[rows])) * source.database.fps
            speed = speed if speed > _MIN_SPEED else math.nan
        return speed if math.isfinite(speed) and speed else source.travelling_speed or 1.0


def _controller_speed(controller: Controller, labels: Labels) -> float:
    """Median speed of the controller's states with its label, m/s; NaN where it has none."""
    schema = controller.schema
    later_s = schema.config.later_s
    try:
        starts = controller.starts.with_label(schema, str(labels[schema.config.label]))
    except ParameterError:
        return math.nan
    blocks = TrajectoryBlocks(schema.inputs.slices, len(later_s))
    future = blocks.read(starts.inputs, TRAJECTORY_POSITION)[:, -1]
    return float(np.median(np.abs(future))) / later_s[-1]


def of_controller(name: str, key: Hashable, controller: Controller) -> Steerable:
    """A controller with usual settings."""
    return Steerable(name, key, CharacterSource(controller))


def of_database(
    name: str, key: Hashable, database: MotionDatabase, progress: Progress | None = None
) -> Steerable:
    """A database with usual settings, prepared for playing."""
    database = database.with_kinds(progress)
    playback = Playback.of_database(database, progress)
    source = PlayerSource(
        database,
        playback,
        open_searcher(database, "exact", progress=progress),
        settings=PlayerSettings(moments=MomentFilter()),
        data=database_measures(database, playback),
    )
    return Steerable(name, key, source)


def of_matcher(name: str, key: Hashable, matcher: Matcher) -> Steerable:
    """A matcher, which is a compressed database, with usual settings."""
    source = matcher.source(settings=PlayerSettings(moments=MomentFilter()))
    return Steerable(name, key, source, matcher)


def _load_controller(file: FoundFile) -> Steerable:
    _check_size(file.path)
    return of_controller(file.name, file.stamp, Controller.load(file.path))


def _check_size(path: Path) -> None:
    """Refuse a header whose network is larger than the file, before memory is allocated for it."""
    import torch

    header = read_header(path, FORMAT)
    try:
        config = ControllerConfig.from_header(header["config"])
        schema = ControllerSchema.from_mapping(header["schema"])
        with torch.device("meta"):
            network = make_network(config.name, schema.dims, config.network)
        size = sum(weights.nbytes for weights in network.parameters())
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
    "matcher", lambda file: of_matcher(file.name, file.stamp, Matcher.load(file.path))
)


def steerables() -> list[ListedSource[Steerable]]:
    """All sources of motion, the most likely choice first."""
    folder = open_folder()
    # Dancers follow music.
    controllers = [file for file in CONTROLLERS.files() if not is_dancer(file)]
    sources = [CONTROLLERS.source(file, "Controller: ") for file in controllers]
    sources += MATCHERS.sources("Learned matching: ")
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


def _matching(key: Hashable, name: str, build: Callable[[Progress], MotionDatabase]) -> Steerable:
    return shared_cache("databases to steer", _OPEN_DATABASES).find_or_make(
        key,
        lambda progress: of_database(name, key, build(progress), progress),
        "Preparing motion matching",
    )


def _loaded(file: FoundFile) -> Steerable:
    return _matching(("database", file.stamp), file.name, lambda _: MotionDatabase.load(file.path))


def _made_matching() -> Steerable:
    def build(progress: Progress) -> MotionDatabase:
        clips: list[Clip] = []
        for clip in turning_clips(clips=3):
            clips.append(clip)
            progress("making motion", len(clips), 12, "")
        store = ClipStore.from_clips(clips)
        return MotionDatabase.build(store, "pose_trajectory", progress=progress)

    return _matching("made turns", "made turns", build)


def _of_open_clips() -> list[ListedSource[Steerable]]:
    """The open clips, searched by phases if a model reads them, else by poses."""
    try:
        clips = open_clips()
        read: Encodings | None = open_encodings()
    except DeepPhaseError:
        # The sidebar and the other pages show the error.
        return []
    if read is not None and read.extractor.fps != read.store.fps:
        read = None
    by = "poses" if read is None else "phases"

    def opened() -> Steerable:
        known: Any = None
        if read is not None:
            all_phases(read)
            known = known_phases(read)
        layout = "pose_trajectory" if read is None else "phase_trajectory"
        return _matching(
            (by, clips.key if read is None else read.key),
            clips.name,
            lambda progress: MotionDatabase.build(clips.store, layout, known, progress=progress),
        )

    return [
        ListedSource(f"clips:{clips.id}:{by}", f"Motion matching: {clips.name}, by {by}", opened)
    ]


@dataclass(frozen=True, eq=False)
class RunRequest:
    """One run of `seconds`, as the choosers of page Control describe it."""

    path: GroundPath
    seconds: float
    characters: int = 1
    seed: int = 0
    labels: Labels = field(default_factory=dict)
    settings: CharacterSettings | PlayerSettings | None = None  # None for the usual ones

    @property
    def key(self) -> str:
        """Hash of the content: equal requests have equal keys."""
        return joblib.hash(astuple(self))


@dataclass(frozen=True, eq=False)
class ShownRun:
    """A run with what page Control displays."""

    result: RunResult
    take: Take
    note: str


def shown_run(opened: Steerable, request: RunRequest, progress: Progress | None = None) -> ShownRun:
    """Run a controller or motion matching along the path of a request, and measure the run."""
    changes: dict[str, Any] = {"labels": request.labels, "seed": request.seed}
    if request.settings is not None:
        changes["settings"] = request.settings
    source: Any = replace(opened.source, **changes)
    result = run_goal(
        source,
        request.path,
        seconds=request.seconds,
        characters=request.characters,
        progress=progress,
    )
    run = result.run
    note = " ".join(f"{sentence(finding)}." for finding in result.findings)
    if not run.alive.all():
        note = (
            f"The network diverged after {run.survived_s.min():.1f} s, and the character stands "
            "still from there. Try a slower or smoother path, or a more natural blending."
        )
    return ShownRun(result, run_take(run, result.goal), note)
