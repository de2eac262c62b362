"""One reader's trainings: started on the open clips, watched, kept, cancelled."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from apps.dashboard.parts.collection import OpenClips, content_key
from apps.dashboard.parts.session import session
from apps.training.request import TrainingRequest
from apps.training.run import TrainingRun
from apps.training.status import Epoch, TrainingStatus, load_curve_points, load_views
from deepphase.arrays import Array
from deepphase.corpus.store import store_groups
from deepphase.errors import ParameterError
from deepphase.figures.colouring import Colouring
from deepphase.figures.learning_curves import LearningCurve
from deepphase.phase.model import PhaseModel

_KEY = "trainings"
# Trainings that one reader keeps; the oldest that has ended gives way.
_KEPT = 6
# Seconds without its reader's page after which a training ends: a reload takes less.
_GRACE_S = 30.0
# Values of a label that a legend can tell apart.
_VALUES = 12


@dataclass(eq=False)
class OwnTraining:
    """A training of this reader.

    Parameters
    ----------
    run
        Its process.
    clips_name
        What it learns from, as the reader sees it.
    colouring_values, colouring_name
        What each clip is called in the picture of the manifold.
    model_name
        Under which its model can be chosen, once it has finished.
    """

    run: TrainingRun
    clips_name: str
    colouring_name: str
    colouring_values: tuple[str, ...]
    model_name: str = ""
    _views: tuple[Array, ...] = ()

    @property
    def name(self) -> str:
        """As the reader called it."""
        return self.run.name

    def status(self) -> TrainingStatus:
        """How far it is."""
        return self.run.status()

    def views(self, count: int) -> list[Array]:
        """The manifolds of the first epochs, (points, 3) each; each is read from disk once."""
        if len(self._views) < count:
            self._views = tuple(load_views(self.run.folder, count))
        return list(self._views[:count])

    def colouring(self) -> Colouring:
        """Of the points of all views."""
        clips, _ = load_curve_points(self.run.folder)
        values = np.array(self.colouring_values)[clips]
        return Colouring(self.colouring_name, values, spread=True)

    def keep_model(self) -> None:
        """Make the finished model one that all pages can open."""
        if not self.model_name and self.run.finished:
            model = PhaseModel.load(self.run.model_file)
            self.model_name = session().add_model(self.name, model)


def own_trainings() -> list[OwnTraining]:
    """The reader's trainings, the oldest first."""
    return st.session_state.setdefault(_KEY, [])


def running_training() -> OwnTraining | None:
    """The one that is under way."""
    return next((each for each in own_trainings() if each.run.running), None)


def start_training(
    clips: OpenClips,
    name: str,
    *,
    recipe: str,
    channels: int,
    window_s: float,
    windows: int,
    batch_size: int,
    seed: int,
) -> OwnTraining:
    """Begin a training on the open clips.

    Raises
    ------
    ParameterError
        Where one is under way already, here or in too many other sessions, or a value is out of
        bounds.
    """
    if running_training() is not None:
        raise ParameterError(
            "a training of yours is running", hint="wait for its end, or cancel it"
        )
    kept = own_trainings()
    while len(kept) >= _KEPT:
        kept.pop(0).run.cancel()
    request = TrainingRequest(
        *_stored(clips),
        config_name=recipe,
        channels=channels,
        window_s=window_s,
        windows=windows,
        batch_size=batch_size,
        seed=seed,
    )
    folder = session().folder / f"training-{secrets.token_hex(8)}"
    run = TrainingRun.start(_unlike(name, kept), request, folder, alive=_reader_is_there())
    training = OwnTraining(run, clips.name, *_unique_names_of(clips))
    kept.append(training)
    return training


def forget(training: OwnTraining) -> None:
    """Cancel a training, or remove one that has ended; nothing of it stays but a kept model."""
    training.run.cancel()
    kept = own_trainings()
    if training in kept:
        kept.remove(training)


def curve_of(name: str, epochs: tuple[Epoch, ...]) -> LearningCurve:
    """What the figure of learning curves draws of a training."""
    healths = [each.health for each in epochs]
    return LearningCurve(
        name,
        np.array([each.epoch for each in epochs]),
        np.array([each.loss for each in epochs]),
        np.array([each.explained for each in epochs]),
        np.array([np.nan if h is None else h.forward_strongest for h in healths]),
        np.array(
            [np.nan if h is None or h.speed_error is None else h.speed_error for h in healths]
        ),
    )


def training_windows(clips: OpenClips, window_s: float) -> int:
    """Windows of a whole pass over the clips, held-out ones with them."""
    window = 2 * max(round(window_s * clips.store.fps / 2), 1) + 1
    return int(np.maximum(clips.store.lengths - window + 1, 0).sum())


def _stored(clips: OpenClips) -> tuple[str, str, tuple[str, ...]]:
    """File, group and names of the clips; clips in memory are written beside the trainings."""
    store = clips.store
    if store.path is not None:
        whole = next(g.clips for g in store_groups(store.path) if g.name == store.group)
        return str(store.path), store.group, () if whole == len(store) else store.names
    path = Path(session().folder) / f"{content_key(repr(clips.key).encode())[:16]}.store"
    if not path.exists():
        with st.spinner("Handing over the clips"):
            store.save(path)
    return str(path), store_groups(path)[0].name, ()


def _unique_names_of(clips: OpenClips) -> tuple[str, tuple[str, ...]]:
    """What clips are told apart by: the first label with some values, else their names."""
    store = clips.store
    for name in store.label_names:
        values = tuple(labels.get(name, "") or f"no {name}" for labels in store.labels)
        if 2 <= len(set(values)) <= _VALUES:
            return name, values
    return "clip", store.names


def _unlike(name: str, kept: list[OwnTraining]) -> str:
    taken, given, number = {each.name for each in kept} | set(session().models), name, 2
    while given in taken:
        given, number = f"{name} ({number})", number + 1
    return given


def _reader_is_there() -> Callable[[], bool]:
    """A function that tells whether the page is open, or was so a moment ago."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return lambda: True
    server, own, seen = runtime.get_instance(), context.session_id, time.monotonic()

    def there() -> bool:
        nonlocal seen
        now = time.monotonic()
        if server.is_active_session(own):
            seen = now
        return now - seen < _GRACE_S

    return there
