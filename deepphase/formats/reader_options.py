"""Options of readers: those of other formats are ignored, since folders mix formats."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

from deepphase.motion.clip import Clip

Clips = TypeVar("Clips", Clip, tuple[Clip, ...])


def option_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The options of a reader or writer: its keyword-only parameters."""
    parameters = inspect.signature(function).parameters.items()
    return tuple(name for name, each in parameters if each.kind is each.KEYWORD_ONLY)


def call_reader(
    reader: Callable[..., Clips], path: str | Path, options: Mapping[str, Any], files: str
) -> Clips:
    """Read with the options that a reader has; notes in the clips name the others."""
    known = option_names(reader)
    read = reader(path, **{name: value for name, value in options.items() if name in known})
    # False and None are defaults, not options that were ignored.
    ignored = [
        name for name, value in options.items() if name not in known and value not in (None, False)
    ]
    notes = tuple(f"{name} {options[name]} does not apply to {files}" for name in ignored)
    clips: Any = read
    if isinstance(clips, Clip):
        return cast(Clips, _with_notes(clips, notes))
    return cast(Clips, tuple(_with_notes(clip, notes) for clip in clips))


def _with_notes(clip: Clip, notes: tuple[str, ...]) -> Clip:
    return replace(clip, source=replace(clip.source, notes=(*clip.source.notes, *notes)))
