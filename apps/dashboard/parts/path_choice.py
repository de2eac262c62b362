"""Choosers of a path on the ground: made by formula, drawn on a map, or of a file."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.session import safe_name, session
from deepphase.apps.dashboard.parts.widgets import choose_one
from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.steering.path import MADE_PATHS, GroundPath, made_path, read_path, usual_size
from deepphase.viewer.bundle import component_script

# Words -> name of a made path, and the meaning of its size.
_MADE = {name.capitalize(): name for name in MADE_PATHS}
_SIZES = {"wave": "Distance between crests", "square": "Side length", "circle": "Diameter"}
_DRAW, _FILE = "Draw", "File"
_MIN_SPEED, _MAX_SPEED = 0.2, 8.0
_MIN_SIZE, _MAX_SIZE = 1.0, 40.0
_MIN_S, _MAX_S, _DEFAULT_S = 3, 60, 12
# Width of the map to draw on, as seconds of travel, and its limits in metres.
_WIDTH_S, _MIN_WIDTH_M, _MAX_WIDTH_M = 8.0, 4, 80
# An S, in seconds of travel to the left and forward.
_EXAMPLE = np.array([[0, 0], [0, 1.5], [1, 2.7], [1.2, 3.9], [0.2, 4.6], [-1.2, 4.6], [-2.2, 3.6]])
_MAX_FILE_MB, _MAX_FILE_POINTS = 2, 20_000
# Limits of what a browser may send as a drawing, and the shortest path.
_MAX_DRAWN_POINTS, _MAX_DISTANCE_M, _SHORTEST_M = 2_000, 1_000.0, 0.05
# Points that the map of a path is drawn with.
_MAP_POINTS = 600

_HTML = (
    '<div class="map"><svg></svg><div class="buttons"><button class="undo" type="button">Undo'
    '</button><button class="clear" type="button">Clear</button></div>'
    '<div class="status" aria-live="polite"></div></div>'
)
_map = st.components.v2.component(
    "deepphase_path_map",
    html=_HTML,
    css=(FilePath(__file__).parent / "path_map.css").read_text(encoding="utf-8"),
    js=component_script("input/path_map.js"),
)


def choose_path(usual_speed: float, key: str) -> tuple[GroundPath, float] | None:
    """Draw the choosers of a path; `usual_speed` in m/s is the speed at first.

    Returns the path and for how many seconds it is followed, or None while there is no path; the
    page then says what to do.
    """
    kind = choose_one("Path", [*_MADE, _DRAW, _FILE], default="Wave", key="path kind")
    if kind == _FILE:
        return _upload_path()
    usual = float(np.clip(round(usual_speed, 1), _MIN_SPEED, _MAX_SPEED))
    place = st.container()
    columns = st.columns(2)
    speed = columns[0].slider(
        "Speed (m/s)", _MIN_SPEED, _MAX_SPEED, usual, step=0.1, key=f"path speed {key}"
    )
    if kind == _DRAW:
        width = columns[1].slider(
            "Map (m)", _MIN_WIDTH_M, _MAX_WIDTH_M,
            int(np.clip(round(_WIDTH_S * usual), _MIN_WIDTH_M, _MAX_WIDTH_M)), step=2,
            key=f"map {key}", help="Width of the map",
        )  # fmt: skip
        with place:
            points = _draw_points("path map", width / 2, np.round(_EXAMPLE * usual, 2))
        path = drawn_path(points, speed)
        if path is None:
            st.info("Draw a path on the map.", icon=":material/draw:")
            return None
        st.caption(f"{path.length:.1f} m, {path.duration:.1f} s at this speed.")
        return path, max(min(path.duration, float(_MAX_S)), 1.0)
    name = _MADE[kind]
    size = columns[1].slider(
        "Size (m)", _MIN_SIZE, _MAX_SIZE,
        round(float(np.clip(usual_size(name, speed), _MIN_SIZE, _MAX_SIZE)), 1), step=0.5,
        key=f"path size {name} {speed} {key}", help=_SIZES[name],
    )  # fmt: skip
    seconds = float(st.slider("Seconds", _MIN_S, _MAX_S, _DEFAULT_S, key="path seconds"))
    path = made_path(name, speed, seconds, size)
    with place:
        _show_path(path, seconds)
    return path, seconds


def _show_path(path: GroundPath, seconds: float) -> None:
    """Draw the first `seconds` of a path on a map."""
    places = path.positions_at(np.linspace(path.times[0], path.times[0] + seconds, _MAP_POINTS))
    words = f"Map of the path: {path.name}, {path.duration:.0f} s"
    data = {"points": np.round(places, 3).tolist(), "editable": False, "words": words}
    _map(key="path shown", data=data)


def _draw_points(key: str, half_m: float, example: Array) -> Array:
    """(points, 2) metres that the user draws on a map; the example until something is drawn."""
    state = f"{key} points"
    points = st.session_state.setdefault(state, example.tolist())
    answer = _map(
        key=key,
        data={"points": points, "editable": True, "half": half_m, "mark": "drawing"},
        default={"points": points},
        on_points_change=lambda: None,
    )
    drawn = checked_points(answer.points)
    st.session_state[state] = drawn.tolist()
    return drawn


def checked_points(given: Any) -> Array:
    """Convert what a browser sent to (points, 2) metres."""
    try:
        points = np.array(given, float).reshape(-1, 2)
    except (TypeError, ValueError):
        raise ParameterError("the drawing is not a list of points", hint="draw it again") from None
    if len(points) > _MAX_DRAWN_POINTS or not (np.abs(points) <= _MAX_DISTANCE_M).all():
        raise ParameterError(
            f"the drawing has {len(points)} points, with {_MAX_DRAWN_POINTS:,} points and "
            f"{_MAX_DISTANCE_M:,.0f} m as limits",
            hint="clear the map and draw a shorter path",
        )
    return points


def drawn_path(points: Array, speed: float) -> GroundPath | None:
    """The path through (points, 2) metres at a constant speed, m/s; None if it is too short."""
    length = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    if len(points) < 2 or not length > _SHORTEST_M:
        return None
    return GroundPath(np.arange(float(len(points))), points, name="drawn").at_speed(speed)


def read_path_upload(name: str, content: bytes) -> GroundPath:
    """Read the path of an uploaded CSV file."""
    shown = safe_name(name)
    if len(content) > _MAX_FILE_MB * 1_000_000:
        raise FormatError(
            f"{shown}: the file has more than {_MAX_FILE_MB} MB", hint="upload fewer points"
        )
    with session().uploaded(content, ".csv", name) as place:
        path = read_path(place)
    if len(path.times) > _MAX_FILE_POINTS:
        raise ParameterError(
            f"{shown}: the path has {len(path.times):,} points, more than {_MAX_FILE_POINTS:,}",
            hint="upload fewer points; positions between them are interpolated",
        )
    return GroundPath(path.times, path.positions, path.facings, path.labels, "path")


def _upload_path() -> tuple[GroundPath, float] | None:
    file = st.file_uploader(
        "Path (CSV)",
        type=["csv", "txt"],
        max_upload_size=_MAX_FILE_MB,
        key="path file",
        help="Columns t (s), x and z (m); facing (rad) and labels are optional.",
    )
    if file is None:
        st.info(
            "Choose a CSV with the columns t (s), x and z (m): +z is forward, +x to the left.",
            icon=":material/upload_file:",
        )
        return None
    path = read_path_upload(file.name, bytes(file.getbuffer()))
    seconds = min(path.duration, float(_MAX_S))
    _show_path(path, seconds)
    whole = f" of {path.duration:.0f} s" if path.duration > seconds else ""
    st.caption(f"{path.length:.1f} m; {seconds:.1f} s{whole} are run.")
    return path, seconds
