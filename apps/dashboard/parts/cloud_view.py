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

from deepphase.apps.dashboard.parts.clouds import CHANNEL_COLOUR, OpenCloud, Places, Poses
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
    paths
        Name of a space -> (frames, 3) places of the frames in it.
    fps
        Frames a second.
    phases
        Phases of the frames, for axes by channel; None in other spaces.
    """

    clip: int
    start: float
    first: float
    paths: Mapping[str, Array]
    fps: float
    phases: PhaseParameters | None = None


def usual_axes(cloud: OpenCloud) -> str:
    """The axes that a cloud is first drawn along."""
    explained = float(np.sum(cloud.cloud.explained[:2]))
    return PCA if explained >= _LEAST_EXPLAINED else STRONGEST


def keep_frames(cloud: OpenCloud, id: str) -> None:
    """Send the frames of a cloud to the browser, where all views of this id draw them."""
    phases, amplitudes = cloud.cloud.parameters.phase, cloud.cloud.parameters.amplitude
    colourings = {}
    for name, colouring in cloud.colourings.items():
        channel = name.removeprefix(CHANNEL_COLOUR)
        colourings[name] = (
            {"title": unescape(colouring.title), "channel": int(channel)}
            if channel != name
            else stated_colours(cloud.groups, colouring)
        )
    data = {
        "id": id,
        "names": [_clean(name) for name in cloud.groups],
        "clip": _packed(cloud.clip, "<u2"),
        "time": _packed(cloud.cloud.time, "<f4"),
        "frame": _packed(cloud.frame, "<u4"),
        "channels": phases.shape[1],
        **_stated_phases(phases, amplitudes),
        "frequencies": _mean_frequencies(cloud.cloud.parameters).tolist(),
        "explained": float(np.sum(cloud.cloud.explained[:2])),
        "colourings": colourings,
        "scales": {"cyclic": list(CYCLIC), "sequential": list(SEQUENTIAL)},
        "note": cloud.cloud.note,
        "poses": _stated_poses(cloud.poses),
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
    """Draw a cloud, and report what is done in it.

    Parameters
    ----------
    cloud, id
        The frames, and the id under which `keep_frames` sent them.
    spaces
        Name of a choice of axes -> where the frames lie along them, besides the channels.
    axes
        What is seen at first: "axes", "colour" and "view", which is "Plane" or "Space".
    selected
        Indices of the points that are drawn as selected; None for all.
    """
    look = (DARK if is_dark() else LIGHT).layout
    data: dict[str, Any] = {
        "frames": id,
        "title": _clean(title),
        "spaces": {
            name: {"points": _packed(each.points, "<f4"), "axes": list(each.axes)}
            for name, each in spaces.items()
        },
        "played": [_stated_part(part) for part in played],
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


def _stated_part(part: PlayedPart) -> dict[str, Any]:
    stated: dict[str, Any] = {
        "clip": part.clip,
        "start": part.start,
        "first": part.first,
        "fps": part.fps,
        "paths": {name: _packed(path, "<f4") for name, path in part.paths.items()},
    }
    if part.phases is not None:
        stated |= _stated_phases(part.phases.phase, part.phases.amplitude)
    return stated


def _stated_phases(phase: Array, amplitude: Array) -> dict[str, Any]:
    """Phases in parts of a cycle and amplitudes, each (frames, channels), in 16 bits."""
    largest = max(float(amplitude.max(initial=0.0)), 1e-9)
    return {
        "phase": _packed(np.rint(phase * _CYCLE), "<i2"),
        "amplitude": _packed(np.rint(amplitude / largest * _WHOLE), "<u2"),
        "largest": largest,
    }


def _mean_frequencies(parameters: PhaseParameters) -> Array:
    """(channels,) Hz, weighted by the amplitudes."""
    weight = parameters.amplitude + 1e-9
    return (weight * parameters.frequency).sum(0) / weight.sum(0)


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
        "cyclic": colouring.cyclic,
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
        "head": poses.head,
    }


def _clean(text: object) -> str:
    """A text without characters that are not printed; the page shows the rest literally."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def _packed(values: Array, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, np.dtype(kind)).tobytes()).decode("ascii")
