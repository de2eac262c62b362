"""Files that can be steered in the live page: controllers and matchers."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from deepphase.apps.live.asset import Weights, controller_asset
from deepphase.apps.live.matcher_asset import matcher_asset
from deepphase.controllers.runtime.controller import FORMAT as CONTROLLER_FORMAT
from deepphase.controllers.runtime.controller import Controller
from deepphase.corpus.motion_files import MAX_LISTED_FILES, files_under
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.formats.array_file import is_array_file, read_header
from deepphase.matching.database.file import FORMAT as DATABASE_FORMAT
from deepphase.matching.learned.matcher import FORMAT as MATCHER_FORMAT
from deepphase.matching.learned.matcher import Matcher
from deepphase.shipped import SHIPPED

# Shipped files, the first of which a page opens with.
_CHARACTERS = ("person", "dog")
_HINT = "give a controller, a matcher, or a folder of them"


def is_live_source(path: Path) -> bool:
    """Whether a file can be steered in the live page, by its header."""
    return _format(path) in (CONTROLLER_FORMAT, MATCHER_FORMAT)


def _format(path: Path) -> str:
    """The format in a file's header; empty for other files."""
    try:
        # A named pipe would not answer.
        is_ours = path.is_file() and is_array_file(path)
        return str(read_header(path)["format"]) if is_ours else ""
    except DeepPhaseError:
        return ""


def live_sources(path: Path | None) -> dict[str, Path]:
    """Name -> file that can be steered, at a path or in a folder; without one the shipped ones."""
    if path is None:
        return {SHIPPED[name].title: SHIPPED[name].path for name in _CHARACTERS}
    if not path.exists():
        raise FormatError("there is no such file or folder", hint=_HINT, path=path)
    if path.is_file():
        if _format(path) == DATABASE_FORMAT:
            raise FormatError(
                "a motion database is not played by the page, which has controllers and matchers",
                hint=f"deepphase train matching {path} -o {path.with_suffix('.matcher')}",
                path=path,
            )
        if not is_live_source(path):
            raise FormatError("not a file that can be steered", hint=_HINT, path=path)
        return {path.name: path}
    found = [each for each in islice(files_under(path), MAX_LISTED_FILES) if is_live_source(each)]
    if not found:
        raise FormatError("no file in this folder can be steered", hint=_HINT, path=path)
    return {each.relative_to(path).as_posix(): each for each in found}


def asset_of(path: Path, weights: Weights = "float16") -> bytes:
    """The live asset of a file; `weights` is the type of a controller's."""
    if path.is_dir():
        raise FormatError("this is a folder, not a file", hint="give one of its files", path=path)
    (file,) = live_sources(path).values()
    if read_header(file)["format"] == MATCHER_FORMAT:
        return matcher_asset(Matcher.load(file))
    return controller_asset(Controller.load(file), weights=weights)
