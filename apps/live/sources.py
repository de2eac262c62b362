"""Files that can be steered in the live page: controllers, motion databases and matchers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

from deepphase.apps.live.asset import Weights, live_asset
from deepphase.apps.live.matcher_asset import matcher_asset
from deepphase.controllers.runtime.controller import FORMAT as CONTROLLER_FORMAT
from deepphase.controllers.runtime.controller import Controller
from deepphase.corpus.motion_files import MAX_LISTED_FILES, files_under
from deepphase.errors import DeepPhaseError, FormatError, ParameterError
from deepphase.formats.array_file import is_array_file, read_header
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.file import FORMAT as DATABASE_FORMAT
from deepphase.matching.learned.matcher import FORMAT as MATCHER_FORMAT
from deepphase.matching.learned.matcher import Matcher
from deepphase.shipped import SHIPPED

# Shipped files, the first of which a page opens with.
_CHARACTERS = ("person", "dog")
_HINT = "give a controller, a motion database, a matcher, or a folder of them"


# Format of a file -> the function that opens it.
_OPENERS: dict[str, Callable[[Path], Controller | MotionDatabase | Matcher]] = {
    CONTROLLER_FORMAT: Controller.load,
    DATABASE_FORMAT: MotionDatabase.load,
    MATCHER_FORMAT: Matcher.load,
}


def is_live_source(path: Path) -> bool:
    """Whether a file can be steered in the live page, by its header."""
    try:
        # A named pipe would not answer.
        return path.is_file() and is_array_file(path) and read_header(path)["format"] in _OPENERS
    except DeepPhaseError:
        return False


def live_sources(path: Path | None) -> dict[str, Path]:
    """Name -> file that can be steered.

    Parameters
    ----------
    path
        A file, or a folder, whose files are named by their paths in it, sorted. None for the
        shipped characters, by their titles.

    Raises
    ------
    FormatError
        If there is none.
    """
    if path is None:
        return {SHIPPED[name].title: SHIPPED[name].path for name in _CHARACTERS}
    if not path.exists():
        raise FormatError("there is no such file or folder", hint=_HINT, path=path)
    if path.is_file():
        if not is_live_source(path):
            raise FormatError("not a file that can be steered", hint=_HINT, path=path)
        return {path.name: path}
    found = [each for each in islice(files_under(path), MAX_LISTED_FILES) if is_live_source(each)]
    if not found:
        raise FormatError("no file in this folder can be steered", hint=_HINT, path=path)
    return {each.relative_to(path).as_posix(): each for each in found}


def file_or_shipped(path: Path) -> Path:
    """A file, or that of the shipped character of this name where there is no such file."""
    name = str(path)
    return SHIPPED[name].path if name in _CHARACTERS and not path.exists() else path


def _opened(path: Path) -> tuple[Path, Controller | MotionDatabase | Matcher]:
    (file,) = live_sources(path).values()
    return file, _OPENERS[read_header(file)["format"]](file)


def check_walks_on_ground(path: Path) -> None:
    """Check that characters of a file can leave the flat floor.

    Raises
    ------
    ParameterError
        If they have a ball.
    """
    header = read_header(path)
    if header.get("config", {}).get("schema", {}).get("ball"):
        raise ParameterError(
            "a ball is only possible on flat ground", hint="leave out --terrain", path=path
        )


def asset_of(path: Path, weights: Weights = "float16") -> bytes:
    """The live asset of a file.

    Parameters
    ----------
    weights
        Type of a network's weights, or of a database's rotations; see `live_asset`.

    Raises
    ------
    FormatError
        If the file cannot be steered.
    """
    if path.is_dir():
        raise FormatError("this is a folder, not a file", hint="give one of its files", path=path)
    file, opened = _opened(path)
    if isinstance(opened, Matcher):
        return matcher_asset(opened, file.stem)
    return live_asset(opened, weights=weights)
