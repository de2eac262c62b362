"""Choosers of the pages, and the files behind them: of the folder, uploaded, or trained here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import streamlit as st

from deepphase.apps.dashboard.parts.address import named_by_address, write_address
from deepphase.apps.dashboard.parts.folder import (
    FoundFile,
    Stamp,
    look_again,
    open_folder,
    writable_folder,
)
from deepphase.apps.dashboard.parts.messages import error_sentence, plain
from deepphase.apps.dashboard.parts.session import (
    Session,
    plain_file_name,
    safe_name,
    session,
    unused_name,
)
from deepphase.errors import DeepPhaseError

# Folder, in that which the program was started on, of what is trained on the pages.
TRAININGS_FOLDER = "trainings"
MAX_FILE_MB = 64
# Opened files in the cache of all sessions.
_OPENED = 24
# Session state: key of a chooser -> id of the entry that it shall show.
_TO_CHOOSE = "to choose"
Opened = TypeVar("Opened")
Opened_co = TypeVar("Opened_co", covariant=True)


@dataclass(frozen=True)
class ListedSource(Generic[Opened_co]):
    """An entry of a chooser; `stamp` is that of its file, None without one."""

    id: str
    name: str
    open: Callable[[], Opened_co] = field(compare=False)
    stamp: Stamp | None = None


def choose(key: str, id: str) -> None:
    """Make the chooser of a key show another entry, from the next run on."""
    st.session_state.setdefault(_TO_CHOOSE, {})[key] = id


def chooser(
    label: str,
    key: str,
    sources: Sequence[ListedSource[Opened]],
    *,
    addressed: bool = False,
) -> ListedSource[Opened]:
    """Draw the chooser of one of several sources, at first of the first one."""
    known = {source.id: source for source in sources}
    requested = st.session_state.get(_TO_CHOOSE, {}).pop(key, None)
    if requested is None and addressed:
        requested = named_by_address(key)
    if requested in known:
        st.session_state[key] = requested
    elif st.session_state.get(key) not in known:
        st.session_state[key] = next(iter(known))
    chosen = st.selectbox(label, list(known), format_func=lambda id: known[id].name, key=key)
    if addressed:
        write_address(key, chosen if len(known) > 1 else None)
    return known[chosen]


def keep_file(save: Callable[[Path], object], name: str, suffix: str) -> FoundFile:
    """Save what was trained in the open folder, else for the session; `suffix` as in ".model"."""
    folder = writable_folder()
    if folder is None:
        path = session().new_path(suffix)
        save(path)
        return session().add_file(path, name)
    place = folder / TRAININGS_FOLDER
    place.mkdir(exist_ok=True)
    stem = plain_file_name(name, "training")
    path = place / unused_name(f"{stem}{suffix}", [file.name for file in place.iterdir()])
    save(path)
    look_again()
    return FoundFile.described(path, path.relative_to(folder).as_posix())


@dataclass(frozen=True)
class FileKind(Generic[Opened]):
    """A kind of file that pages open: its name, as in "editor", and how one is loaded."""

    name: str
    load: Callable[[FoundFile], Opened]

    @property
    def suffix(self) -> str:
        """As in ".editor"."""
        return f".{self.name}"

    def files(self, accepts: Callable[[FoundFile], bool] | None = None) -> list[FoundFile]:
        """Files of this session, then those of the folder.

        Those that `accepts` takes, by default those of the format "deepphase.NAME".
        """
        found = open_folder()
        accepts = accepts or (lambda file: file.format == f"deepphase.{self.name}")
        return list(filter(accepts, [*session().files, *(found.files if found else ())]))

    def open(self, file: FoundFile) -> Opened:
        """Open a file, once for all sessions. Raises as `load`."""
        return _opened(self.name, file.stamp, file, self.load)

    def source(self, file: FoundFile, words: str = "") -> ListedSource[Opened]:
        """The entry of a file, with words before its name."""
        return ListedSource(file.id, f"{words}{file.title}", lambda: self.open(file), file.stamp)

    def sources(self, words: str = "") -> list[ListedSource[Opened]]:
        """The entries of all files."""
        return [self.source(file, words) for file in self.files()]

    def read_upload(self, own: Session, name: str, content: bytes) -> FoundFile:
        """Add an uploaded file, which is not trusted, to a session."""
        with own.uploaded(content, self.suffix) as path:
            self.load(FoundFile.described(path, safe_name(name)))
            kept = own.new_path(self.suffix)
            path.rename(kept)
        return own.add_file(kept, safe_name(name))

    def offer_upload(self, label: str, help_: str, key: str, where: str) -> None:
        """Draw a file uploader and its outcome; `where` the chooser of `key` is, as in "above"."""
        file = st.file_uploader(
            label, max_upload_size=MAX_FILE_MB, key=f"{self.name} upload", help=help_
        )
        if file is None:
            return
        # Id of an upload -> what became of it.
        outcomes: dict[str, FoundFile | DeepPhaseError] = st.session_state.setdefault(
            f"{self.name} uploads", {}
        )
        if file.file_id not in outcomes:
            try:
                added = self.read_upload(session(), file.name, bytes(file.getbuffer()))
            except DeepPhaseError as error:
                outcomes[file.file_id] = error
            else:
                outcomes[file.file_id] = added
                choose(key, added.id)
                st.rerun()
        outcome = outcomes[file.file_id]
        if isinstance(outcome, DeepPhaseError):
            words = f"Refused. {plain(file.name)}: {error_sentence(outcome)}"
            st.error(words, icon=":material/block:")
        else:
            st.success(f"{plain(outcome.name)} can be chosen {where}.", icon=":material/check:")


@st.cache_resource(max_entries=_OPENED, show_spinner="Opening the file")
def _opened(
    kind: str, stamp: Stamp, _file: FoundFile, _load: Callable[[FoundFile], Opened]
) -> Opened:
    return _load(_file)
