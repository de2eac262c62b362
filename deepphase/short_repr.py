"""One-line representations of objects that hold large arrays."""

from __future__ import annotations


def short_repr(value: object, *facts: str) -> str:
    """`<Type: fact, fact>`: what a `__repr__` returns in place of the arrays.

    Parameters
    ----------
    facts
        Counts with their units, as in "22 joints"; empty ones are left out.
    """
    said = ", ".join(fact for fact in facts if fact)
    return f"<{type(value).__name__}: {said}>"


def counted(number: int, noun: str) -> str:
    """A number and its noun, as in "1 clip" and "1,204 frames"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def timed(frames: int, fps: float) -> str:
    """Frames at a rate with their duration, as in "210 frames at 60 Hz (3.50 s)"."""
    seconds = frames / fps
    duration = f"{seconds:.2f} s" if seconds < 120 else f"{seconds / 60:,.1f} min"
    return f"{counted(frames, 'frame')} at {fps:g} Hz ({duration})"
