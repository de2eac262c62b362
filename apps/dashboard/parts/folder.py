"""Content of the folder that the dashboard was started on: stores, models, databases, motion."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.dashboard.parts.messages import working
from deepphase.corpus.motion_files import MAX_LISTED_FILES, files_under, is_motion_file
from deepphase.corpus.prepare import prepare
from deepphase.corpus.store_writer import STORE_FORMAT
from deepphase.errors import DeepPhaseError
from deepphase.formats.array_file import is_array_file, read_header
from deepphase.formats.load import MOTION_FORMATS
from deepphase.phase.config import ANY_SKELETON
from deepphase.temporary_files import temporary_folder

# Prepared folders that all sessions share.
_MAX_PREPARED = 2


@dataclass(frozen=True)
class _Prepared:
    stamp: Stamp


# Streamlit's cache could not show the progress of preparing.
_folders: dict[tuple[Stamp, ...], _Prepared] = {}
_lock = threading.Lock()


def prepared_store(found: FoundFolder) -> Stamp:
    """The store of a folder's motion files, made if missing, with progress.

    Raises FormatError where no file can be used.
    """
    # Concurrent sessions wait for the first one, and use its store.
    with working("Preparing the motion files") as progress, _lock:
        if found.motion not in _folders:
            with ExitStack() as place:
                store = place.enter_context(temporary_folder()) / "prepared.store"
                files = [path for path, *_ in found.motion]
                prepare(files, store, progress=progress, workers=1)
                prepared = _Prepared(stamp_of(store))
                # Removed with the entry, and at the end of the program.
                weakref.finalize(prepared, place.pop_all().close)
            while len(_folders) >= _MAX_PREPARED:
                _folders.pop(next(iter(_folders)))
            _folders[found.motion] = prepared
        return _folders[found.motion].stamp


# Environment variable with the path of the folder, empty for none; `deepphase app` sets it.
FOLDER_VARIABLE = "DEEPPHASE_APP_FOLDER"
Stamp = tuple[str, int, int]


@dataclass(frozen=True)
class FoundFile:
    """A file of the framework, described by its header.

    Parameters
    ----------
    path
        The file.
    name
        Relative to the folder.
    format
        As in "deepphase.store".
    stamp
        Path, time of change and size: the key of caches of its content.
    joints
        Joints that a phase model reads; empty for other files.
    preset
        Network preset of a phase model; empty for other files.
    """

    path: Path
    name: str
    format: str
    stamp: Stamp
    joints: tuple[str, ...] = ()
    preset: str = ""


@dataclass(frozen=True)
class FoundFolder:
    """Content of a folder.

    Parameters
    ----------
    path
        The folder.
    files
        Files of the framework, sorted by name.
    motion
        Stamps of motion files.
    refused
        Errors of files that cannot be read.
    cut
        Whether the folder has more files than are examined.
    """

    path: Path
    files: tuple[FoundFile, ...]
    motion: tuple[Stamp, ...]
    refused: tuple[DeepPhaseError, ...]
    cut: bool = False

    def of_format(self, *formats: str) -> list[FoundFile]:
        """Files of the given formats."""
        return [each for each in self.files if each.format in formats]

    @property
    def stores(self) -> list[FoundFile]:
        """Stores of clips."""
        return self.of_format(STORE_FORMAT)

    @property
    def models(self) -> list[FoundFile]:
        """Phase models and baselines: files that name the joints they read, or read all."""
        return [each for each in self.files if each.joints or each.preset == ANY_SKELETON]

    @property
    def databases(self) -> list[FoundFile]:
        """Motion databases."""
        return self.of_format("deepphase.motion_database")

    @property
    def controllers(self) -> list[FoundFile]:
        """Trained controllers."""
        return self.of_format("deepphase.controller")


def configured_folder() -> Path | None:
    """The folder that the program was started on."""
    given = os.environ.get(FOLDER_VARIABLE, "")
    return Path(given) if given else None


def look_into(folder: Path) -> FoundFolder:
    """List the files under a folder by their headers; hidden files are skipped."""
    files: list[FoundFile] = []
    motion: list[Stamp] = []
    refused: list[DeepPhaseError] = []
    cut = False
    for count, path in enumerate(files_under(folder)):
        if count >= MAX_LISTED_FILES:
            cut = True
            break
        try:
            if is_motion_file(path):
                motion.append(stamp_of(path))
            elif path.suffix.lower() not in MOTION_FORMATS and _is_own_file(path):
                files.append(_found(path, path.relative_to(folder).as_posix()))
        except DeepPhaseError as error:
            refused.append(error)
        except OSError:
            continue
    return FoundFolder(folder, tuple(files), tuple(motion), tuple(refused), cut)


def stamp_of(path: Path) -> Stamp:
    """Path, time of change and size of a file. OSError if it does not exist."""
    given = path.stat()
    return str(path), given.st_mtime_ns, given.st_size


def _is_own_file(path: Path) -> bool:
    # A named pipe would not answer.
    return path.is_file() and is_array_file(path)


def _found(path: Path, name: str) -> FoundFile:
    header = read_header(path)
    signals = _mapping(header.get("signals"))
    network = _mapping(_mapping(header.get("config")).get("network"))
    is_model = str(header["format"]).endswith(("phase_model", "_phase"))
    joints = signals.get("joints") if is_model else None
    return FoundFile(
        path,
        name,
        str(header["format"]),
        stamp_of(path),
        tuple(map(str, joints)) if isinstance(joints, list) else (),
        str(network.get("preset", "")),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
