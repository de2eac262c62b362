"""Content of the folder that the dashboard was started on: stores, models, databases, motion."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import streamlit as st

from deepphase.apps.dashboard.parts.messages import ResultCache, give_way
from deepphase.corpus import motion_files
from deepphase.corpus.motion_files import STORE_FORMAT, STORE_JSON, is_store_folder
from deepphase.corpus.prepare import prepare
from deepphase.corpus.store import store_header
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.features.layout import FeatureLayout
from deepphase.files import temporary_folder
from deepphase.formats.array_file import is_array_file, read_header
from deepphase.formats.load import MOTION_FORMATS
from deepphase.work import Progress

# Environment variable with the path of the folder, empty for none; `deepphase app` sets it.
FOLDER_VARIABLE = "DEEPPHASE_APP_FOLDER"
# Seconds after which the folder is listed again.
_FRESH_S = 20.0
# Bytes of motion files that a page waits for; a thread prepares more.
_AT_ONCE_BYTES = 3_000_000
# Seconds that no page may have run for before that thread goes on, and those that it waits at most.
_PAGE_S, _MOST_WAITED_S = 1.0, 4.0
# Seconds after its last look at a bar from which on a session counts as gone.
_LOOKED_S = 5.0
# Entries of a header by which pages choose files.
_KEPT = ("config", "layout", "signals")
# Path, time of change and size of a file.
Stamp = tuple[str, int, int]


@dataclass(frozen=True)
class FoundFile:
    """A file of the framework, described by its header; `format` is as in "deepphase.store"."""

    path: Path
    name: str
    format: str
    stamp: Stamp
    about: Mapping[str, Any] = field(default_factory=dict, compare=False)
    own: bool = False

    @classmethod
    def described(cls, path: Path, name: str, *, own: bool = False) -> FoundFile:
        """Read the header of a file. CheckpointError where it is damaged."""
        header = store_header(path) if path.is_dir() else read_header(path)
        about = {name: header[name] for name in _KEPT if name in header}
        return cls(path, name, str(header["format"]), stamp_of(path), about, own)

    @property
    def id(self) -> str:
        """Value of the choosers, and part of the address."""
        return f"session:{self.name}" if self.own else f"file:{self.path}"

    @property
    def title(self) -> str:
        """Name in the choosers."""
        return f"{self.name} (this session)" if self.own else self.name

    def entry(self, *names: str) -> Any:
        """An entry of the kept header, as in ("config", "network", "preset"); None without it."""
        value: Any = self.about
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that a phase model reads; empty for other files."""
        is_model = self.format.endswith(("phase_model", "_phase"))
        joints = self.entry("signals", "joints") if is_model else None
        return tuple(map(str, joints)) if isinstance(joints, list) else ()

    @property
    def preset(self) -> str:
        """Network preset of a phase model; empty for other files."""
        return str(self.entry("config", "network", "preset") or "")

    @property
    def tracks(self) -> tuple[object, ...]:
        """Tracks beside the motion that a controller reads, as music; empty for other files."""
        tracks = self.entry("config", "schema", "tracks")
        return tuple(tracks) if isinstance(tracks, list) else ()

    @property
    def layout(self) -> FeatureLayout | None:
        """Layout of a motion database; None where it is damaged."""
        try:
            return FeatureLayout.from_mapping(self.about["layout"])
        except (DeepPhaseError, KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True)
class FoundFolder:
    """Content of a folder."""

    path: Path
    files: tuple[FoundFile, ...]
    refused: tuple[DeepPhaseError, ...]
    cut: bool
    settings: motion_files.FolderSettings
    motion: tuple[Stamp, ...]
    songs: tuple[Stamp, ...]
    recordings: tuple[Stamp, ...]

    def of_format(self, format_: str) -> list[FoundFile]:
        """Files of a format, as in "deepphase.store"."""
        return [file for file in self.files if file.format == format_]


def configured_folder() -> Path | None:
    """The folder that the program was started on."""
    given = os.environ.get(FOLDER_VARIABLE, "")
    return Path(given) if given else None


def writable_folder() -> Path | None:
    """The folder that the program was started on, if it can be written to and is no store."""
    folder = configured_folder()
    if folder is None or is_store_folder(folder) or not os.access(folder, os.W_OK):
        return None
    return folder


def open_folder() -> FoundFolder | None:
    """Content of the folder that the program was started on; None without one."""
    folder = configured_folder()
    return None if folder is None else _listed(folder)


def look_again() -> None:
    """Clear the cached content of the folder, so that it is listed again."""
    _listed.clear()


@st.cache_resource(ttl=_FRESH_S, max_entries=4, show_spinner="Listing the folder", show_time=True)
def _listed(folder: Path) -> FoundFolder:
    return look_into(folder)


def look_into(folder: Path) -> FoundFolder:
    """List the files under a folder by their headers; hidden files are skipped."""
    files: list[FoundFile] = []
    refused: list[DeepPhaseError] = []
    stamps: dict[str, list[Stamp]] = {"motion": [], "songs": [], "recordings": []}
    paths = list(islice(motion_files.files_under(folder), motion_files.MAX_LISTED_FILES + 1))
    for path in paths[: motion_files.MAX_LISTED_FILES]:
        suffix = path.suffix.lower()
        try:
            if path.name == STORE_JSON and is_store_folder(path.parent):
                inner = path.parent.relative_to(folder)
                name = inner.as_posix() if inner.name else folder.name
                files.append(FoundFile.described(path.parent, name))
            elif motion_files.is_motion_file(path):
                recorded = path.parent == folder / motion_files.RECORDINGS_FOLDER
                stamps["recordings" if recorded else "motion"].append(stamp_of(path))
            elif suffix in motion_files.SONG_SUFFIXES:
                stamps["songs"].append(stamp_of(path))
            # A named pipe would not answer.
            elif suffix not in MOTION_FORMATS and path.is_file() and is_array_file(path):
                files.append(FoundFile.described(path, path.relative_to(folder).as_posix()))
        except DeepPhaseError as error:
            refused.append(error)
        except OSError:
            continue
    settings = motion_files.FolderSettings()
    try:
        settings = motion_files.read_settings(folder)
    except DeepPhaseError as error:
        refused.append(error)
    cut = len(paths) > motion_files.MAX_LISTED_FILES
    lists = {name: tuple(own) for name, own in stamps.items()}
    return FoundFolder(folder, tuple(files), tuple(refused), cut, settings, **lists)


def stamp_of(path: Path) -> Stamp:
    """Path, time of change and size of a file. OSError if it does not exist."""
    status = path.stat()
    return str(path), status.st_mtime_ns, status.st_size


def folder_of(owner: object) -> Path:
    """A temporary folder that is removed with its owner, and at the end of the program."""
    place = ExitStack()
    folder = place.enter_context(temporary_folder())
    weakref.finalize(owner, place.close)
    return folder


class _PreparedStore:
    """A store of motion files in a temporary folder, which goes with this object."""

    def __init__(self, found: FoundFolder, progress: Progress) -> None:
        store = folder_of(self) / "prepared.store"
        files = [path for path, *_ in found.motion]
        prepare(files, store, progress=progress, workers=1, root=found.path)
        self.stamp = stamp_of(store)


# All sessions share them, and a thread prepares one before a session begins.
_prepared = ResultCache[_PreparedStore](4)


@dataclass
class Preparation:
    """How far a thread is with the motion files of a folder, and what became of it."""

    began: float = field(default_factory=time.monotonic)
    done: int = 0
    ended: bool = False
    cancelled: bool = False
    # Session -> when it last drew the bar.
    _looks: dict[int, float] = field(default_factory=dict)

    def show_to(self, session: int) -> None:
        """Note that a session waits for it."""
        self._looks[session] = time.monotonic()

    def leave(self, session: int) -> None:
        """Cancel the wait of a session; the preparation ends when no other one waits."""
        self._looks.pop(session, None)
        self.cancelled = max(self._looks.values(), default=0.0) < time.monotonic() - _LOOKED_S


class _Cancelled(Exception):
    """A preparation that the user has cancelled."""


# Key of a store -> its preparation by a thread.
_preparations: dict[Hashable, Preparation] = {}


def _key(found: FoundFolder) -> tuple[tuple[Stamp, ...], str]:
    return found.motion, repr(found.settings)


def state_of(found: FoundFolder) -> Hashable:
    """What changes with what can be opened of a folder."""
    files = tuple(file.stamp for file in found.files)
    return files, *map(repr, _key(found)), _prepared.find(_key(found)) is not None


def is_readable(found: FoundFolder) -> bool:
    """Whether stores, or the first motion file, can be opened at once."""
    stores = found.of_format(STORE_FORMAT) or not found.motion
    own = any(_prepared.find(_key(each)) is not None for each in (found, _first(found)))
    return bool(stores or own)


def _first(found: FoundFolder) -> FoundFolder:
    return replace(found, motion=found.motion[:1])


def prepared_store(found: FoundFolder, *, whole: bool = True) -> Stamp:
    """The store of a folder's motion files; if it is missing, the page makes it, with progress.

    Unless the `whole` is asked for, a thread makes that of many files, and until then this is the
    store of the first one. Raises FormatError where no file can be used.
    """
    key, large = _key(found), sum(size for *_, size in found.motion) > _AT_ONCE_BYTES
    own = _preparations.get(key)
    if large and not whole and _prepared.find(key) is None and (own is None or not own.ended):
        with suppress(FormatError):
            stamp = prepared_store(_first(found))
            if own is None:
                _preparations[key] = Preparation()
                threading.Thread(target=_prepare, args=(found,), daemon=True).start()
            return stamp
    make = partial(_PreparedStore, found)
    return _prepared.find_or_make(key, make, "Preparing the motion files").stamp


def preparation(found: FoundFolder) -> Preparation | None:
    """The preparation of the motion files that goes on or was cancelled; None without one."""
    own = _preparations.get(_key(found))
    return None if own is None or own.ended else own


def prepare_again(found: FoundFolder) -> None:
    """Let the next page prepare the motion files, of which a preparation was cancelled."""
    _preparations.pop(_key(found), None)


def _prepare(found: FoundFolder) -> None:
    """Prepare the motion files, and give way to pages."""
    waited = 0.0
    own = _preparations.setdefault(_key(found), Preparation())

    def patient(part: FoundFolder, progress: Progress) -> _PreparedStore:
        def report(step: str, done: int, total: int, words: str) -> None:
            nonlocal waited
            own.done = done
            waited += give_way(_PAGE_S, _MOST_WAITED_S - waited)
            progress(step, done, total, words)

        return _PreparedStore(part, report)

    def look(step: str, done: int, total: int, words: str) -> None:
        if own.cancelled and total > 1:
            raise _Cancelled

    try:
        for part in (_first(found), found):
            # A page makes it again, and shows the error; one that was cancelled, if it is asked to.
            with suppress(DeepPhaseError, _Cancelled):
                _prepared.make(_key(part), partial(patient, part), look)
    finally:
        # However it ends, pages wait for it; of one that was cancelled, they show the first file.
        own.ended = not own.cancelled or _prepared.find(_key(found)) is not None


def prepare_ahead(folder: Path, then: Callable[[FoundFolder], object]) -> threading.Thread:
    """Prepare the motion files of a folder without stores in a thread, before a page asks."""

    def prepare_once() -> None:
        found = look_into(folder)
        if found.motion and not found.of_format(STORE_FORMAT):
            _prepare(found)
        # A page shows the error.
        with suppress(DeepPhaseError):
            then(found)

    thread = threading.Thread(target=prepare_once, daemon=True)
    thread.start()
    return thread
