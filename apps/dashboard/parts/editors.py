"""Editors of motion in the open folder, and the edits of a session."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import streamlit as st

from apps.dashboard.parts.collection import open_folder
from apps.dashboard.parts.folder import Stamp
from deepphase.editing.editor import FORMAT, MotionEditor
from deepphase.motion.clip import Clip

_EDITORS, _MAX_STEPS = 3, 20
_KEY = "edits"


@dataclass
class Edits:
    """A clip and what was done to it.

    Parameters
    ----------
    given
        The clip before.
    steps
        Words and result of each edit, in order.
    """

    given: Clip
    steps: list[tuple[str, Clip]] = field(default_factory=list)

    @property
    def clip(self) -> Clip:
        """The clip after the last edit."""
        return self.steps[-1][1] if self.steps else self.given

    def add(self, words: str, clip: Clip) -> None:
        """Add an edit; the oldest is dropped where there are too many."""
        self.steps.append((words, clip))
        del self.steps[:-_MAX_STEPS]


def folder_editors() -> dict[str, Stamp]:
    """Name -> stamp of the editors in the folder."""
    found = open_folder()
    return {} if found is None else {each.name: each.stamp for each in found.of_format(FORMAT)}


@st.cache_resource(max_entries=_EDITORS, show_spinner="Opening the editor")
def opened_editor(stamp: Stamp) -> MotionEditor:
    """The editor of a file. Raises CheckpointError where it is damaged."""
    return MotionEditor.load(stamp[0])


def edits_of(key: Hashable, given: Clip) -> Edits:
    """The session's edits of a clip; those of another clip are dropped."""
    known = st.session_state.get(_KEY)
    if known is None or known[0] != key:
        st.session_state[_KEY] = known = (key, Edits(given))
    edits: Edits = known[1]
    return edits
