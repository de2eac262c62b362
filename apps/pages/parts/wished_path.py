"""Which way is to be gone: a made path, a drawn one, or a file."""

from __future__ import annotations

import secrets

import numpy as np
import streamlit as st

from apps.pages.parts.intake import shown_name
from apps.pages.parts.path_map import draw_path, drawn_path, show_path
from apps.pages.parts.session import session
from deepphase.errors import FormatError, ParameterError
from deepphase.steering.made_paths import MADE_PATHS, made_path, usual_size
from deepphase.steering.path import Path, read_path

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


def choose_path(usual_speed: float, about: str) -> tuple[Path, float] | None:
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


def _of_file() -> tuple[Path, float] | None:
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


def path_of(name: str, content: bytes) -> Path:
    """The path of a CSV that a reader sent.

    Raises
    ------
    FormatError, ParameterError
        Where it is none, or longer than a page is for.
    """
    told = shown_name(name)
    if len(content) > _MOST_MEGABYTES * 1_000_000:
        raise FormatError(f"{told}: more than {_MOST_MEGABYTES} MB", hint="send fewer points")
    # The reader's name is for showing; the file gets one of ours.
    place = session().folder / f"path-{secrets.token_hex(8)}.csv"
    place.write_bytes(content)
    try:
        path = read_path(place)
    except FormatError as error:
        fact = error.fact.removeprefix(f"{place.stem}: ")
        raise FormatError(fact, hint=error.hint, path=told, line=error.line) from None
    finally:
        place.unlink(missing_ok=True)
    if len(path.times) > _MOST_POINTS:
        raise ParameterError(
            f"{told}: {len(path.times):,} points, more than {_MOST_POINTS:,}",
            hint="send fewer: places between them are interpolated",
        )
    return Path(path.times, path.positions, path.facings, path.labels, "path")
