"""Motion files and stores under folders, in an order that does not depend on the disk, with the
settings of their folders (`deepphase.yaml`); files of clips."""

from __future__ import annotations

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from deepphase.arrays import counted
from deepphase.config import as_mapping, check_known, read_yaml
from deepphase.errors import FormatError, ParameterError
from deepphase.files import PREFIX, atomic_write, check_writable
from deepphase.formats.array_file import is_array_file
from deepphase.formats.load import MOTION_FORMATS
from deepphase.formats.reading import checked_floor, checked_options

STORE_FORMAT, STORE_JSON = "deepphase.store", "store.json"
SETTINGS_FILE = "deepphase.yaml"
# The program prints what is logged here.
_LOG = logging.getLogger("deepphase")
_HEAD = "# What deepphase knows of the motion files in this folder and below it.\n"
# Sound files that may lie beside a motion file, in order of preference.
SONG_SUFFIXES = (".wav", ".flac", ".ogg", ".mp3", ".m4a")
# Option of a store: the folder that its songs are named from, relative to the store's.
SONGS_FOLDER = "songs"
# Folder, in that of the files, of what was steered and recorded.
RECORDINGS_FOLDER = "recordings"
# An archive that the program itself writes beside motion files.
_PHASES = ".phases.npz"
# Largest number of files of a folder that programs examine only to list them, in case it is a whole
# disk.
MAX_LISTED_FILES = 20_000
# Bytes. With a number and the suffix, the name of a file stays within the 255 of file systems.
_MAX_STEM_BYTES = 230


@dataclass(frozen=True)
class FolderSettings:
    """Settings of the motion files in a folder and in the folders below it.

    `up`, `unit`: as in :func:`deepphase.formats.load.load`; None infers them. `labels`: label as
    found in the names of the files, such as "field1" -> its name, such as "style". `floor`: height
    in metres of the floor in the files, which becomes 0; None leaves heights as they are. `rates`:
    name of a file -> its frames a second, instead of what the file says.
    """

    up: str | None = None
    unit: str | float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    floor: float | None = None
    rates: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rate in self.rates.values() or [None]:
            checked_options(self.unit, self.up, rate)
        checked_floor(self.floor)
        for found, name in self.labels.items():
            if not name.isidentifier() or name.startswith("_"):
                raise ParameterError(
                    f"the label {found!r} cannot have the name {name!r}",
                    hint="give a name of letters and digits, such as style",
                )
            if list(self.labels.values()).count(name) > 1:
                raise ParameterError(
                    f"several labels have the name {name!r}", hint="give each its own name"
                )

    def reader(self, file: str = "") -> dict[str, Any]:
        """The options of :func:`deepphase.formats.load.load` that are set for a file's name."""
        options = {"up": self.up, "unit": self.unit, "floor": self.floor}
        options["fps"] = self.rates.get(file)
        return {name: value for name, value in options.items() if value is not None}


def read_settings(folder: Path) -> FolderSettings:
    """The settings of a folder; those of a folder without the file change nothing."""
    path = folder / SETTINGS_FILE
    with suppress(OSError):
        return _read_settings(path, path.stat().st_mtime_ns)
    return FolderSettings()


@lru_cache(maxsize=64)
def _read_settings(path: Path, written_ns: int) -> FolderSettings:
    read = read_yaml(path)
    try:
        content = as_mapping(read or {}, "the settings of a folder")
        check_known(content, (each.name for each in fields(FolderSettings)), path.name)
        labels, rates = (
            {str(key): value for key, value in as_mapping(content.get(name) or {}, name).items()}
            for name in ("labels", "rates")
        )
        labels = {found: str(name) for found, name in labels.items()}
        return FolderSettings(**{**content, "labels": labels, "rates": rates})
    except ParameterError as error:
        raise ParameterError(error.fact, hint=error.hint, path=path) from None


def save_settings(folder: Path, settings: FolderSettings) -> None:
    """Write the settings of a folder, whole or not at all; without any, the file is removed."""
    path, content = folder / SETTINGS_FILE, settings.reader()
    named = {"labels": dict(settings.labels), "rates": dict(settings.rates)}
    content |= {name: values for name, values in named.items() if values}
    if not content:
        path.unlink(missing_ok=True)
        return
    with atomic_write(path) as file:
        file.write((_HEAD + yaml.safe_dump(content, sort_keys=False)).encode())


def settings_in(folder: Path, root: Path | None = None) -> FolderSettings:
    """The settings of a folder, else of the nearest one above it up to `root`; they are logged."""
    folder = folder.absolute()
    above = [place for place in folder.parents if root and place.is_relative_to(root.absolute())]
    places = (place for place in (folder, *above) if os.path.isfile(place / SETTINGS_FILE))
    place = next(places, folder)
    settings = read_settings(place)
    options = settings.reader()
    if settings.rates:
        options["rates"] = f"of {counted(len(settings.rates), 'file')}"
    if given := ", ".join(f"{name} {value}" for name, value in options.items()):
        _LOG.info("settings from %s: %s", place / SETTINGS_FILE, given)
    return settings


@dataclass(frozen=True)
class MotionFile:
    """A file to prepare."""

    path: Path
    file: str
    name: str
    settings: FolderSettings = field(default_factory=FolderSettings, compare=False)
    # Number of the one body that is meant, of a file of markers with several
    body: int | None = None

    @property
    def size(self) -> int:
        """Bytes of the file; 0 where a link leads nowhere or to itself."""
        return os.path.getsize(self.path) if os.path.isfile(self.path) else 0

    def reader(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options of :func:`deepphase.formats.load.load`: given ones, else those of the folder."""
        body = {} if self.body is None else {"animation": self.body}
        return {**self.settings.reader(self.path.name), **options, **body}


def find_motion_files(
    inputs: str | Path | Sequence[str | Path], root: Path | None = None
) -> list[MotionFile]:
    """All motion files among files and under folders, sorted by their relative path.

    Hidden files and archives of phases are skipped. Settings are looked for in the folder of a
    file, and above it up to the folder among `inputs`, or up to `root`.
    """
    paths = existing(inputs)
    places = [path.absolute() for path in paths]
    found: dict[Path, Path | None] = {}
    suffixes: Counter[str] = Counter()
    for place in places:
        for path in files_under(place) if place.is_dir() else [place]:
            if path == place or is_motion_file(path):
                found[path] = root or (place if place.is_dir() else None)
            suffixes[path.suffix or "without a suffix"] += 1
    if not found:
        others = ", ".join(f"{count} {suffix}" for suffix, count in suffixes.most_common(5))
        raise FormatError(
            "there are no motion files here",
            hint=f"give files of a known format ({', '.join(MOTION_FORMATS)}); this folder has "
            f"{others or 'no files'}",
            path=paths[0] if paths else None,
        )
    common = Path(os.path.commonpath([path if path.is_dir() else path.parent for path in places]))
    stems = Counter(path.stem for path in found)
    within = {path.parent: root for path, root in found.items()}
    settings = {folder: settings_in(folder, root) for folder, root in within.items()}
    motion_files = []
    for file, path in sorted((path.relative_to(common).as_posix(), path) for path in found):
        # Names of clips become file names, so they have no slashes.
        unique = stems[path.stem] == 1
        name = path.stem if unique else "_".join(PurePosixPath(file).with_suffix("").parts)
        motion_files.append(MotionFile(path, _plain(file), _plain(name), settings[path.parent]))
    return motion_files


def existing(inputs: str | Path | Sequence[str | Path]) -> list[Path]:
    """Files and folders, one or several, as paths; FormatError for the first that is missing."""
    paths = [Path(path) for path in ([inputs] if isinstance(inputs, str | Path) else inputs)]
    for path in paths:
        # Unlike Path.exists, no error for a name that is too long.
        if not os.path.exists(path):
            raise FormatError("there is no such file or folder", hint="check the path", path=path)
    return paths


def song_beside(path: Path) -> str:
    """Name of the sound file that lies beside a motion file with the same stem; empty if none."""
    names = (f"{path.stem}{suffix}" for suffix in SONG_SUFFIXES)
    # Unlike Path.is_file, no error for a name that is too long.
    return next((name for name in names if os.path.isfile(path.with_name(name))), "")


def is_motion_file(path: Path) -> bool:
    """Whether a file is motion, by its name; a CSV by its first words, a .npy by its shape."""
    name = path.name.lower()
    if path.suffix.lower() not in MOTION_FORMATS or name.endswith(_PHASES):
        return False
    if name.endswith(".npy"):
        from deepphase.formats.points import is_text_to_motion

        return is_text_to_motion(path)
    if name.endswith(".csv"):
        from deepphase.formats.markers.tables import is_motive_csv

        return is_motive_csv(path)
    return True


def files_under(root: Path) -> Iterator[Path]:
    """Files that are not hidden, of a store its JSON, by name; linked folders are entered once."""
    entered: set[str] = set()

    def leave_out(error: OSError) -> None:
        _LOG.info("left out: %s: %s", error.filename, error.strerror)

    for folder, folders, names in os.walk(root, onerror=leave_out, followlinks=True):
        # A linked folder may lead back into itself.
        real = os.path.realpath(folder)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        if STORE_JSON in names and is_store_folder(Path(folder)):
            folders.clear()
            names = [STORE_JSON]
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder) / name for name in sorted(names) if not name.startswith("."))


def is_store(path: str | Path) -> bool:
    """Whether a path is to be opened as a store: its folder, or any file of deepphase."""
    path = Path(path)
    is_motion = path.suffix.lower() in MOTION_FORMATS
    return is_store_folder(path) or (not is_motion and path.is_file() and is_array_file(path))


def is_store_folder(path: Path) -> bool:
    """Whether a folder has the JSON of a store.

    A writer that was killed between its two renames left the older store aside: it is put back.
    """
    try:
        if not os.path.lexists(path) and path.name and place_aside(path).exists():
            os.replace(place_aside(path), path)
        # A pipe would be waited for.
        if not (path / STORE_JSON).is_file():
            return False
        with (path / STORE_JSON).open("rb") as file:
            return STORE_FORMAT.encode() in file.read(100)
    except OSError:
        return False


def place_aside(path: Path) -> Path:
    """Where an older store lies while another one takes its place."""
    digest = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    return path.with_name(f"{PREFIX}{digest}.older")


def _plain(text: str) -> str:
    """The text with bytes that cannot be decoded as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def clip_targets(
    names: Sequence[str], inputs: Sequence[Path], output: Path, format: str
) -> list[Path]:
    """The file of each clip: `output` itself for a single one, else files in that folder."""
    is_file = output.suffix.lower() in MOTION_FORMATS
    if is_file and not output.is_dir():
        if len(names) > 1:
            raise ParameterError(
                f"-o names one file, but there are {len(names)} clips to write",
                hint="name a folder with -o",
                path=output,
            )
        targets = [output]
    else:
        targets = [output / f"{stem}.{format}" for stem in unique_stems(names)]
    sources = {os.path.realpath(path) for path in inputs if path.is_file()}
    folders = {Path(os.path.realpath(path)) for path in inputs if path.is_dir()}
    for target in targets:
        place = Path(os.path.realpath(target))
        if str(place) in sources or (place.is_file() and folders & set(place.parents)):
            raise ParameterError(
                "the clip would overwrite a file that is read",
                hint="choose another folder",
                path=target,
            )
    for target in targets[:1]:
        check_writable(target)
    return targets


def holds_only_songs(path: str | Path) -> bool:
    """Whether a path is a sound file, or a folder of sound files without any motion."""
    path = Path(path)
    if not path.is_dir():
        return is_song(path) and path.is_file()
    files = list(files_under(path))
    return any(map(is_song, files)) and not any(map(is_motion_file, files))


def is_song(path: Path) -> bool:
    """Whether a path is named like a sound file."""
    return path.suffix.lower() in SONG_SUFFIXES


def unique_stems(names: Iterable[str]) -> list[str]:
    """A file stem for each name, unique even where names differ in upper and lower case only."""
    stems: dict[str, str] = {}
    for name in names:
        safe = "".join(c if c.isalnum() or c in "-_.() " else "_" for c in name)
        safe = safe.encode()[:_MAX_STEM_BYTES].decode(errors="ignore").strip() or "clip"
        numbered = (f"{safe}-{number}" for number in count(2))
        stem = next(name for name in chain([safe], numbered) if name.lower() not in stems)
        stems[stem.lower()] = stem
    return list(stems.values())
