"""Clouds of points on the pages: drawn in the browser, under the time cursor of the page's player.

A cloud shows the place of the player's moment, and the pose of the point below the mouse. A click
plays on from that point, and a lasso or box selects points; the page learns of both.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.clouds import OpenCloud, Places, Poses
from deepphase.apps.dashboard.parts.theme import is_dark
from deepphase.arrays import Array
from deepphase.figures.colouring import Colouring
from deepphase.figures.theme import CYCLIC, DARK, LIGHT, NEUTRAL, SEQUENTIAL, percentile_range
from deepphase.viewer.bundle import component_script
from deepphase.viewer.take import point_colours

_FOLDER = Path(__file__).parent
_component = st.components.v2.component(
    "deepphase_cloud",
    html=(_FOLDER / "cloud_view.html").read_text(encoding="utf-8"),
    css=(_FOLDER / "cloud_view.css").read_text(encoding="utf-8"),
    js=component_script("explore.js"),
)


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
class PlayedPart:
    """A stretch of the player's time that shows successive frames of one clip.

    Parameters
    ----------
    clip
        Index of the clip.
    start
        Seconds in the player at its first frame.
    first
        Seconds in the clip at its first frame.
    path
        (frames, 3) places of the frames in the cloud.
    fps
        Frames a second.
    """

    clip: int
    start: float
    first: float
    path: Array
    fps: float


def cloud_view(
    cloud: OpenCloud,
    places: Places,
    colouring: Colouring,
    title: str,
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
    cloud, places
        The frames, and where they lie.
    colouring
        Their colours.
    title
        Heading of the figure.
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
        Without legend, notes and selections, and with smaller points.
    on_answer
        Called before the page runs again, after a click on a point that is not played, and after a
        selection.
    """
    look = (DARK if is_dark() else LIGHT).layout
    data: dict[str, Any] = {
        "title": _clean(title),
        "axes": list(places.axes),
        "points": _packed(places.points, "<f4"),
        "clip": _packed(cloud.clip, "<u2"),
        "time": _packed(cloud.cloud.time, "<f4"),
        "names": [_clean(name) for name in cloud.groups],
        "note": "" if small else cloud.cloud.note,
        "poses": _stated_poses(cloud.poses),
        "colours": stated_colours(cloud.groups, colouring),
        "played": [vars(part) | {"path": _packed(part.path, "<f4")} for part in played],
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
            on_answer(read_answer(st.session_state[key].get("done"), len(places.points)))

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


def stated_colours(groups: Mapping[str, str], colouring: Colouring) -> dict[str, Any]:
    """Colours of the points with their legend: categories, or a scale.

    Parameters
    ----------
    groups
        Clip -> its group in the legend, as in its label; empty for none.
    """
    values = np.asarray(colouring.values)
    if colouring.categorical:
        names, first, which, counts = np.unique(
            values.astype(str), return_index=True, return_inverse=True, return_counts=True
        )
        style = {}
        for chosen, look in colouring.categories():
            for name in np.unique(which[chosen]).tolist():
                style[name] = (look["marker"]["color"], look["marker"].get("symbol", "circle"))
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
