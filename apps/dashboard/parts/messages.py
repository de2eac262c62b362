"""Messages of the pages: errors as sentences, and the progress of long work."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from deepphase.errors import DeepPhaseError
from deepphase.progress import Progress

# A bar for shorter work would only flicker.
_SHOW_AFTER_S = 0.4
# Interval between updates of a bar.
_UPDATE_S = 0.15
_OPTION = re.compile(r"(^|\s)--[a-z]")


def error_sentence(error: DeepPhaseError) -> str:
    """An error as one paragraph: its file name and line, the fact and the hint."""
    place = "" if error.path is None else f"{plain(error.path.name)}"
    if error.line is not None:
        place = f"{place}, line {error.line}" if place else f"line {error.line}"
    fact = plain(error.fact)
    text = f"{place}: {fact}." if place else f"{fact[:1].upper()}{fact[1:]}."
    hint = error.hint
    if "deepphase " not in hint:
        # Options of the command line, which no page has; whole commands can be typed.
        hint = ", ".join(part for part in hint.split(", ") if not _OPTION.search(part))
        hint = hint.removeprefix("or ")
    hint = plain(hint)
    return f"{text} {hint[:1].upper()}{hint[1:]}." if hint else text


def show_error(error: DeepPhaseError) -> None:
    """Display an error in place of the content."""
    st.error(error_sentence(error), icon=":material/error:")


def plain(text: object) -> str:
    """Escape a text from outside, so that Markdown displays it literally."""
    clean = "".join(c if c.isprintable() else " " for c in str(text))
    for sign in "\\`*_{}[]()<>#+|~$:!":
        clean = clean.replace(sign, f"\\{sign}")
    return clean


@contextmanager
def working(what: str) -> Iterator[Progress]:
    """Context with a progress callback for long work: a bar with a text and the time left.

    The bar is removed at the end. Another page or a changed setting interrupts the work.
    """
    place = st.empty()
    began = time.monotonic()
    drawn = 0.0

    def progress(step: str, done: int, total: int, words: str) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - began < _SHOW_AFTER_S or (now - drawn < _UPDATE_S and done < total):
            return
        drawn = now
        share = min(max(done / max(total, 1), 0.0), 1.0)
        left = (now - began) * (1 - share) / share if share > 0 else 0.0
        parts = [f"{what}: {step}, {done:,} of {total:,}" if total else f"{what}: {step}"]
        parts += [f"{left:.0f} s left"] if share > 0 and left >= 1 else []
        parts += [plain(words)] if words else []
        place.progress(share, text=", ".join(parts))

    try:
        yield progress
    finally:
        place.empty()
