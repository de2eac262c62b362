"""What the pages say while they work and where something is wrong: sentences, no tracebacks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from deepphase.errors import DeepPhaseError
from deepphase.progress import Progress

# Shorter work would only flicker.
_QUIET_S = 0.4
# Between two drawings of a bar.
_EVERY_S = 0.15


def error_sentence(error: DeepPhaseError) -> str:
    """An error as one paragraph: fact, place by its name alone, and the way out."""
    place = "" if error.path is None else f"{plain(error.path.name)}"
    if error.line is not None:
        place = f"{place}, line {error.line}" if place else f"line {error.line}"
    fact = plain(error.fact)
    text = f"{place}: {fact}." if place else f"{fact[:1].upper()}{fact[1:]}."
    hint = plain(error.hint)
    return f"{text} {hint[:1].upper()}{hint[1:]}." if hint else text


def show_error(error: DeepPhaseError) -> None:
    """The error where the content would be."""
    st.error(error_sentence(error), icon=":material/error:")


def plain(text: object) -> str:
    """A text from outside as markdown shows it literally."""
    clean = "".join(c if c.isprintable() else " " for c in str(text))
    for sign in "\\`*_{}[]()<>#+|~$:!":
        clean = clean.replace(sign, f"\\{sign}")
    return clean


@contextmanager
def working(what: str) -> Iterator[Progress]:
    """A function that tells how far long work is: words, a bar, time left; gone when it is done.

    Whoever goes to another page, or changes a choice, interrupts the work.
    """
    place = st.empty()
    began = time.monotonic()
    drawn = 0.0

    def progress(step: str, done: int, total: int, words: str) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - began < _QUIET_S or (now - drawn < _EVERY_S and done < total):
            return
        drawn = now
        share = min(max(done / max(total, 1), 0.0), 1.0)
        left = (now - began) * (1 - share) / share if share > 0 else 0.0
        parts = [f"{what}: {step}, {done:,} of {total:,}"]
        parts += [f"{left:.0f} s left"] if share > 0 and left >= 1 else []
        parts += [plain(words)] if words else []
        place.progress(share, text=", ".join(parts))

    try:
        yield progress
    finally:
        place.empty()
