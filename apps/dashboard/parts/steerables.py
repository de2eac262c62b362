"""What moves characters: controllers, databases and matchers, along a path or steered by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts import folder, messages
from deepphase.apps.dashboard.parts.choosers import FileKind, ListedSource, chooser
from deepphase.apps.dashboard.parts.collection import choose_own_clip, open_clips
from deepphase.apps.dashboard.parts.encodings import all_phases, known_phases, open_encodings
from deepphase.apps.dashboard.parts.folder import FoundFile
from deepphase.apps.dashboard.parts.session import UPLOAD_FPS, prepared_upload, session
from deepphase.apps.dashboard.parts.widgets import browser_component, is_dark, sentence
from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live.assets import controller_asset, matcher_asset
from deepphase.apps.live.page import driven_run, live_page, read_driven
from deepphase.apps.live.server import save_recording
from deepphase.apps.runs import RunResult, run_goal, run_take
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.dance.config import MUSIC
from deepphase.controllers.networks.registry import make_network
from deepphase.controllers.runtime.controller import FORMAT, Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import CheckpointError, DeepPhaseError, FormatError, ParameterError
from deepphase.evaluation.measurement import Measure
from deepphase.evaluation.run_measures import measure
from deepphase.features.feature import TRAJECTORY_POSITION, TrajectoryBlocks
from deepphase.formats.array_file import read_header
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.stored_rows import FORMAT as DATABASE_FORMAT
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.player.settings import MomentFilter, PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.matching.player.trajectory_queries import future_offsets
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample
from deepphase.steering.path import GroundPath, made_path
from deepphase.steering.run import start_on_path
from deepphase.viewer.take import Take
from deepphase.work import Progress

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
# What a page of Streamlit carries without a pause: 931 clips of 20 minutes have 67 MB.
_MAX_ASSET_BYTES = 100_000_000
# A value of each label, or several.
Labels = Mapping[str, str | Sequence[str]]

_live_view = browser_component(
    "live",
    "input/live_view.js",
    '<div class="live"><iframe allow="gamepad; fullscreen"></iframe></div>',
    "driven",
)


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
            hint="train a matcher from it with `deepphase train matching`",
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
    database, settings = database.with_kinds(progress), PlayerSettings(moments=MomentFilter())
    source = PlayerSource.from_database(database, "exact", progress=progress, settings=settings)
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
        fact = "the header does not describe a controller"
    else:
        if size <= path.stat().st_size:
            return
        fact = "the file lacks weights that its header declares"
    raise CheckpointError(fact, hint="upload the file as it was written")


CONTROLLERS = FileKind("controller", _load_controller)
MATCHERS = FileKind(
    "matcher", lambda file: of_matcher(file.name, file.stamp, Matcher.load(file.path))
)


def steerables() -> list[ListedSource[Steerable]]:
    """All sources of motion, the most likely choice first."""
    found = folder.open_folder()
    # Dancers follow music.
    controllers = [file for file in CONTROLLERS.files() if MUSIC not in file.tracks]
    sources = [CONTROLLERS.source(file, "Controller: ") for file in controllers]
    sources += MATCHERS.sources("Learned matching: ")
    shipped_file = FoundFile(CONTROLLER, "small demo", FORMAT, folder.stamp_of(CONTROLLER))
    shipped = ListedSource("demo", "Controller: small demo", lambda: CONTROLLERS.open(shipped_file))
    if found is None:
        return [*sources, shipped, *_of_open_clips()]
    sources += [
        ListedSource(
            f"database:{file.path}", f"Motion matching: {file.name}", partial(_loaded, file)
        )
        for file in found.of_format(DATABASE_FORMAT)
        # Databases of dances without a trajectory ahead are on page Dance. Opening a damaged one
        # says what is wrong.
        if file.layout is None or len(future_offsets(file.layout))
    ]
    open_ones = _of_open_clips()
    quick = open_ones and open_clips().store.frames <= _QUICK_FRAMES
    return [*sources, *open_ones, shipped] if quick else [*sources, shipped, *open_ones]


def _matching(key: Hashable, name: str, build: Callable[[Progress], MotionDatabase]) -> Steerable:
    return messages.shared_cache("databases to steer", _OPEN_DATABASES).find_or_make(
        key,
        lambda progress: of_database(name, key, build(progress), progress),
        "Preparing motion matching",
    )


def _loaded(file: FoundFile) -> Steerable:
    return _matching(("database", file.stamp), file.name, lambda _: MotionDatabase.load(file.path))


def _of_open_clips() -> list[ListedSource[Steerable]]:
    """The open clips, searched by phases if a model reads them at their rate, else by poses."""
    try:
        read = open_encodings()
    except DeepPhaseError:
        # The sidebar and the other pages show the error.
        return []
    clips, by_phases = read.clips, read.extractor.fps == read.store.fps

    def build(progress: Progress) -> MotionDatabase:
        if not by_phases:
            return MotionDatabase.build(clips.store, "pose_trajectory", progress=progress)
        phases = known_phases(read)
        return MotionDatabase.build(clips.store, "phase_trajectory", phases, progress=progress)

    def opened() -> Steerable:
        if by_phases:
            all_phases(read)
        return _matching((by, read.key if by_phases else clips.key), clips.name, build)

    by = "phases" if by_phases else "poses"
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
    seconds, characters = request.seconds, request.characters
    result = run_goal(
        source, request.path, seconds=seconds, characters=characters, progress=progress
    )
    run = result.run
    note = " ".join(f"{sentence(finding)}." for finding in result.findings)
    if not run.alive.all():
        note = (
            f"The network diverged after {run.survived_s.min():.1f} s, and the character stands "
            "still from there. Try a slower or smoother path, or a more natural blending."
        )
    return ShownRun(result, run_take(run, result.goal), note)


@dataclass(frozen=True)
class KeptRun:
    """A motion that was steered by hand, among the clips of the session."""

    clip: Clip
    measures: list[Measure]
    file: str = ""


def steer_by_hand(opened: Steerable) -> KeptRun | None:
    """Draw the live page of what is open; return what was kept of it, measured, if anything was."""
    driven = _live(opened, f"live {opened.key}")
    state = f"driven by hand {opened.key}"
    if driven:
        st.session_state[state] = given = keep_driven(driven, opened)
        if isinstance(given, KeptRun):
            # Page Data opens on it.
            choose_own_clip(given.clip.name)
    kept = st.session_state.get(state)
    if kept is None:
        st.caption(
            "Click the character, then steer with W, A, S and D. What is steered from *Record* to "
            "*Stop* is then among the clips of all pages, and measured here."
        )
    elif isinstance(kept, DeepPhaseError):
        st.error(f"Not kept: {messages.error_sentence(kept)}", icon=":material/block:")
    else:
        where = f" Its file is {messages.plain(kept.file)} in the folder." if kept.file else ""
        st.success(
            f"{messages.plain(kept.clip.name)}, {kept.clip.duration:.1f} s, is among the clips of "
            f"all pages.{where}",
            icon=":material/check:",
        )
        return kept
    return None


def steer_on_the_manifold() -> None:
    """Draw the live page of what the user chooses, with a large manifold."""
    chosen = chooser("Character", STEERABLE_KEY, steerables())
    with messages.shown_errors():
        opened = chosen.open()
        _live(opened, f"live manifold {opened.key}", large=True)
        st.caption(
            "The manifold is that of the phases which the controller or the database has. Click "
            "the character, then steer with W, A, S and D."
        )


def _live(opened: Steerable, key: str, *, large: bool = False) -> Any:
    """Draw the live page; return what was driven, if a browser sent it."""
    page = _page(str(opened.key), is_dark(), opened, large=large)
    data = {"page": page, "title": f"Steer {opened.name}"}
    return _live_view(data=data, key=key).driven


def keep_driven(motion: Any, opened: Steerable) -> KeptRun | DeepPhaseError:
    """Add a motion that a browser sent to the clips of the session, and measure it."""
    try:
        runner, _ = start_on_path(opened.source, made_path("wave", 1.0, 1.0))
        text, arrays = read_driven(motion, len(runner.spec.feet))
        own, content = session(), text.encode("utf-8", "replace")
        # It is measured at the rate of the runner, which its goals have.
        prepared = prepared_upload(own, f"{opened.name} by hand.bvh", content, runner.spec.fps)
        if len(prepared.clips) != 1:
            raise FormatError(
                "there is more than one motion in what the page sent", hint="reload the page"
            )
        ((clip, about),) = prepared.clips
        measures = measure(driven_run(clip, arrays, runner.spec), opened.source.data)
        # Only what belongs together is added.
        added = own.add_clip(resample(clip, UPLOAD_FPS), about)
        root, kept = folder.writable_folder(), ""
        if root is not None:
            path, _ = save_recording(root, opened.name, content)
            folder.look_again()
            kept = path.relative_to(root).as_posix()
        return KeptRun(added, measures, kept)
    except DeepPhaseError as error:
        return error


@st.cache_resource(max_entries=4, show_spinner="Preparing the page", show_time=True)
def _page(key: str, dark: bool, _opened: Steerable, *, large: bool = False) -> str:
    asset = _opened.asset()
    if len(asset) > _MAX_ASSET_BYTES:
        raise ParameterError(
            f"{_opened.name} makes a page of {len(asset) / 1e6:.0f} MB, and this place takes "
            f"{_MAX_ASSET_BYTES / 1e6:.0f}",
            hint="steer it with `deepphase live FILE`",
        )
    return live_page(
        asset, name=_opened.name, look="dark" if dark else "light",
        keeps="" if large else "page", large_panels=large,
    )  # fmt: skip
