"""Clouds of points on the pages: drawn in the browser, under the time cursor of the page's player.

A cloud shows the place of the player's moment, and the pose of the point below the mouse. A click
plays on from that point, and a lasso or box selects points; the page learns of both.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.clouds import CHANNEL_COLOUR, OpenCloud, Places
from deepphase.apps.dashboard.parts.theme import is_dark
from deepphase.arrays import Array
from deepphase.figures.colouring import Colouring
from deepphase.figures.theme import CYCLIC, DARK, LIGHT, NEUTRAL, SEQUENTIAL, percentile_range
from deepphase.phase.parameters import PhaseParameters
from deepphase.viewer.bundle import component_script

_FOLDER = Path(__file__).parent
_component = st.components.v2.component(
    "deepphase_cloud",
    html=(_FOLDER / "cloud_view.html").read_text(encoding="utf-8"),
    css=(_FOLDER / "cloud_view.css").read_text(encoding="utf-8"),
    js=component_script("explore.js"),
)
# The frames, which several views and runs of a page share, are a message of their own: where they
# are the same, the browser has them.
_frames = st.components.v2.component(
    "deepphase_frames", html="<i hidden></i>", js=component_script("clouds/kept_frames.js")
)
# Axes that are chosen at first: a plane of principal components with a smaller share of the
# variance is a ball without rings.
PCA, STRONGEST = "PCA", "Strongest channel"
_LEAST_EXPLAINED = 0.4
# Parts of the address with what a cloud shows.
SEEN = ("axes", "colour", "view")
# Units of phases and amplitudes in 16 bits.
_CYCLE, _WHOLE = 65_534, 65_535


class CloudAnswer(NamedTuple):
    """What was done in a cloud: a click on one point, a selection of points, or neither.

    `clicked` is the index of the point; `selected` are sorted indices, none where a selection was
    cleared.
    """

    clicked: int | None = None
    selected: Array | None = None


class PlayedPart(NamedTuple):
    """Frames of one clip that the player shows: from its second `start` on, the clip's `first`."""

    clip: int
    start: float
    first: float
    paths: Mapping[str, Array]  # name of a space -> (frames, 3) places of the frames in it
    fps: float
    phases: PhaseParameters | None = None  # of the frames, for axes by channel


def usual_axes(cloud: OpenCloud) -> str:
    """The axes that a cloud is first drawn along."""
    explained = float(np.sum(cloud.cloud.explained[:2]))
    return PCA if explained >= _LEAST_EXPLAINED else STRONGEST


def keep_frames(cloud: OpenCloud, id: str) -> None:
    """Send the frames of a cloud to the browser, where all views of this id draw them."""
    parameters, poses, colourings = cloud.cloud.parameters, cloud.poses, {}
    for name, colouring in cloud.colourings.items():
        channel = name.removeprefix(CHANNEL_COLOUR)
        colourings[name] = (
            {"title": unescape(colouring.title), "channel": int(channel)}
            if channel != name
            else stated_colours(cloud.groups, colouring)
        )
    weight = parameters.amplitude + 1e-9
    frequencies = (weight * parameters.frequency).sum(0) / weight.sum(0)
    data = {
        "id": id,
        "names": [_clean(name) for name in cloud.groups],
        "clip": _packed(cloud.clip, "<u2"),
        "time": _packed(cloud.cloud.time, "<f4"),
        "frame": _packed(cloud.frame, "<u4"),
        "channels": parameters.channels,
        **_stated_phases(parameters),
        "frequencies": frequencies.tolist(),
        "explained": float(np.sum(cloud.cloud.explained[:2])),
        "colourings": colourings,
        "scales": {"cyclic": list(CYCLIC), "sequential": list(SEQUENTIAL)},
        "note": cloud.cloud.note,
        "poses": {
            "values": _packed(poses.values, "i1"),
            "joints": poses.values.shape[1],
            "metres": poses.metres,
            "step": poses.step,
            "links": poses.links.reshape(-1).tolist(),
            "head": poses.head,
        },
    }
    _frames(data=data, key=f"frames {id}")


def cloud_view(
    cloud: OpenCloud,
    id: str,
    spaces: Mapping[str, Places],
    title: str,
    key: str,
    *,
    axes: Mapping[str, str] | None = None,
    played: Sequence[PlayedPart] = (),
    selected: Array | None = None,
    small: bool = False,
    on_answer: Callable[[CloudAnswer], None] | None = None,
) -> None:
    """Draw a cloud whose frames were sent under an id, and report what is done in it.

    `spaces` are the choices of axes besides the channels, and `axes` what is seen at first: "axes",
    "colour" and "view", which is "Plane" or "Space". `selected` are indices of points that are
    drawn as selected; None for all.
    """
    look = (DARK if is_dark() else LIGHT).layout
    data: dict[str, Any] = {
        "frames": id,
        "title": _clean(title),
        "spaces": {
            name: {"points": _packed(space.points, "<f4"), "axes": list(space.axes)}
            for name, space in spaces.items()
        },
        "played": [
            {
                "clip": part.clip,
                "start": part.start,
                "first": part.first,
                "fps": part.fps,
                "paths": {name: _packed(path, "<f4") for name, path in part.paths.items()},
                **({} if part.phases is None else _stated_phases(part.phases)),
            }
            for part in played
        ],
        "selected": None if selected is None else _packed(selected, "<u4"),
        "seen": dict(axes or {}),
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
            on_answer(read_answer(st.session_state[key].get("done"), len(cloud.clip)))

    _component(data=data, key=key, on_done_change=done)


def _stated_phases(parameters: PhaseParameters) -> dict[str, Any]:
    """Phases in parts of a cycle and amplitudes, each (frames, channels), in 16 bits."""
    largest = max(float(parameters.amplitude.max(initial=0.0)), 1e-9)
    return {
        "phase": _packed(np.rint(parameters.phase * _CYCLE), "<i2"),
        "amplitude": _packed(np.rint(parameters.amplitude / largest * _WHOLE), "<u2"),
        "largest": largest,
    }


def read_answer(done: Any, points: int) -> CloudAnswer:
    """The answer in what a browser sent, which is not trusted."""
    if not isinstance(done, dict):
        return CloudAnswer()
    clicked, selected = done.get("clicked"), done.get("selected")
    if isinstance(clicked, int) and 0 <= clicked < points:
        return CloudAnswer(clicked=clicked)
    if isinstance(selected, list):
        known = [point for point in selected if isinstance(point, int) and 0 <= point < points]
        return CloudAnswer(selected=np.unique(np.array(known, np.int64)))
    return CloudAnswer()


def stated_colours(groups: Mapping[str, str], colouring: Colouring) -> dict[str, Any]:
    """Colours of the points with their legend: categories, or a scale."""
    values, title = np.asarray(colouring.values), unescape(colouring.title)
    if not colouring.categorical:
        low, high = (-0.5, 0.5) if colouring.cyclic else percentile_range(values)
        return {
            "title": title,
            "cyclic": colouring.cyclic,
            "low": low,
            "high": high,
            "values": _packed(values, "<f4"),
        }
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
    return {"title": title, "entries": entries, "which": _packed(np.argsort(order)[which], "<u2")}


def _clean(text: object) -> str:
    """A text without characters that are not printed; the page shows the rest literally."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def _packed(values: Array, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, np.dtype(kind)).tobytes()).decode("ascii")
