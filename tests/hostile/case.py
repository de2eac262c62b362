"""One odd or bad file and the verdict on it."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deepphase.errors import FormatError
from deepphase.formats.load import load
from deepphase.motion.clip import Clip

_LONGEST_MESSAGE = 400
_FREE_BYTES, _LARGEST_RATIO = 4_000_000, 20


@dataclass(frozen=True)
class Bad:
    """A file that must be refused."""

    content: bytes | str
    # A part of the error's fact, and the line that it names; None where none is asked for
    reason: str
    line: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Odd:
    """A file that must be read, as a clip that is right, with a note of which a part is given."""

    content: bytes | str
    right: Callable[[Clip], bool]
    note: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


def names(*expected: str) -> Callable[[Clip], bool]:
    """Whether a clip's joints have these names."""
    return lambda clip: clip.skeleton.names == expected


def check(case: Bad | Odd, path: Path) -> None:
    """Write a case's file and hold the reader to its verdict; no warning may reach the user."""
    content = case.content
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if isinstance(case, Odd):
            clip = load(path, **case.options)
            assert case.right(clip)
            assert any(case.note in note for note in clip.source.notes) or not case.note
            return
        tracemalloc.start()
        try:
            with pytest.raises(FormatError) as caught:
                load(path, **case.options)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    # Nothing is allocated for what a file only claims.
    assert peak < _FREE_BYTES + _LARGEST_RATIO * path.stat().st_size
    assert case.reason in caught.value.fact, caught.value.fact
    assert caught.value.path == path
    assert len(str(caught.value)) < _LONGEST_MESSAGE + len(str(path))
    if case.line is not None:
        assert caught.value.line == case.line
