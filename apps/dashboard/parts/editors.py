"""Editors of motion in the open folder, and the edits of a session."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import streamlit as st

from deepphase.apps.dashboard.parts.files import FileKind, ListedSource
from deepphase.apps.dashboard.parts.trainings import offer_training
from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.config import EditorConfig
from deepphase.edit.editor import MotionEditor
from deepphase.motion.clip import Clip
from deepphase.progress import Progress
from deepphase.shipped import SHIPPED

_MAX_STEPS = 20
_KEY = "edits"
# Length of a training -> number of windows.
_LENGTHS = {"Glance": 6_000, "Short": 20_000, "Usual": 80_000}
# Windows a second on two processor cores, for the estimate on the page.
_WINDOWS_A_SECOND = 150
EDITORS = FileKind("editor", lambda file: MotionEditor.load(file.path))
_SHIPPED = "shipped"


@dataclass(frozen=True)
class Edit:
    """What is chosen: its words, the values of the session that give it, and the clip of it."""

    words: str
    make: Callable[[], Clip]
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EditStep:
    """An edit of the clip `start`; while it is `open`, what is drawn further replaces it."""

    words: str
    clip: Clip
    task: str
    start: Clip
    state: Mapping[str, Any]
    open: bool = False


@dataclass
class Edits:
    """A clip and what was done to it."""

    given: Clip
    steps: list[EditStep] = field(default_factory=list)
    dropped: int = 0

    @property
    def clip(self) -> Clip:
        """The clip after the last edit."""
        return self.steps[-1].clip if self.steps else self.given

    def start(self, task: str) -> tuple[Clip, int]:
        """The clip that a task starts from, and the number of edits before it."""
        count = len(self.steps)
        while count and self.steps[count - 1].open and self.steps[count - 1].task == task:
            count -= 1
        start = self.steps[count].start if count < len(self.steps) else self.clip
        return start, self.dropped + count

    def add(self, edit: Edit, task: str, *, open: bool) -> None:
        """Make an edit and add it; one that stands there as drawn is kept as it is.

        The oldest is dropped where there are too many.
        """
        last = self.steps[-1] if self.steps else None
        stands = last is not None and last.open and last.task == task and last.state == edit.state
        if last is not None and stands and not open:
            self.steps[-1] = replace(last, open=False)
            return
        start, _ = self.start(task)
        self.steps.append(EditStep(edit.words, edit.make(), task, start, dict(edit.state), open))
        extra = max(len(self.steps) - _MAX_STEPS, 0)
        del self.steps[:extra]
        self.dropped += extra

    def undo(self) -> None:
        """Take back the last edit, and what was drawn for it in the session."""
        if not self.steps:
            return
        last = self.steps.pop()
        for key in last.state:
            st.session_state.pop(key, None)
        before = self.steps[-1] if self.steps else None
        if before is not None and before.open and last.open and before.task == last.task:
            st.session_state.update(before.state)


def editor_sources() -> list[ListedSource[MotionEditor]]:
    """Editors of the folder and the session, then the one that comes with the package."""
    shipped = SHIPPED["editor"]
    return [*EDITORS.sources(), ListedSource(_SHIPPED, f"For {shipped.title} (shipped)", _shipped)]


def is_shipped(source: ListedSource[MotionEditor]) -> bool:
    """Whether a source is the editor that comes with the package, which reads other bodies."""
    return source.id == _SHIPPED


@st.cache_resource(show_spinner=False)
def _shipped() -> MotionEditor:
    return MotionEditor.load(SHIPPED["editor"].path)


def offer_editor_training() -> None:
    """Draw the training of an editor on the open clips; DeepPhaseError where they do not fit."""
    length = st.select_slider("Length", list(_LENGTHS), "Short", key="editor length")
    windows = _LENGTHS[length]
    minutes = max(1, round(windows / _WINDOWS_A_SECOND / 60))
    st.caption(
        f"{windows:,} windows, about {minutes} min on two processor cores. This page has to stay "
        "open until then."
    )

    def train(store: ClipStore, folder: Path, progress: Progress) -> MotionEditor | None:
        from deepphase.edit.training import train_editor

        config = EditorConfig.load("masked", **{"training.windows": windows})
        return train_editor(store, config, folder=folder, progress=progress, accelerator="cpu")

    offer_training(EDITORS, train)


def edits_of(key: Hashable, given: Clip) -> tuple[Edits, bool]:
    """The session's edits of a clip, and whether they begin; those of another clip are dropped."""
    begins = st.session_state.get(_KEY, (None,))[0] != key
    if begins:
        st.session_state[_KEY] = key, Edits(given)
    return st.session_state[_KEY][1], begins
