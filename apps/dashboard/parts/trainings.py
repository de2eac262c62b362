"""Trainings on the open clips: of phase models, monitored and cancelled; and of editors."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from deepphase.apps import training_run
from deepphase.apps.dashboard.parts.choosers import FileKind, choose, keep_file
from deepphase.apps.dashboard.parts.collection import MODELS, OpenClips, demo_clips, open_clips
from deepphase.apps.dashboard.parts.folder import FoundFile
from deepphase.apps.dashboard.parts.messages import plain, working
from deepphase.apps.dashboard.parts.session import session, unused_name
from deepphase.apps.demo import SAMPLE
from deepphase.apps.training_run import TrainingRequest, TrainingRun, TrainingStatus
from deepphase.arrays import Array, counted
from deepphase.corpus.store import store_groups
from deepphase.edit.config import EditorConfig
from deepphase.edit.editor import MotionEditor
from deepphase.errors import ParameterError
from deepphase.figures.theme import Colouring
from deepphase.files import atomic_write, temporary_folder
from deepphase.phase.config import NetworkConfig
from deepphase.phase.model import PhaseModel
from deepphase.training.folder import metrics_beside

_KEY = "trainings"
# Trainings of one session; a new one replaces the oldest.
_MAX_TRAININGS = 6
# A training ends when its page has been closed for this long; a reload takes less.
_GRACE_S = 30.0
# Values of a label that a legend can distinguish.
_MAX_VALUES = 12
_MAX_LETTERS = 40
# Length of an editor's training -> number of windows; and windows a second on two processor cores,
# for the estimate on the page.
_EDITOR_LENGTHS = {"Glance": 6_000, "Short": 20_000, "Usual": 80_000}
_EDITOR_WINDOWS_A_SECOND = 150
EDITORS = FileKind("editor", lambda file: MotionEditor.load(file.path))


@dataclass(eq=False)
class FinishedTraining:
    """What is shown of a training that has ended."""

    name: str
    folder: Path
    request: TrainingRequest
    clips_name: str
    # Name of a label, and its value of each clip, for colours.
    colouring_name: str
    colouring_values: tuple[str, ...]
    _views: tuple[Array, ...] = ()

    def status(self) -> TrainingStatus:
        """Its last status."""
        return TrainingStatus.load(self.folder)

    @property
    def passes(self) -> float:
        """Passes over all training windows when it ended."""
        epochs = self.status().epochs
        return epochs[-1].epoch if epochs else 0.0

    def views(self, count: int) -> list[Array]:
        """The manifolds of the first `count` epochs, (points, 3) each, read from disk once."""
        if len(self._views) < count:
            self._views = tuple(training_run.load_views(self.folder, count))
        return list(self._views[:count])

    def colouring(self) -> Colouring:
        """Colours of the points of all views."""
        clips, _ = training_run.load_curve_points(self.folder)
        values = np.array(self.colouring_values)[clips]
        return Colouring(self.colouring_name, values, spread=True)


@dataclass(eq=False, kw_only=True)
class OwnTraining(FinishedTraining):
    """A training of this session; `kept` is its model where all pages can open it."""

    run: TrainingRun
    kept: FoundFile | None = None

    def status(self) -> TrainingStatus:
        """The present status."""
        return self.run.status()

    def keep_model(self) -> None:
        """Keep the model in the folder, else in the session, once the training has ended."""
        if self.kept is not None or not self.run.finished:
            return
        model = PhaseModel.load(self.run.model_file)
        self.kept = keep_file(model.save, self.run.name, MODELS.suffix)
        metrics = metrics_beside(self.run.model_file)
        if not self.kept.own and metrics.is_file():
            with atomic_write(metrics_beside(self.kept.path)) as file:
                file.write(metrics.read_bytes())

    def remove(self) -> None:
        """Cancel and remove the training; a model that is kept stays."""
        self.run.cancel()
        if self in own_trainings():
            own_trainings().remove(self)


def own_trainings() -> list[OwnTraining]:
    """Trainings of this session, the oldest first."""
    return st.session_state.setdefault(_KEY, [])


def sample_training() -> FinishedTraining:
    """The training on the demo's clips that comes with the package."""
    clips = demo_clips()
    request = TrainingRequest.load(SAMPLE)
    return FinishedTraining("Sample", SAMPLE, request, clips.name, *_clip_groups(clips))


def running_training() -> OwnTraining | None:
    """The training that is running, if there is one."""
    return next((training for training in own_trainings() if training.run.running), None)


def start_training(clips: OpenClips, name: str, **options: Any) -> OwnTraining:
    """Begin a training on the open clips; options are fields of `TrainingRequest`."""
    if running_training() is not None:
        raise ParameterError("a training of yours is running", hint="wait for its end, or stop it")
    trainings = own_trainings()
    while len(trainings) >= _MAX_TRAININGS:
        trainings[0].remove()
    request = TrainingRequest(*_stored(clips), **options)
    folder = session().folder / f"training-{secrets.token_hex(8)}"
    name = unused_name(name, {training.name for training in trainings})
    run = TrainingRun.start(name, request, folder, alive=_page_is_open())
    training = OwnTraining(name, folder, request, clips.name, *_clip_groups(clips), run=run)
    trainings.append(training)
    return training


def epoch_measures(epochs: tuple[training_run.Epoch, ...]) -> dict[str, Array]:
    """Column -> (epochs,) values of a training; NaN where an epoch has none."""

    def measured(measure: str) -> list[float]:
        values = [getattr(epoch.health, measure, None) for epoch in epochs]
        return [np.nan if value is None else value for value in values]

    columns = {
        "epoch": [each.epoch for each in epochs],
        "windows": [each.windows for each in epochs],
        "loss": [each.loss for each in epochs],
        "explained_variance": [each.explained for each in epochs],
        "forward": measured("forward_strongest"),
        "speed_error": measured("speed_error"),
    }
    return {name: np.array(values) for name, values in columns.items()}


def training_windows(clips: OpenClips, window_s: float) -> int:
    """Number of windows in the clips, held-out ones included."""
    window = NetworkConfig(window_s=window_s).window(clips.store.fps)
    return int(np.maximum(clips.store.lengths - window + 1, 0).sum())


def _stored(clips: OpenClips) -> tuple[str, str, tuple[str, ...]]:
    """File, group and names of the clips; clips in memory are written to the session's folder."""
    store = clips.store
    if store.path is not None:
        whole = next(g.clips for g in store_groups(store.path) if g.name == store.group)
        return str(store.path), store.group, () if whole == len(store) else store.names
    name = hashlib.sha256(repr(clips.key).encode()).hexdigest()[:16]
    path = session().folder / f"{name}.store"
    if not path.exists():
        with st.spinner("Writing the clips", show_time=True):
            store.save(path)
    return str(path), store_groups(path)[0].name, ()


def _clip_groups(clips: OpenClips) -> tuple[str, tuple[str, ...]]:
    """Name and value of each clip for colours: the first suitable label, else the clips' names."""
    store = clips.store
    for name in store.label_names:
        values = tuple(labels.get(name, "") or f"no {name}" for labels in store.labels)
        if 2 <= len(set(values)) <= _MAX_VALUES:
            return name, values
    return "clip", store.names


def show_clips(clips: OpenClips) -> None:
    """Draw what a training learns from."""
    store = clips.store
    st.caption(
        f"On {plain(clips.name)}: {counted(len(store), 'clip')}, {store.minutes:.1f} minutes."
    )


def name_field(default: str, key: str) -> str:
    """Draw the field for the name of a training, and return the name."""
    return st.text_input("Name", default, max_chars=_MAX_LETTERS, key=key).strip() or default


def offer_editor_training() -> None:
    """Draw the training of an editor on the open clips, within the run of the page."""
    length = st.select_slider("Length", list(_EDITOR_LENGTHS), "Short", key="editor length")
    windows = _EDITOR_LENGTHS[length]
    minutes = max(1, round(windows / _EDITOR_WINDOWS_A_SECOND / 60))
    st.caption(
        f"{windows:,} windows, about {minutes} min on two processor cores. This page has to stay "
        "open until then."
    )
    clips = open_clips()
    show_clips(clips)
    name = name_field("My editor", "name of the editor")
    place = st.empty()
    if not place.button("Train the editor", icon=":material/model_training:", type="primary"):
        return
    with place.container(), temporary_folder(session().folder) as folder:
        from deepphase.edit.training import train_editor

        st.caption("Any click ends the training, and nothing of it is kept.")
        # A click ends the run of a page, and its training with it.
        with working("Training the editor", lambda: None, long=True) as progress:
            config = EditorConfig.load("masked", **{"training.windows": windows})
            editor = train_editor(
                clips.store, config, folder=folder, progress=progress, accelerator="cpu"
            )
    assert editor is not None, "one process trains"
    choose(EDITORS.name, keep_file(editor.save, name, EDITORS.suffix).id)
    st.rerun()


def _page_is_open() -> Callable[[], bool]:
    """A function that returns whether the page is open, or was within the grace period."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return lambda: True
    server, own, last_open = runtime.get_instance(), context.session_id, time.monotonic()

    def is_open() -> bool:
        nonlocal last_open
        now = time.monotonic()
        if server.is_active_session(own):
            last_open = now
        return now - last_open < _GRACE_S

    return is_open
