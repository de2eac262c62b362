"""Motion files in and out, by their suffix."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.bvh import load_bvh
from deepphase.formats.bvh_writer import save_bvh
from deepphase.motion.clip import Clip


@dataclass(frozen=True)
class MotionFormat:
    """A format of motion files: what it is called, and what reads and writes it."""

    name: str
    load: Callable[..., Clip]
    save: Callable[..., None]


# By suffix, in small letters.
MOTION_FORMATS: dict[str, MotionFormat] = {
    ".bvh": MotionFormat("BVH motion capture", load_bvh, save_bvh),
}


def load(path: str | Path, **options: Any) -> Clip:
    """Read a motion file; its suffix tells the format, the options are its reader's.

    Raises
    ------
    FormatError
        Where the suffix is unknown (the hint lists the known ones) or the file is damaged.
    ParameterError
        Where the format's reader has no such option.
    """
    reader = _format_of(path).load
    return _called(reader, path, options, path)


def save(clip: Clip, path: str | Path, **options: Any) -> None:
    """Write a motion file; its suffix tells the format, the options are its writer's.

    Raises
    ------
    FormatError
        Where the suffix is unknown (the hint lists the known ones) or the file cannot be written.
    ParameterError
        Where the format's writer has no such option.
    """
    _called(_format_of(path).save, path, options, clip, path)


def _format_of(path: str | Path) -> MotionFormat:
    suffix = Path(path).suffix
    known = MOTION_FORMATS.get(suffix.lower())
    if known is None:
        formats = ", ".join(f"{suffix} ({kind.name})" for suffix, kind in MOTION_FORMATS.items())
        raise FormatError(
            f"an unknown kind of motion file, {suffix or 'without a suffix'}",
            hint=f"known: {formats}",
            path=path,
        )
    return known


def _called(
    function: Callable[..., Any], path: str | Path, options: dict[str, Any], *values: Any
) -> Any:
    known = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    wrong = next((name for name in options if name not in known), None)
    if wrong is not None:
        raise ParameterError(
            f"{Path(path).suffix} files have no option {wrong!r}",
            hint=f"options: {', '.join(known)}",
            path=path,
        )
    return function(*values, **options)
