"""A map of the ground on which a path is shown, or drawn by mouse, touch or keys."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

import numpy as np
import streamlit as st

from deepphase.errors import ParameterError
from deepphase.steering.path import Path

Array = np.ndarray

_HERE = FilePath(__file__).parent
_HTML = (
    '<div class="map"><svg></svg><div class="buttons"><button class="undo" type="button">Undo'
    '</button><button class="clear" type="button">Clear</button></div>'
    '<div class="said" aria-live="polite"></div></div>'
)
_SHOWN_POINTS = 600
# What a browser may send: it is not trusted.
_MOST_POINTS, _FARTHEST_M = 2_000, 1_000.0

_map = st.components.v2.component(
    "deepphase_path_map",
    html=_HTML,
    css=(_HERE / "path_map.css").read_text(encoding="utf-8"),
    js=(_HERE / "path_map.js").read_text(encoding="utf-8"),
)


def show_path(path: Path, seconds: float, key: str) -> None:
    """The part of a path that so many seconds take."""
    times = np.linspace(path.times[0], path.times[0] + seconds, _SHOWN_POINTS)
    places = path.positions_at(times)
    words = f"Map of the path: {path.name}, {path.duration:.0f} s"
    _map(
        key=key,
        data={"points": np.round(places, 3).tolist(), "editable": False, "words": words},
    )


def draw_path(key: str, *, half_m: float, example: Array) -> Array:
    """(points, 2) metres that the reader drew; the example until something is drawn.

    Parameters
    ----------
    half_m
        Half the width of the map, metres.
    example
        (points, 2) metres.

    Raises
    ------
    ParameterError
        Where what came is no list of places.
    """
    kept = f"{key} points"
    known = st.session_state.setdefault(kept, np.asarray(example, float).tolist())
    answer = _map(
        key=key,
        data={"points": known, "editable": True, "half": half_m, "mark": "drawing"},
        default={"points": known},
        on_points_change=lambda: None,
    )
    drawn = checked_points(answer.points)
    st.session_state[kept] = drawn.tolist()
    return drawn


def checked_points(told: Any) -> Array:
    """(points, 2) metres of what a browser sent.

    Raises ParameterError where it is no list of places on the ground.
    """
    try:
        points = np.array(told, float).reshape(-1, 2)
    except (TypeError, ValueError):
        raise ParameterError("what was drawn is no list of places", hint="draw it again") from None
    if len(points) > _MOST_POINTS or not (np.abs(points) <= _FARTHEST_M).all():
        raise ParameterError(
            f"a drawing of {len(points)} points", hint="clear the map and draw a shorter path"
        )
    return points


def drawn_path(points: Array, speed: float) -> Path | None:
    """The path through drawn points at a constant speed, m/s; None where there is no way yet."""
    places = np.asarray(points, float)
    if len(places) < 2 or not np.linalg.norm(np.diff(places, axis=0), axis=1).sum() > 0.05:
        return None
    return Path(np.arange(float(len(places))), places, name="drawn").at_speed(speed)
