"""Choosers of page Control: the path, the label, the number of characters and the settings."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.messages import plain
from deepphase.apps.dashboard.parts.session import safe_name, session
from deepphase.apps.dashboard.parts.steerables import OpenController, OpenMatching
from deepphase.apps.dashboard.parts.steered_runs import MAX_CHARACTER_S, SteeringRequest
from deepphase.arrays import Array
from deepphase.controllers.runtime.frame import BLENDS, CharacterSettings
from deepphase.errors import FormatError, ParameterError
from deepphase.matching.player.settings import MomentFilter, PlayerSettings
from deepphase.steering.path import MADE_PATHS, GroundPath, made_path, read_path, usual_size
from deepphase.viewer.bundle import component_script

_MAX_CHARACTERS, _MAX_SEED = 12, 2**31 - 1
# Blends: that of one's own numbers, and that which is chosen at first, as in `CharacterSettings`.
_OWN, _USUAL = "own", "balanced"
# Up to this many values of a label are buttons; more are a list.
_MAX_BUTTONS = 6
# Labels of clips that are offered as filters.
_MAX_LABELS = 2
# Words -> name of a made path.
_MADE = {name.capitalize(): name for name in MADE_PATHS}
_DRAW, _FILE = "Draw", "File"
_MIN_SPEED, _MAX_SPEED = 0.2, 8.0
_MIN_S, _MAX_S, _DEFAULT_S = 3, 60, 12
# Half the width of the map to draw on, as seconds of travel.
_HALF_WIDTH_S = 4.0
# An S, in seconds of travel to the left and forward.
_EXAMPLE = np.array([[0, 0], [0, 1.5], [1, 2.7], [1.2, 3.9], [0.2, 4.6], [-1.2, 4.6], [-2.2, 3.6]])
_MAX_FILE_MB, _MAX_FILE_POINTS = 2, 20_000
# Limits of what a browser may send as a drawing.
_MAX_DRAWN_POINTS, _MAX_DISTANCE_M = 2_000, 1_000.0
# Points that the map of a path is drawn with.
_MAP_POINTS = 600

_HERE = FilePath(__file__).parent
_HTML = (
    '<div class="map"><svg></svg><div class="buttons"><button class="undo" type="button">Undo'
    '</button><button class="clear" type="button">Clear</button></div>'
    '<div class="status" aria-live="polite"></div></div>'
)
_map = st.components.v2.component(
    "deepphase_path_map",
    html=_HTML,
    css=(_HERE / "path_map.css").read_text(encoding="utf-8"),
    js=component_script("input/path_map.js"),
)


def choose_run(opened: OpenController | OpenMatching, id: str) -> SteeringRequest | None:
    """Draw the choosers of label, path and settings.

    Returns
    -------
    The request, or None while there is no path; the page then says what to do.
    """
    if isinstance(opened, OpenController):
        labels = _choose_label(opened, id)
        usual_speed = opened.speed(labels[opened.label][0] if labels else None)
    else:
        labels = _choose_labels(opened, id)
        usual_speed = opened.speed(labels)
    desired = choose_path(usual_speed, f"{id} {labels}")
    if isinstance(opened, OpenController):
        biases = _choose_blend()
    with st.expander("More", icon=":material/tune:"):
        limit = _MAX_CHARACTERS
        if desired is not None:
            limit = max(1, min(limit, int(MAX_CHARACTER_S // desired[1])))
        characters = 1
        if limit > 1:
            characters = st.slider(
                "Characters", 1, limit, 1, key=f"characters {limit}",
                help="They move side by side, each on its own copy of the path. The product of "
                f"seconds and characters is limited to {MAX_CHARACTER_S:g}.",
            )  # fmt: skip
        seed = st.number_input(
            "Seed", 0, _MAX_SEED, 0, key="run seed",
            help="Random seed for the start poses of characters 2 to N and for stochastic networks",
        )  # fmt: skip
        foot_lock = st.toggle("Lock feet on the ground", True, key="hold feet")
        settings: CharacterSettings | PlayerSettings
        if isinstance(opened, OpenController):
            settings = CharacterSettings(
                position_bias=biases[0], direction_bias=biases[1], foot_ik=foot_lock
            )
        else:
            settings = _choose_player_settings(foot_lock)
    if desired is None:
        return None
    path, seconds = desired
    return SteeringRequest(path, seconds, characters, int(seed), labels, settings)


def choose_path(usual_speed: float, key: str) -> tuple[GroundPath, float] | None:
    """Draw the choosers of the path.

    Parameters
    ----------
    usual_speed
        m/s, the default speed.

    Returns
    -------
    The path and for how many seconds it is followed, or None while there is no path; the page
    then says what to do.
    """
    kind = st.segmented_control(
        "Path", [*_MADE, _DRAW, _FILE], default="Wave", required=True, key="path kind"
    )
    usual = float(np.clip(round(usual_speed, 1), _MIN_SPEED, _MAX_SPEED))
    if kind == _FILE:
        return _upload_path()
    place = st.container()
    columns = st.columns(2)
    speed = columns[0].slider(
        "Speed (m/s)", _MIN_SPEED, _MAX_SPEED, usual, step=0.1, key=f"path speed {key}"
    )
    if kind == _DRAW:
        width = columns[1].slider(
            "Map (m)", 4, 80, int(np.clip(round(2 * _HALF_WIDTH_S * usual), 4, 80)), step=2,
            key=f"map {key}", help="Width of the map",
        )  # fmt: skip
        with place:
            points = draw_path("path map", half_m=width / 2, example=np.round(_EXAMPLE * usual, 2))
        path = drawn_path(points, speed)
        if path is None:
            st.info("Draw a path on the map.", icon=":material/draw:")
            return None
        seconds = min(path.duration, float(_MAX_S))
        st.caption(f"{path.length:.1f} m, {path.duration:.1f} s at this speed.")
        return path, max(seconds, 1.0)
    name = _MADE[kind or "Wave"]
    size = columns[1].slider(
        "Size (m)",
        1.0,
        40.0,
        round(float(np.clip(usual_size(name, speed), 1.0, 40.0)), 1),
        step=0.5,
        key=f"path size {name} {speed} {key}",
        help={"wave": "Distance between crests", "square": "Side length", "circle": "Diameter"}[
            name
        ],
    )
    seconds = st.slider("Seconds", _MIN_S, _MAX_S, _DEFAULT_S, key="path seconds")
    path = made_path(name, speed, float(seconds), size)
    with place:
        show_path(path, float(seconds), "path shown")
    return path, float(seconds)


def show_path(path: GroundPath, seconds: float, key: str) -> None:
    """Draw the first `seconds` of a path on a map."""
    times = np.linspace(path.times[0], path.times[0] + seconds, _MAP_POINTS)
    places = path.positions_at(times)
    words = f"Map of the path: {path.name}, {path.duration:.0f} s"
    _map(
        key=key,
        data={"points": np.round(places, 3).tolist(), "editable": False, "words": words},
    )


def draw_path(key: str, *, half_m: float, example: Array) -> Array:
    """Let the user draw a path on a map.

    Parameters
    ----------
    half_m
        Half the width of the map, metres.
    example
        (points, 2) metres; drawn until the user draws something else.

    Returns
    -------
    (points, 2) metres.
    """
    state = f"{key} points"
    points = st.session_state.setdefault(state, np.asarray(example, float).tolist())
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
    """The path through (points, 2) metres at a constant speed, m/s.

    Returns None if the points are fewer than two or span less than 5 cm.
    """
    places = np.asarray(points, float)
    if len(places) < 2 or not np.linalg.norm(np.diff(places, axis=0), axis=1).sum() > 0.05:
        return None
    return GroundPath(np.arange(float(len(places))), places, name="drawn").at_speed(speed)


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
    show_path(path, seconds, "path shown")
    whole = f" of {path.duration:.0f} s" if path.duration > seconds else ""
    st.caption(f"{path.length:.1f} m; {seconds:.1f} s{whole} are run.")
    return path, seconds


def _choose_label(opened: OpenController, id: str) -> dict[str, list[str]]:
    """The value of the label that the controller was trained with."""
    if not opened.values:
        return {}
    words = opened.label[:1].upper() + opened.label[1:]
    usual = "walk" if "walk" in opened.values else opened.values[0]
    key = f"label {id}"
    if len(opened.values) <= _MAX_BUTTONS:
        value = st.segmented_control(
            plain(words), opened.values, default=usual, required=True, key=key
        )
    else:
        value = st.selectbox(plain(words), opened.values, index=opened.values.index(usual), key=key)
    return {opened.label: [value or usual]}


def _choose_labels(opened: OpenMatching, id: str) -> dict[str, list[str]]:
    """Labels of the clips that may be played."""
    labels = {}
    for name, values in list(opened.labels.items())[:_MAX_LABELS]:
        chosen = st.multiselect(
            f"Only {plain(name)}", values, placeholder="any", key=f"only {id} {name}"
        )
        if chosen:
            labels[name] = chosen
    return labels


def _choose_blend() -> tuple[float, float]:
    """Biases of positions and directions."""
    name = st.segmented_control(
        "Blending", [*BLENDS, _OWN], default=_USUAL, required=True,
        format_func=str.capitalize, key="blending",
        help="Weight of the desired trajectory against the one that the network predicts: natural "
        "motion, or exact path following",
    )  # fmt: skip
    if name != _OWN:
        return BLENDS[name or _USUAL]
    columns, usual = st.columns(2), BLENDS[_USUAL]
    position = columns[0].slider(
        "Position bias", 0.1, 10.0, usual[0], step=0.1, key="position bias"
    )
    direction = columns[1].slider(
        "Direction bias", 0.1, 20.0, usual[1], step=0.1, key="direction bias"
    )
    return position, direction


def _choose_player_settings(foot_lock: bool) -> PlayerSettings:
    usual = PlayerSettings()
    interval_s = st.slider(
        "Seconds between searches", 0.05, 1.0, usual.search_interval_s, step=0.05,
        key="search seconds",
    )  # fmt: skip
    halflife = st.slider(
        "Blend halflife (s)", 0.02, 0.5, usual.transition_halflife_s, step=0.02, key="halflife",
        help="Time in which the offset of a transition decays to half",
    )  # fmt: skip
    share = st.slider(
        "Path correction (%)", 0, 50, round(100 * usual.adjust_share), step=5, key="drawn",
        help="Maximum root correction towards the path, as a share of the motion's own speed",
    )  # fmt: skip
    actions = st.toggle(
        "Actions", key="actions",
        help="Play gestures and other actions, too, not only idle and locomotion",
    )  # fmt: skip
    return PlayerSettings(
        search_interval_s=interval_s,
        transition_halflife_s=halflife,
        adjust_share=share / 100,
        foot_lock=foot_lock,
        moments=None if actions else MomentFilter(),
    )
