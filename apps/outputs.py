"""Outputs of commands: nothing that took work is replaced without --force."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepphase.apps.options import OptionGroup
from deepphase.corpus.store_format import is_store
from deepphase.errors import ParameterError
from deepphase.files import check_writable

# Last line of a page: hash of the command and the inputs that it was made of.
_LAST_LINE = "\n<!-- inputs: {} -->\n"
# Parameters that are no inputs: results, and settings of one and the same run.
_NO_INPUTS = ("output", "player", "terrain", "root_motion")
# A file that a command adds to where it is the output as well.
_GROWN = "editor"


@dataclass
class _Command:
    """The command that runs: its mark on pages, the file that it adds to, and its pages."""

    last_line: str
    grown: list[str]
    force: bool
    pages: set[Path] = field(default_factory=set)


_running: _Command | None = None


@contextmanager
def protected(name: str, arguments: Mapping[str, Any], *, force: bool) -> Iterator[None]:
    """Context of a command, in which the functions below refuse what it would replace.

    Without `force`, only pages are replaced: those of the same command and inputs, which are files
    and options that are texts, such as paths. Outside of such a context nothing is refused.
    """
    global _running
    given = {key: list(_texts(value)) for key, value in arguments.items() if key not in _NO_INPUTS}
    digest = hashlib.sha256(json.dumps([name, given]).encode(errors="backslashreplace"))
    grown = given.get(_GROWN, [])
    _running = own = _Command(_LAST_LINE.format(digest.hexdigest()), grown, force)
    try:
        yield
        for page in filter(Path.is_file, own.pages):
            with page.open("a") as file:
                file.write(own.last_line)
    finally:
        _running = None


def claim_folder(folder: Path) -> None:
    """Refuse, before long work, a folder that cannot be written or has another report."""
    claim_file(folder / "index.html")


def claim_file(path: Path, example: str = "file", **how: Any) -> None:
    """Refuse, before long work, a file that cannot be written or took work."""
    check_writable(path, example, **how)
    claim(path)


def claim(path: Path) -> None:
    """Refuse a file or a store that took work."""
    if _running is None:
        return
    is_page = path.suffix.lower() == ".html"
    free = _running.force or os.path.realpath(path) in _running.grown
    free = free or not (path.is_file() or is_store(path))
    if not free and not (is_page and path.read_bytes().endswith(_running.last_line.encode())):
        raise ParameterError(
            f"there is a {'page of other inputs' if is_page else 'result'} already",
            hint="choose another name with -o, or replace it with --force",
            path=path,
        )
    if is_page:
        _running.pages.add(path.absolute())


def _texts(value: Any) -> Iterator[str]:
    """The files and texts of an argument."""
    if isinstance(value, OptionGroup):
        value = [each for name, each in vars(value).items() if name not in _NO_INPUTS]
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str | Path):
        yield os.path.realpath(value) if os.path.exists(value) else str(value)
