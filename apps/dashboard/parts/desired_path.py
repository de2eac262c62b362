"""Which way is to be gone: a made path, a drawn one, or a file."""

from __future__ import annotations

import secrets
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import streamlit as st

from apps.dashboard.parts.session import session
from apps.dashboard.parts.uploads import shown_name
from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.steering.made_paths import MADE_PATHS, made_path, usual_size
from deepphase.steering.path import GroundPath, read_path

_HERE = FilePath(__file__).parent
_HTML = (
    '<div class="map"><svg></svg><div class="buttons"><button class="undo" type="button">Undo'
    '</button><button class="clear" type="button">Clear</button></div>'
    '<div class="said" aria-live="polite"></div></div>'
)
_SHOWN_POINTS = 600
# What a browser may send: it is not trusted.
_PATH_MAP_MOST_POINTS, _FARTHEST_M = 2_000, 1_000.0

_map = st.components.v2.component(
    "deepphase_path_map",
    html=_HTML,
    css=(_HERE / "path_map.css").read_text(encoding="utf-8"),
    js=(_HERE / "path_map.js").read_text(encoding="utf-8"),
)


def show_path(path: GroundPath, seconds: float, key: str) -> None:
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


def checked_points(given: Any) -> Array:
    """(points, 2) metres of what a browser sent.

    Raises ParameterError where it is no list of places on the ground.
    """
    try:
        points = np.array(given, float).reshape(-1, 2)
    except (TypeError, ValueError):
        raise ParameterError("what was drawn is no list of places", hint="draw it again") from None
    if len(points) > _PATH_MAP_MOST_POINTS or not (np.abs(points) <= _FARTHEST_M).all():
        raise ParameterError(
            f"a drawing of {len(points)} points", hint="clear the map and draw a shorter path"
        )
    return points


def drawn_path(points: Array, speed: float) -> GroundPath | None:
    """The path through drawn points at a constant speed, m/s; None where there is no way yet."""
    places = np.asarray(points, float)
    if len(places) < 2 or not np.linalg.norm(np.diff(places, axis=0), axis=1).sum() > 0.05:
        return None
    return GroundPath(np.arange(float(len(places))), places, name="drawn").at_speed(speed)


# Words -> name of a made path.
_MADE = {name.capitalize(): name for name in MADE_PATHS}
_DRAW, _FILE = "Draw", "File"
SLOWEST, FASTEST = 0.2, 8.0
SHORTEST_S, LONGEST_S, USUAL_S = 3, 60, 12
# Half the width of the map to draw on, as seconds of travel.
_HALF_S = 4.0
# An S, in seconds of travel to the left and ahead.
_EXAMPLE = np.array([[0, 0], [0, 1.5], [1, 2.7], [1.2, 3.9], [0.2, 4.6], [-1.2, 4.6], [-2.2, 3.6]])
_MOST_MEGABYTES, _MOST_POINTS = 2, 20_000


def choose_path(usual_speed: float, about: str) -> tuple[GroundPath, float] | None:
    """Draw the choosers; the path and how many seconds it is followed.

    Parameters
    ----------
    usual_speed
        m/s that suit what is steered.
    about
        Changes with what is steered: then speeds are the usual ones again.

    Returns
    -------
    None where there is no path yet; the page has said what to do.

    Raises
    ------
    ParameterError, FormatError
        Where a path is impossible or a file is none.
    """
    kind = st.segmented_control(
        "Path", [*_MADE, _DRAW, _FILE], default="Wave", required=True, key="path kind"
    )
    usual = float(np.clip(round(usual_speed, 1), SLOWEST, FASTEST))
    if kind == _FILE:
        return _of_file()
    place = st.container()
    columns = st.columns(2)
    speed = columns[0].slider(
        "Speed (m/s)", SLOWEST, FASTEST, usual, step=0.1, key=f"path speed {about}"
    )
    if kind == _DRAW:
        half = columns[1].slider(
            "Map (m)", 4, 80, int(np.clip(round(2 * _HALF_S * usual), 4, 80)), step=2,
            key=f"map {about}", help="How wide the map is",
        )  # fmt: skip
        with place:
            points = draw_path("path map", half_m=half / 2, example=np.round(_EXAMPLE * usual, 2))
        path = drawn_path(points, speed)
        if path is None:
            st.info("Draw a way on the map.", icon=":material/draw:")
            return None
        seconds = min(path.duration, float(LONGEST_S))
        st.caption(f"{path.length:.1f} m, {path.duration:.1f} s at this speed.")
        return path, max(seconds, 1.0)
    name = _MADE[kind or "Wave"]
    size = columns[1].slider(
        "Size (m)",
        1.0,
        40.0,
        round(float(np.clip(usual_size(name, speed), 1.0, 40.0)), 1),
        step=0.5,
        key=f"path size {name} {speed} {about}",
        help={"wave": "From crest to crest", "square": "Of a side", "circle": "Across"}[name],
    )  # fmt: skip
    seconds = st.slider("Seconds", SHORTEST_S, LONGEST_S, USUAL_S, key="path seconds")
    path = made_path(name, speed, float(seconds), size)
    with place:
        show_path(path, float(seconds), "path shown")
    return path, float(seconds)


def _of_file() -> tuple[GroundPath, float] | None:
    file = st.file_uploader(
        "Path (CSV)",
        type=["csv", "txt"],
        max_upload_size=_MOST_MEGABYTES,
        key="path file",
        help="Columns t (s), x and z (m); if wanted facing (rad), and labels.",
    )
    if file is None:
        st.info(
            "Choose a CSV with the columns t (s), x and z (m): +z is ahead, +x to the left.",
            icon=":material/upload_file:",
        )
        return None
    path = path_of(file.name, bytes(file.getbuffer()))
    seconds = min(path.duration, float(LONGEST_S))
    show_path(path, seconds, "path shown")
    longer = f" of {path.duration:.0f} s" if path.duration > seconds else ""
    st.caption(f"{path.length:.1f} m; {seconds:.1f} s{longer} are run.")
    return path, seconds


def path_of(name: str, content: bytes) -> GroundPath:
    """The path of a CSV that a reader sent.

    Raises
    ------
    FormatError, ParameterError
        Where it is none, or longer than a page is for.
    """
    given = shown_name(name)
    if len(content) > _MOST_MEGABYTES * 1_000_000:
        raise FormatError(f"{given}: more than {_MOST_MEGABYTES} MB", hint="send fewer points")
    # The reader's name is for showing; the file gets one of ours.
    place = session().folder / f"path-{secrets.token_hex(8)}.csv"
    place.write_bytes(content)
    try:
        path = read_path(place)
    except FormatError as error:
        fact = error.fact.removeprefix(f"{place.stem}: ")
        raise FormatError(fact, hint=error.hint, path=given, line=error.line) from None
    finally:
        place.unlink(missing_ok=True)
    if len(path.times) > _MOST_POINTS:
        raise ParameterError(
            f"{given}: {len(path.times):,} points, more than {_MOST_POINTS:,}",
            hint="send fewer: places between them are interpolated",
        )
    return GroundPath(path.times, path.positions, path.facings, path.labels, "path")
