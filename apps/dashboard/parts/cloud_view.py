"""Clouds of points on the pages: drawn in the browser, under the time cursor of the page's player.

A cloud shows the place of the player's moment, and the pose of the point below the mouse. A click
plays on from that point, and a lasso or box selects points; the page learns of both.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from apps.dashboard.parts.theme import is_dark
from deepphase.arrays import Array
from deepphase.figures.colouring import Colouring
from deepphase.figures.theme import CYCLIC, DARK, LIGHT, NEUTRAL, SEQUENTIAL, percentile_range
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import Roles
from deepphase.motion.root_trajectory import root_trajectory, to_root_space
from deepphase.viewer.bundle import component_script
from deepphase.viewer.take import point_colours

_FOLDER = Path(__file__).parent
_component = st.components.v2.component(
    "deepphase_cloud",
    html=(_FOLDER / "cloud_view.html").read_text(encoding="utf-8"),
    css=(_FOLDER / "cloud_view.css").read_text(encoding="utf-8"),
    js=component_script("explore.js"),
)
# Angle of the view on the poses, radians, and their steps from the middle: int8.
_VIEW, _STEPS = 0.6, 127
# Largest number of points with a pose: more would make the page's message megabytes large.
MAX_POSES = 5_000


class CloudAnswer(NamedTuple):
    """What was done in a cloud: a click on one point, a selection of points, or neither.

    Parameters
    ----------
    clicked
        Index of the point; None if there was no click.
    selected
        Sorted indices of the points; empty where a selection was cleared, None without one.
    """

    clicked: int | None = None
    selected: Array | None = None


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of every `step`-th point as they are seen from in front, a little from the side.

    Parameters
    ----------
    values
        (poses, joints, 2) int8: to the right and up, in steps of `metres`.
    metres
        Size of a step.
    step
        Pose `i` is that of point `i * step`.
    links
        (links, 2) pairs of joints that a limb connects.
    """

    values: Array
    metres: float
    step: int
    links: Array

    @classmethod
    def of(cls, positions: Array, links: Array, step: int = 1) -> Poses:
        """The view of (poses, joints, 3) positions in root space."""
        across = np.cos(_VIEW) * positions[..., 0] - np.sin(_VIEW) * positions[..., 2]
        seen = np.stack([across, positions[..., 1]], axis=-1)
        metres = max(float(np.abs(seen).max(initial=0.0)), 1e-6) / _STEPS
        return cls(np.rint(seen / metres).astype(np.int8), metres, step, np.asarray(links))


def poses_at(clip: Clip, frames: Array, roles: Roles) -> Array:
    """(frames, joints, 3) metres in root space: a clip's joints at some of its frames."""
    part = Clip(
        clip.skeleton,
        clip.rotations[frames],
        clip.translations[frames],
        clip.fps,
        translated_joints=clip.translated_joints,
        name=clip.name,
    )
    positions = joint_positions(part)
    # The frames are not neighbours, so nothing is smoothed over them.
    return to_root_space(positions, root_trajectory(part, roles, positions, 0.0))


@dataclass(frozen=True, eq=False)
class CloudPicture:
    """Points of a cloud with what is known of them.

    Parameters
    ----------
    title
        Heading of the figure.
    points
        (points, 3) places, clip by clip in order of time.
    axes
        (3,) titles of the axes.
    clip
        (points,) index of the clip.
    time
        (points,) seconds in the clip.
    names
        Names of the clips.
    groups
        Group of each clip in the legend, as in its label; empty for none.
    note
        Note below the figure.
    poses
        What is drawn beside the mouse; None for nothing.
    """

    title: str
    points: Array
    axes: Sequence[str]
    clip: Array
    time: Array
    names: Sequence[str]
    groups: Sequence[str] = ()
    note: str = ""
    poses: Poses | None = None


@dataclass(frozen=True, eq=False)
class PlayedPart:
    """A stretch of the player's time that shows successive frames of one clip.

    Parameters
    ----------
    clip
        Index of the clip.
    start_s
        Time in the player at its first frame.
    first_s
        Time in the clip at its first frame.
    path
        (frames, 3) places of the frames in the cloud.
    fps
        Frames a second.
    """

    clip: int
    start_s: float
    first_s: float
    path: Array
    fps: float


def cloud_view(
    picture: CloudPicture,
    colouring: Colouring,
    key: str,
    *,
    space: bool = False,
    played: Sequence[PlayedPart] = (),
    selected: Array | None = None,
    height: int = 560,
    small: bool = False,
    on_answer: Callable[[CloudAnswer], None] | None = None,
) -> None:
    """Draw a cloud, and report what is done in it.

    Parameters
    ----------
    picture
        The points.
    colouring
        Their colours.
    key
        The widget's key.
    space
        Draw three axes, which a drag rotates, in place of two.
    played
        What the page's player plays: its moment is drawn, and a click on it needs no new run.
    selected
        Indices of the points that are drawn as selected; None for all.
    height
        Pixels of the plot.
    small
        Without legend and selections, and with smaller points.
    on_answer
        Called before the page runs again, after a click on a point that is not played, and after a
        selection.
    """
    look = (DARK if is_dark() else LIGHT).layout
    data: dict[str, Any] = {
        "title": _clean(picture.title),
        "axes": list(picture.axes),
        "points": _packed(picture.points, "<f4"),
        "clip": _packed(picture.clip, "<u2"),
        "time": _packed(picture.time, "<f4"),
        "names": [_clean(name) for name in picture.names],
        "note": picture.note,
        "poses": None if picture.poses is None else _stated_poses(picture.poses),
        "colours": stated_colours(picture, colouring),
        "played": [
            {
                "clip": part.clip,
                "start": part.start_s,
                "first": part.first_s,
                "fps": part.fps,
                "path": _packed(part.path, "<f4"),
            }
            for part in played
        ],
        "selected": None if selected is None else _packed(selected, "<u4"),
        "space": space,
        "height": height,
        "small": small,
        "look": {
            "dark": is_dark(),
            "page": look.paper_bgcolor,
            "ink": look.font.color,
            "soft": look.xaxis.linecolor,
            "line": look.xaxis.gridcolor,
        },
    }

    def done() -> None:
        if on_answer is not None:
            on_answer(read_answer(st.session_state[key].get("done"), len(picture.points)))

    _component(data=data, key=key, on_done_change=done)


def read_answer(done: Any, points: int) -> CloudAnswer:
    """The answer in what a browser sent, which is not trusted."""
    if not isinstance(done, dict):
        return CloudAnswer()
    clicked, selected = done.get("clicked"), done.get("selected")
    if isinstance(clicked, int) and 0 <= clicked < points:
        return CloudAnswer(clicked=clicked)
    if isinstance(selected, list):
        known = [each for each in selected if isinstance(each, int) and 0 <= each < points]
        return CloudAnswer(selected=np.unique(np.array(known, np.int64)))
    return CloudAnswer()


def stated_colours(picture: CloudPicture, colouring: Colouring) -> dict[str, Any]:
    """Colours of the points with their legend: categories, or a scale."""
    values = np.asarray(colouring.values)
    if colouring.categorical:
        names, first, which, counts = np.unique(
            values.astype(str), return_index=True, return_inverse=True, return_counts=True
        )
        style = {}
        for chosen, look in colouring.categories():
            for name in np.unique(which[chosen]).tolist():
                style[name] = (look["marker"]["color"], look["marker"].get("symbol", "circle"))
        groups = dict(zip(picture.names, picture.groups, strict=False))
        if colouring.name != "clip" or len(set(groups.values())) == len(groups):
            # Headings over one name each would only repeat it.
            groups = {}
        order = np.argsort(first)
        entries = [
            {
                "name": _clean(names[at]),
                "colour": style[at][0],
                "symbol": style[at][1],
                "count": int(counts[at]),
                "group": _clean(groups.get(str(names[at]), "")),
                "grey": style[at][0] == NEUTRAL,
            }
            for at in order.tolist()
        ]
        place = np.argsort(order)[which]
        return {
            "title": unescape(colouring.title),
            "entries": entries,
            "which": _packed(place, "<u2"),
        }
    low, high = (-0.5, 0.5) if colouring.cyclic else percentile_range(values)
    return {
        "title": unescape(colouring.title),
        "colours": _packed(point_colours(colouring), "u1"),
        "scale": list(CYCLIC if colouring.cyclic else SEQUENTIAL),
        "low": low,
        "high": high,
        "values": _packed(values, "<f4"),
    }


def _stated_poses(poses: Poses) -> dict[str, Any]:
    return {
        "values": _packed(poses.values, "i1"),
        "joints": poses.values.shape[1],
        "metres": poses.metres,
        "step": poses.step,
        "links": poses.links.reshape(-1).tolist(),
    }


def _clean(text: object) -> str:
    """A text without characters that are not printed; the page shows the rest literally."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def _packed(values: Array, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, np.dtype(kind)).tobytes()).decode("ascii")
