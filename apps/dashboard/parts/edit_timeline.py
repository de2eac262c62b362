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


def key_timeline(
    clip: Clip, keys: list[list[int]], key: str, on_keys: Callable[[list[list[int]]], None]
) -> None:
    """Draw keys that are dragged, moved by arrow keys, added by a double click, and removed."""

    def changed() -> None:
        given = sent_keys(st.session_state[key].get("marked"), len(clip))
        if given is not None:
            on_keys(given)

    data = {
        "kind": "keys",
        "length": round(_BEYOND * len(clip)),
        "clip": len(clip),
        "fps": clip.fps,
        "marks": keys,
        "editable": True,
    }
    _component(data=data, key=key, on_marked_change=changed)


def span_timeline(
    clip: Clip,
    rows: Sequence[str],
    spans: list[list[int]],
    key: str,
    on_spans: Callable[[list[list[int]]], None] | None = None,
    *,
    single: bool = False,
) -> None:
    """Draw stretches of frames in rows; with `on_spans` they are drawn, dragged and removed."""

    def changed() -> None:
        given = sent_spans(st.session_state[key].get("marked"), len(rows), len(clip))
        if given is not None and on_spans is not None:
            on_spans(given)

    data: dict[str, Any] = {
        "kind": "spans",
        "length": len(clip),
        "fps": clip.fps,
        "rows": list(rows),
        "marks": spans,
        "editable": on_spans is not None,
        "single": single,
    }
    _component(data=data, key=key, on_marked_change=changed)


def sent_keys(given: Any, frames: int) -> list[list[int]] | None:
    """Keys that a browser sent, which is not trusted; None where they are none.

    Parameters
    ----------
    frames
        Frames of the clip.
    """
    keys = _whole_numbers(given, 2)
    if keys is None or len(keys) < 2:
        return None
    latest = round(_BEYOND * frames)
    inside = all(0 <= frame < frames and 0 <= at < latest for frame, at in keys)
    rising = all(now[0] < after[0] and now[1] < after[1] for now, after in pairwise(keys))
    return keys if inside and rising else None


def sent_spans(given: Any, rows: int, frames: int) -> list[list[int]] | None:
    """Stretches (row, first, last) that a browser sent; None where they are none."""
    spans = _whole_numbers(given, 3)
    if spans is None:
        return None
    inside = all(0 <= row < rows and 0 <= first <= last < frames for row, first, last in spans)
    return spans if inside else None


def _whole_numbers(given: Any, count: int) -> list[list[int]] | None:
    """Lists of so many whole numbers; None where something else was given."""
    if not isinstance(given, list) or len(given) > _MAX_MARKS:
        return None
    made = []
    for each in given:
        if not isinstance(each, list) or len(each) != count:
            return None
        if not all(type(value) in (int, float) and abs(value) < _LARGEST for value in each):
            return None
        made.append([int(value) for value in each])
        # A browser has one kind of number.
        if made[-1] != each:
            return None
    return made
