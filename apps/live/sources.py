"""Files that can be steered in the live page: controllers, motion databases and matchers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from deepphase.apps.live.asset import Weights, live_asset
from deepphase.corpus.motion_files import MAX_LISTED_FILES, files_under
from deepphase.errors import DeepPhaseError, FormatError, ParameterError
from deepphase.formats.array_file import is_array_file, read_header
from deepphase.shipped import SHIPPED

if TYPE_CHECKING:
    from deepphase.steering.run import Runner, RunnerSource

# Shipped files, the first of which a page opens with.
_CHARACTERS = ("person", "dog")
_HINT = "give a controller, a motion database, a matcher, or a folder of them"


def _load_controller(path: Path, weights: Weights) -> bytes:
    from deepphase.controllers.runtime.controller import Controller

    return live_asset(Controller.load(path), weights=weights)


def _load_database(path: Path, weights: Weights) -> bytes:
    from deepphase.matching.database.database import MotionDatabase

    return live_asset(MotionDatabase.load(path), weights=weights)


def _load_matcher(path: Path, weights: Weights) -> bytes:
    from deepphase.apps.live.matcher_asset import matcher_asset
    from deepphase.matching.learned.matcher import Matcher

    return matcher_asset(Matcher.load(path), path.stem)


# Format of a file -> its asset.
_LOADERS: dict[str, Callable[[Path, Weights], bytes]] = {
    "deepphase.controller": _load_controller,
    "deepphase.motion_database": _load_database,
    "deepphase.matcher": _load_matcher,
}


def is_live_source(path: Path) -> bool:
    """Whether a file can be steered in the live page, by its header."""
    try:
        # A named pipe would not answer.
        return path.is_file() and is_array_file(path) and read_header(path)["format"] in _LOADERS
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


def _run_controller(path: Path) -> RunnerSource[Runner]:
    from deepphase.controllers.runtime.controller import Controller
    from deepphase.controllers.runtime.start import CharacterSource

    return CharacterSource(Controller.load(path))


def _run_database(path: Path) -> RunnerSource[Runner]:
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.player.source import PlayerSource

    return PlayerSource.of_database(MotionDatabase.load(path).with_kinds())


def _run_matcher(path: Path) -> RunnerSource[Runner]:
    from deepphase.matching.learned.matcher import Matcher

    return Matcher.load(path).source()


# Format of a file -> its characters.
_RUNNERS: dict[str, Callable[[Path], RunnerSource[Runner]]] = {
    "deepphase.controller": _run_controller,
    "deepphase.motion_database": _run_database,
    "deepphase.matcher": _run_matcher,
}


def runner_source(path: Path) -> RunnerSource[Runner]:
    """Characters of a file, to be steered by a program.

    Raises
    ------
    FormatError
        If the file cannot be steered.
    """
    (file,) = live_sources(path).values()
    return _RUNNERS[read_header(file)["format"]](file)


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
    (source,) = live_sources(path).values()
    return _LOADERS[read_header(source)["format"]](source, weights)
