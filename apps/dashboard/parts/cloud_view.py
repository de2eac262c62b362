"""Clouds of points on the pages, drawn in the browser, and the passages that are selected there.

A cloud shows the place of the player's moment, and the pose of the point below the mouse. A click
plays on from that point, and a lasso or box selects points; the page learns of both.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deepphase.apps.dashboard.parts.clouds import CHANNEL_COLOUR, OpenCloud, Places
from deepphase.apps.dashboard.parts.encodings import Encodings
from deepphase.apps.dashboard.parts.widgets import browser_component, is_dark
from deepphase.apps.reports.matches_page import moment_actor
from deepphase.arrays import Array
from deepphase.figures.theme import (
    CYCLIC,
    DARK,
    LIGHT,
    NEUTRAL,
    SEQUENTIAL,
    Colouring,
    percentile_range,
)
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.rings import Ring
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import Channels, Take

_cloud = browser_component(
    "cloud", "explore.js", Path(__file__).with_name("cloud.html").read_text("utf-8"), "done"
)
# The frames, which several views and runs of a page share, are a message of their own: where they
# are the same, the browser has them.
_frames = browser_component("frames", "clouds/kept_frames.js", "<i hidden></i>")
# Parts of the address with what a cloud shows.
SEEN = ("axes", "colour", "view")
# Units of phases and amplitudes in 16 bits.
_CYCLE, _WHOLE = 65_534, 65_535
# Shorter gaps between selected frames belong to the passage, as points are every n-th frame.
_MAX_GAP_S = 0.15
# Shorter passages are extended to this length: what is shorter cannot be seen.
_MIN_PASSAGE_S = 0.5
# Limits of the selection that plays, so that the player is ready at once.
MAX_PLAYED_S, MAX_PASSAGES = 90.0, 40
# Passages that play side by side, those of a row, and metres between them.
MAX_BESIDE, _IN_A_ROW, _BESIDE_M = 12, 4, 1.1
# Frames around a passage that the detection of contacts and the smoothing of facings read too.
_MARGIN_S = 0.5


class CloudAnswer(NamedTuple):
    """What was done in a cloud: the index of a clicked point, or those of a selection."""

    clicked: int | None = None
    selected: Array | None = None


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
    seen: Mapping[str, str] | None = None,
    ring: Ring | None = None,
    played: Sequence[Mapping[str, Any]] = (),
    selected: Array | None = None,
    small: bool = False,
    note: str = "",
    on_answer: Callable[[CloudAnswer], None] | None = None,
) -> None:
    """Draw a cloud whose frames were sent under an id, and report what is done in it.

    `spaces` are the choices of axes besides the channels, and `seen` what is seen at first: "axes",
    by default the first space, "colour" and "view", which is "Plane" or "Space". `ring` are frames
    of `played`, the parts of `played_part`, that are drawn bright. `selected` are indices of points
    that are drawn as selected; None for all. `note` is said below.
    """
    look = DARK if is_dark() else LIGHT
    data: dict[str, Any] = {
        "frames": id,
        "title": _clean(title),
        "spaces": {
            name: {"points": _packed(space.points, "<f4"), "axes": list(space.axes)}
            for name, space in spaces.items()
        },
        "played": list(played),
        "selected": None if selected is None else _packed(selected, "<u4"),
        "seen": dict(seen or {}),
        "ring": ring and {"part": ring.manifold, "from": ring.start, "to": ring.stop - 1},
        "note": note,
        "small": small,
        "look": {"dark": is_dark(), **look._asdict()},
    }

    def done(given: Any) -> None:
        if on_answer is not None:
            on_answer(read_answer(given, len(cloud.clip)))

    _cloud(data=data, key=key, on_sent=done)


def played_part(
    player: str,
    clip: int,
    start: float,
    first: float,
    fps: float,
    paths: Mapping[str, Array],
    phases: PhaseParameters | None = None,
) -> dict[str, Any]:
    """Frames of a clip on the time axis of a player, its id, with places (frames, 3) by space."""
    packed = {name: _packed(path, "<f4") for name, path in paths.items()}
    stated = {} if phases is None else _stated_phases(phases)
    when = {"start": start, "first": first, "fps": fps}
    return {"player": player, "clip": clip, **when, "paths": packed, **stated}


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


class Passage(NamedTuple):
    """Frames `start` to `stop` - 1 of one clip, at the model's rate."""

    clip: int
    start: int
    stop: int


def points_in(cloud: OpenCloud, passages: Sequence[Passage]) -> Array:
    """Sorted indices of a cloud's points in the passages."""
    inside = np.zeros(len(cloud.clip), bool)
    for clip, start, stop in passages:
        inside |= (cloud.clip == clip) & (cloud.frame >= start) & (cloud.frame < stop)
    return np.flatnonzero(inside)


def passages_of(
    cloud: OpenCloud, points: Array, fps: float, lengths: Sequence[int]
) -> list[Passage]:
    """Contiguous runs of selected frames, clip by clip in order of time.

    `points` are sorted indices of the cloud's points, `lengths` the frames of each clip at `fps`.
    """
    if not points.size:
        return []
    clip, frame = cloud.clip[points], cloud.frame[points]
    step = int(np.median(np.diff(cloud.frame)[np.diff(cloud.clip) == 0])) if len(clip) > 1 else 1
    gap = max(step, round(_MAX_GAP_S * fps))
    ends = np.flatnonzero((np.diff(clip) != 0) | (np.diff(frame) > gap))
    starts, stops = np.r_[0, ends + 1], np.r_[ends, len(points) - 1]
    shortest = round(_MIN_PASSAGE_S * fps)
    passages: list[Passage] = []
    for first, last in zip(starts.tolist(), stops.tolist(), strict=True):
        start, stop = int(frame[first]), int(frame[last]) + 1
        if stop - start < shortest:
            start = max(0, (start + stop - shortest) // 2)
            stop = min(start + shortest, lengths[int(clip[first])])
        before = passages[-1] if passages else None
        if before is not None and before.clip == clip[first] and start <= before.stop:
            passages[-1] = before._replace(stop=max(stop, before.stop))
        else:
            passages.append(Passage(int(clip[first]), start, stop))
    return passages


def passages_text(passages: Sequence[Passage]) -> str:
    """Passages as a part of an address, as in "3:100-160,0:300-330"."""
    return ",".join(f"{clip}:{start}-{stop}" for clip, start, stop in passages)


def read_passages(text: str, lengths: Sequence[int]) -> list[Passage]:
    """The passages in a part of an address that exist in clips of these lengths."""
    found = re.findall(r"(\d{1,6}):(\d{1,9})-(\d{1,9})", text)[:MAX_PASSAGES]
    passages = [Passage(*map(int, numbers)) for numbers in found]
    return [p for p in passages if p.clip < len(lengths) and p.start < p.stop <= lengths[p.clip]]


def playable(passages: Sequence[Passage], fps: float) -> list[Passage]:
    """The first passages, within the limits of a player."""
    chosen, frames = [], round(MAX_PLAYED_S * fps)
    for passage in passages[:MAX_PASSAGES]:
        stop = min(passage.stop, passage.start + frames)
        if stop <= passage.start:
            break
        chosen.append(passage._replace(stop=stop))
        frames -= stop - passage.start
    return chosen


def passages_take(passages: Sequence[Passage], read: Encodings) -> Take:
    """A take of all passages in sequence, each where it was captured."""
    store, fps, actors = read.store, read.extractor.fps, []
    for passage in passages:
        clip = store.clip(passage.clip)
        ratio = clip.fps / fps
        start = min(round(passage.start * ratio), len(clip) - 1)
        stop = max(start + 1, min(round(passage.stop * ratio), len(clip)))
        margin = round(_MARGIN_S * clip.fps)
        begin, end = max(0, start - margin), min(len(clip), stop + margin)
        actors.append(
            Actor.from_motion(clip.sliced(begin, end)).sliced(start - begin, stop - begin)
        )
    parts = [read.phases(clip)[start:stop] for clip, start, stop in passages]
    inside = np.concatenate([part.interior for part in parts])
    phases = PhaseParameters.joined([part.parameters for part in parts])
    words = f"{len(passages)} passages" if len(passages) > 1 else store.names[passages[0].clip]
    return Take.from_motions(
        actors,
        "Selected frames",
        sequence=True,
        channels=Channels(phases, fps, inside),
        note=f"{words}, {len(inside) / fps:.1f} s",
    )


def beside_take(passages: Sequence[Passage], read: Encodings) -> Take:
    """A take of the first passages at once: bodies side by side that begin in one direction."""
    fps, shown, actors = read.extractor.fps, passages[:MAX_BESIDE], []
    for index, passage in enumerate(shown):
        clip = read.store.clip(passage.clip)
        roles = find_roles(clip.skeleton, description=dict(read.extractor.signals.body), clip=clip)
        frame = min(round(passage.start * clip.fps / fps), len(clip) - 1)
        margin = round(_MARGIN_S * clip.fps)
        first = max(0, frame - margin)
        root = root_trajectory(clip.sliced(first, min(len(clip), frame + margin + 1)), roles)
        row, column = divmod(index, _IN_A_ROW)
        columns = min(_IN_A_ROW, len(shown) - row * _IN_A_ROW)
        actors.append(
            moment_actor(
                clip,
                frame,
                root.positions[frame - first],
                float(root.angles[frame - first]),
                before_s=0.0,
                seconds=(passage.stop - passage.start - 1) / fps,
                place=np.array([(column - (columns - 1) / 2) * _BESIDE_M, 0.0, -row * _BESIDE_M]),
                name=str(index + 1),
            )
        )
    words = f"{len(shown)} of {len(passages)}" if len(passages) > len(shown) else str(len(shown))
    return Take.from_motions(
        actors,
        "Selected frames",
        note=f"{words} passages at once, turned to one direction at their first frame",
    )
