"""What users draw in the browser: paths on a map, marks on a timeline, places of hands and feet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.widgets import browser_component, choose_one
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.roles import Roles
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    from_root_space,
    root_trajectory,
    to_root_space,
)
from deepphase.motion.skeleton import Skeleton, subtree_mask
from deepphase.steering.path import MADE_PATHS, GroundPath, made_path, usual_size

# Words -> name of a made path, and the meaning of its size.
_MADE = {name.capitalize(): name for name in MADE_PATHS}
_SIZES = {"wave": "Distance between crests", "square": "Side length", "circle": "Diameter"}
_DRAW = "Draw"
_MIN_SPEED, _MAX_SPEED = 0.2, 8.0
_MIN_SIZE, _MAX_SIZE = 1.0, 40.0
_MIN_S, _MAX_S, _DEFAULT_S = 3, 60, 12
# Width of the map to draw on, as seconds of travel, and its limits in metres.
_WIDTH_S, _MIN_WIDTH_M, _MAX_WIDTH_M = 8.0, 4, 80
# An S, in seconds of travel to the left and forward.
_EXAMPLE = np.array([[0, 0], [0, 1.5], [1, 2.7], [1.2, 3.9], [0.2, 4.6], [-1.2, 4.6], [-2.2, 3.6]])
# Limits of what a browser may send as a drawing, and the shortest path.
_MAX_DRAWN_POINTS, _MAX_DISTANCE_M, _SHORTEST_M = 2_000, 1_000.0, 0.05
# Points that the map of a path is drawn with.
_MAP_POINTS = 600
# Keys may stand later than the clip ends, by this factor of its frames.
_BEYOND = 1.25
# Marks that a browser may send, and their largest number.
_MAX_MARKS, _LARGEST = 2_000, 1e9
# A place that a browser sends lies within so many metres of the root.
_FARTHEST_M = 100.0
Marks = list[list[int]]

_map = browser_component(
    "path_map",
    "input/path_map.js",
    '<div class="map"><svg></svg><div class="buttons"><button class="undo" type="button">Undo'
    '</button><button class="clear" type="button">Clear</button></div>'
    '<div class="status" aria-live="polite"></div></div>',
)
_timeline_view = browser_component(
    "edit_timeline",
    "timeline/edit_timeline.js",
    '<div class="timeline"><svg></svg><div class="status" aria-live="polite"></div></div>',
    "marked",
)
_pose_view = browser_component(
    "pose_pad", "input/pose_pad.js", '<div class="pose-pad"></div>', "placed"
)


def choose_path(usual_speed: float, key: str) -> tuple[GroundPath, float] | None:
    """Draw the choosers of a path; return it with its seconds, None while there is none."""
    kind = choose_one("Path", [*_MADE, _DRAW], default="Wave", key="path kind")
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
            path = drawn_path(_draw_points(width / 2, np.round(_EXAMPLE * usual, 2)), speed)
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


def _draw_points(half_m: float, example: Array) -> Array:
    """(points, 2) metres that the user draws on a map; the example until something is drawn."""
    points = st.session_state.setdefault("path map points", example.tolist())
    answer = _map(
        key="path map",
        data={"points": points, "editable": True, "half": half_m, "mark": "drawing"},
        default={"points": points},
        on_points_change=lambda: None,
    )
    drawn = checked_points(answer.points)
    st.session_state["path map points"] = drawn.tolist()
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
    def changed(given: Any) -> None:
        marks = check(given)
        if marks is not None and on_marks is not None:
            on_marks(marks)

    _timeline_view(data={**data, "fps": clip.fps}, key=key, on_sent=changed)


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
    """Lists of so many whole numbers that a browser sent; None otherwise."""
    if not isinstance(given, list) or len(given) > _MAX_MARKS:
        return None
    if not all(_are_numbers(mark, count, _LARGEST) for mark in given):
        return None
    marks = [[int(value) for value in mark] for mark in given]
    # A browser has one kind of number.
    return marks if marks == given else None


def _are_numbers(given: Any, count: int, largest: float) -> bool:
    """Whether a browser, which is not trusted, sent a list of so many numbers within a limit."""
    return (
        isinstance(given, list)
        and len(given) == count
        and all(type(value) in (int, float) and abs(value) <= largest for value in given)
    )


def pose_pad(
    clip: Clip,
    frame: int,
    joint: int,
    roles: Roles,
    place: Array,
    key: str,
    on_place: Callable[[Array], None],
) -> None:
    """Draw the pose of a frame from the front and from the right, with a handle at one joint.

    The joint is drawn at `place` (3,), metres in the world. Where the handle was dragged or moved
    by keys, `on_place` is called with a place that the limb reaches, before the page runs again.
    """
    skeleton = clip.skeleton
    positions = joint_positions(clip)
    whole = root_trajectory(clip, roles, positions)
    now = slice(frame, frame + 1)
    root = RootTrajectory.from_ground(whole.positions[now, ::2], whole.angles[now])
    # What lies above the hips is not part of the body.
    body = subtree_mask(skeleton, roles.hips)
    parents = enumerate(skeleton.parents.tolist())
    data: dict[str, Any] = {
        "positions": np.round(to_root_space(positions[now], root)[0], 5).tolist(),
        "links": [[index, parent] for index, parent in parents if parent >= 0 and body[parent]],
        "limb": limb_above(skeleton, joint, roles),
        "place": np.round(to_root_space(np.reshape(place, (1, 3)), root)[0], 5).tolist(),
        "name": skeleton.names[joint],
    }

    def placed(given: Any) -> None:
        place = read_place(given)
        if place is not None:
            on_place(from_root_space(place[None], root)[0])

    _pose_view(data=data, key=key, on_sent=placed)


def limb_above(skeleton: Skeleton, joint: int, roles: Roles) -> dict[str, Any]:
    """The limb of two bones that a joint hangs on, as `pose_pad.js` reads it."""
    ends = [end for part in ("hand", "foot") for end in roles.both(part) or ()]
    end = next(end for end in ends if subtree_mask(skeleton, end)[joint])
    middle = int(skeleton.parents[end])
    return {
        "upper": int(skeleton.parents[middle]),
        "middle": middle,
        "end": int(end),
        "moved": np.flatnonzero(subtree_mask(skeleton, end)).tolist(),
        "joint": int(joint),
    }


def read_place(given: Any) -> Array | None:
    """(3,) metres that a browser sent; None where it is not a place."""
    return np.array(given, np.float64) if _are_numbers(given, 3, _FARTHEST_M) else None
