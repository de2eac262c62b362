"""Files that the live page is made of: characters and bodies. Nothing here imports PyTorch."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from deepphase.corpus.motion_files import MAX_LISTED_FILES, files_under
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.formats.array_file import is_array_file, read_header
from deepphase.shipped import SHIPPED

_HINT = "give a controller, a matcher, or a folder of them"
_MAX_BODY_BYTES = 200_000_000


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
        return {SHIPPED[name].title: SHIPPED[name].path for name in ("person", "dog")}
    steered = ("deepphase.controller", "deepphase.matcher")
    if path.is_file():
        if _format(path) not in steered:
            raise FormatError("not a file that can be steered", hint=_HINT, path=path)
        return {path.name: path}
    files = islice(files_under(path), MAX_LISTED_FILES)
    found = {each.relative_to(path).as_posix(): each for each in files if _format(each) in steered}
    if not found:
        raise FormatError("no file in this folder can be steered", hint=_HINT, path=path)
    return found


def read_glb(path: Path) -> bytes:
    """The content of a body's file; FormatError where it is none."""
    try:
        if path.stat().st_size > _MAX_BODY_BYTES:
            raise FormatError(
                f"a body has at most {_MAX_BODY_BYTES / 1e6:.0f} MB",
                hint="use smaller textures",
                path=path,
            )
        content = path.read_bytes()
    except OSError as error:
        raise FormatError(f"this is not readable: {error.strerror}", path=path) from error
    if content[:8] != b"glTF\x02\0\0\0":
        raise FormatError("this is not a glb file", hint="export a binary glTF 2.0 file", path=path)
    return content
