"""The timeline of page Edit: keys that are dragged to other times, and stretches of frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import streamlit as st

from deepphase.motion.clip import Clip
from deepphase.viewer.bundle import component_script

_component = st.components.v2.component(
    "deepphase_edit_timeline",
    html='<div class="timeline"><svg></svg><div class="status" aria-live="polite"></div></div>',
    css=Path(__file__).with_suffix(".css").read_text(encoding="utf-8"),
    js=component_script("timeline/edit_timeline.js"),
)
# Keys may stand later than the clip ends, by this factor of its frames.
_BEYOND = 1.25
# Marks that a browser may send, and their largest number.
_MAX_MARKS, _LARGEST = 2_000, 1e9
Marks = list[list[int]]


def key_timeline(clip: Clip, keys: Marks, key: str, on_keys: Callable[[Marks], None]) -> None:
    """Draw keys that are dragged, moved by arrow keys, added by a double click, and removed."""
    length = round(_BEYOND * len(clip))
    data = {"kind": "keys", "length": length, "clip": len(clip), "marks": keys, "editable": True}
    _timeline(clip, data, key, lambda given: sent_keys(given, len(clip)), on_keys)


def span_timeline(
    clip: Clip,
    rows: Sequence[str],
    spans: Marks,
    key: str,
    on_spans: Callable[[Marks], None] | None = None,
    *,
    single: bool = False,
) -> None:
    """Draw stretches of frames in rows; with `on_spans` they are drawn, dragged and removed."""
    data: dict[str, Any] = {"kind": "spans", "length": len(clip), "rows": list(rows)}
    data |= {"marks": spans, "editable": on_spans is not None, "single": single}
    _timeline(clip, data, key, lambda given: sent_spans(given, len(rows), len(clip)), on_spans)


def _timeline(
    clip: Clip,
    data: dict[str, Any],
    key: str,
    check: Callable[[Any], Marks | None],
    on_marks: Callable[[Marks], None] | None,
) -> None:
    def changed() -> None:
        marks = check(st.session_state[key].get("marked"))
        if marks is not None and on_marks is not None:
            on_marks(marks)

    _component(data={**data, "fps": clip.fps}, key=key, on_marked_change=changed)


def sent_keys(given: Any, frames: int) -> Marks | None:
    """Keys of a clip of so many frames that a browser sent; None where they are none."""
    keys = _whole_numbers(given, 2)
    if keys is None or len(keys) < 2:
        return None
    latest = round(_BEYOND * frames)
    inside = all(0 <= frame < frames and 0 <= at < latest for frame, at in keys)
    rising = all(now[0] < after[0] and now[1] < after[1] for now, after in pairwise(keys))
    return keys if inside and rising else None


def sent_spans(given: Any, rows: int, frames: int) -> Marks | None:
    """Stretches (row, first, last) that a browser sent; None where they are none."""
    spans = _whole_numbers(given, 3)
    if spans is None:
        return None
    inside = all(0 <= row < rows and 0 <= first <= last < frames for row, first, last in spans)
    return spans if inside else None


def _whole_numbers(given: Any, count: int) -> Marks | None:
    """Lists of so many whole numbers from a browser, which is not trusted; None otherwise."""
    if not isinstance(given, list) or len(given) > _MAX_MARKS:
        return None
    marks = []
    for mark in given:
        if not isinstance(mark, list) or len(mark) != count:
            return None
        if not all(type(value) in (int, float) and abs(value) < _LARGEST for value in mark):
            return None
        marks.append([int(value) for value in mark])
        # A browser has one kind of number.
        if marks[-1] != mark:
            return None
    return marks
