"""One-line representations of objects that hold large arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

# Characters of a representation by fields, and of one of its values.
_LINE, _VALUE = 120, 40


def short_repr(value: object, *facts: str) -> str:
    """`<Type: fact, fact>`: what a `__repr__` returns in place of the arrays."""
    said = ", ".join(fact for fact in facts if fact)
    return f"<{type(value).__name__}: {said}>"


def brief_repr(kind: Class) -> Class:
    """Decorator of a dataclass: its representation has the shapes of arrays, and fits a line.

    Fields that have their default or are empty are left out, and so are the last ones of a long
    line.
    """

    def representation(self: Any) -> str:
        facts: list[str] = []
        for fact in _given(self):
            if len(", ".join([*facts, fact])) > _LINE:
                facts.append("...")
                break
            facts.append(fact)
        return short_repr(self, ", ".join(facts) or "defaults")

    kind.__repr__ = representation  # type: ignore[assignment, method-assign]
    return kind


def _given(value: Any) -> Iterator[str]:
    """Fields of a dataclass that have neither their default nor an empty value."""
    for item in fields(value):
        own = getattr(value, item.name)
        shape = getattr(own, "shape", None)
        if shape is not None:
            yield f"{item.name} {tuple(shape)}"
            continue
        made = None if item.default_factory is MISSING else item.default_factory()
        if own is None or own == item.default or own == made:
            continue
        if (
            isinstance(own, Mapping | Sequence)
            and not isinstance(own, str)
            and len(repr(own)) > _VALUE
        ):
            yield counted(len(own), item.name.removesuffix("s"))
        elif len(repr(own)) <= _VALUE:
            yield f"{item.name}={own!r}"
        elif not isinstance(own, str):
            yield f"{item.name}=<{type(own).__name__}>"


def counted(number: int, noun: str) -> str:
    """A number and its noun, as in "1 clip" and "1,204 frames"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def timed(frames: int, fps: float) -> str:
    """Frames at a rate with their duration, as in "210 frames at 60 Hz (3.50 s)"."""
    seconds = frames / fps
    duration = f"{seconds:.2f} s" if seconds < 120 else f"{seconds / 60:,.1f} min"
    return f"{counted(frames, 'frame')} at {fps:g} Hz ({duration})"
