"""Trainings of editors and rigs on the open clips, within the run of a page."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import streamlit as st

from apps.dashboard.parts.collection import look_again, open_clips, open_folder
from apps.dashboard.parts.folder import Stamp, configured_folder, stamp_of
from apps.dashboard.parts.messages import plain, working
from apps.dashboard.parts.session import session
from apps.dashboard.parts.trainings import TRAININGS_FOLDER, unused_file
from deepphase.corpus.clip_store import ClipStore
from deepphase.progress import Progress
from deepphase.temporary_files import temporary_folder

_OWN, _NEW = "own tools", "new tool"
_MAX_LETTERS = 40


class Trained(Protocol):
    """What a training gives."""

    def save(self, path: Path) -> object:
        """Write it to a file."""
        ...


def known_tools(format_: str, chooser: str) -> dict[str, Stamp]:
    """Name -> stamp of the files of a format, those in the folder and those of this session.

    The widget of the key `chooser`, which is drawn after it, chooses one that was just trained.
    """
    found = open_folder()
    files = {} if found is None else {each.name: each.stamp for each in found.of_format(format_)}
    own: dict[str, list[Path]] = st.session_state.get(_OWN, {})
    files |= {each.name: stamp_of(each) for each in own.get(format_, [])}
    widget, name = st.session_state.get(_NEW, ("", ""))
    if widget == chooser and name in files:
        st.session_state[chooser] = name
        del st.session_state[_NEW]
    return files


def offer_tool_training(
    kind: str,
    format_: str,
    chooser: str,
    train: Callable[[ClipStore, Path, Progress], Trained | None],
) -> None:
    """Draw the name and the button of a training on the open clips; train when it is pressed.

    Parameters
    ----------
    kind
        "editor" or "rig", the suffix of the file as well.
    format_
        Format of the file, as in "deepphase.editor".
    chooser
        Key of the widget that chooses among such files, see `known_tools`.
    train
        Trains on clips, with a folder for its files.

    Raises
    ------
    DeepPhaseError
        If the clips do not fit.
    """
    clips = open_clips()
    st.caption(f"On {plain(clips.name)}: {len(clips.store)} clips, {clips.store.minutes:.1f} min.")
    name = st.text_input("Name", f"My {kind}", max_chars=_MAX_LETTERS, key=f"name of the {kind}")
    place = st.empty()
    if not place.button(f"Train the {kind}", icon=":material/model_training:", type="primary"):
        return
    with (
        place.container(),
        temporary_folder(session().folder) as folder,
    ):
        # A click ends the run of a page, and its training with it.
        st.button("Cancel", icon=":material/stop:", key="cancel it")
        st.caption("Any click ends the training, and nothing of it is kept.")
        with working(f"Training the {kind}") as progress:
            progress("reading clips", 0, 1, "")
            trained = train(clips.store, folder, progress)
    assert trained is not None, "one process trains"
    st.session_state[_NEW] = (chooser, _keep(trained, name.strip() or f"My {kind}", kind, format_))
    st.rerun()


def _keep(trained: Trained, name: str, kind: str, format_: str) -> str:
    """Save it in the folder, or for the session, and return its name among `known_tools`."""
    folder = configured_folder()
    if folder is not None and os.access(folder, os.W_OK):
        path = unused_file(folder / TRAININGS_FOLDER, name, f".{kind}")
        path.parent.mkdir(exist_ok=True)
        trained.save(path)
        look_again()
        return path.relative_to(folder).as_posix()
    path = unused_file(session().folder, name, f".{kind}")
    trained.save(path)
    st.session_state.setdefault(_OWN, {}).setdefault(format_, []).append(path)
    return path.name
