"""Content of the folder that the dashboard was started on: stores, models, databases, motion."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apps.dashboard.parts.messages import working
from deepphase.corpus.prepare import prepare
from deepphase.corpus.store_writer import STORE_FORMAT
from deepphase.errors import DeepPhaseError
from deepphase.formats.array_file import is_array_file, read_header
from deepphase.formats.load import MOTION_FORMATS

# Folders that are kept for all sessions together.
_KEPT = 2


@dataclass(frozen=True)
class _Prepared:
    stamp: Stamp
    place: tempfile.TemporaryDirectory = field(compare=False)


# Not Streamlit's cache, which would not show how far preparing is.
_folders: dict[tuple[Stamp, ...], _Prepared] = {}
_lock = threading.Lock()


def prepared_store(found: FoundFolder) -> Stamp:
    """The store of a folder's motion files, made if missing, with progress.

    Raises FormatError where no file can be used.
    """
    # Concurrent sessions wait for the first one, and use its store.
    with working("Preparing the motion files") as progress, _lock:
        if found.motion not in _folders:
            place = tempfile.TemporaryDirectory(prefix="deepphase-", ignore_cleanup_errors=True)
            store = Path(place.name) / "prepared.store"
            files = [path for path, *_ in found.motion]
            prepare(files, store, progress=progress, workers=1)
            while len(_folders) >= _KEPT:
                _folders.pop(next(iter(_folders)))
            _folders[found.motion] = _Prepared(stamp_of(store), place)
        return _folders[found.motion].stamp


# The folder's path, empty for none: how the program tells the server.
FOLDER_VARIABLE = "DEEPPHASE_APP_FOLDER"
# Files that are looked at; a whole disk is no collection.
_MOST_FILES = 20_000
_BESIDE_MOTION = (".phases.npz", ".truth.npz")
Stamp = tuple[str, int, int]


@dataclass(frozen=True)
class FoundFile:
    """One of our files, by its header alone.

    Parameters
    ----------
    path
        The file.
    name
        Relative to the folder.
    format
        As in "deepphase.store".
    stamp
        Path, time of change and size: what caches of its content are keyed by.
    joints
        Those that a phase model reads; empty for others.
    preset
        The network of a phase model; empty for others.
    """

    path: Path
    name: str
    format: str
    stamp: Stamp
    joints: tuple[str, ...] = ()
    preset: str = ""


@dataclass(frozen=True)
class FoundFolder:
    """All that was found.

    Parameters
    ----------
    path
        The folder.
    files
        Our files, by name.
    motion
        Motion files, by stamp.
    refused
        Files of ours that cannot be read, and why.
    cut
        There were more files than are looked at.
    """

    path: Path
    files: tuple[FoundFile, ...]
    motion: tuple[Stamp, ...]
    refused: tuple[DeepPhaseError, ...]
    cut: bool = False

    def of_format(self, *formats: str) -> list[FoundFile]:
        """Those of some formats."""
        return [each for each in self.files if each.format in formats]

    @property
    def stores(self) -> list[FoundFile]:
        """Stores of clips."""
        return self.of_format(STORE_FORMAT)

    @property
    def models(self) -> list[FoundFile]:
        """Phase models and baselines: files that name the joints they read."""
        return [each for each in self.files if each.joints]

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
    """Every file of ours under a folder, by reading headers only; hidden ones are passed over."""
    files: list[FoundFile] = []
    motion: list[Stamp] = []
    refused: list[DeepPhaseError] = []
    seen = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            if name.startswith("."):
                continue
            seen += 1
            if seen > _MOST_FILES:
                return FoundFolder(folder, tuple(files), tuple(motion), tuple(refused), cut=True)
            try:
                if path.suffix.lower() in MOTION_FORMATS:
                    if not name.lower().endswith(_BESIDE_MOTION):
                        motion.append(stamp_of(path))
                elif path.is_file() and is_array_file(path):
                    files.append(_found(path, path.relative_to(folder).as_posix()))
            except DeepPhaseError as error:
                refused.append(error)
            except OSError:
                continue
    return FoundFolder(folder, tuple(files), tuple(motion), tuple(refused))


def stamp_of(path: Path) -> Stamp:
    """What changes when the file does. OSError where there is none."""
    given = path.stat()
    return str(path), given.st_mtime_ns, given.st_size


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
