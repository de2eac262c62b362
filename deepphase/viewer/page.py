"""The player as one self-contained HTML file, for browsers, reports and iframes."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import ParameterError
from deepphase.figures.theme import DARK, LIGHT, NEUTRAL, channel_style
from deepphase.terrain.heightmap import Heightmap
from deepphase.viewer.actor import Actor
from deepphase.viewer.bundle import VIEWER, bundled_script
from deepphase.viewer.costs import CostComparison
from deepphase.viewer.packing import PackedArrays
from deepphase.viewer.page_data import json_in_page
from deepphase.viewer.skin import Skin
from deepphase.viewer.song import PlayerSong
from deepphase.viewer.take import Channels, ManifoldCloud, Take

# Number of distinct styles of channels and experts.
_STYLES = 32
# Points of a cloud; more could not be distinguished in so small a figure.
_MAX_POINTS = 12_000
# Dash -> lengths in pixels.
_DASHES: Mapping[str, list[float]] = {
    "solid": [],
    "dash": [6, 4],
    "dot": [1.5, 3],
    "dashdot": [6, 3, 1.5, 3],
}


def palette() -> dict[str, Any]:
    """Colours of the figures' light and dark templates, and styles of the channels."""
    looks = {}
    for name, template in (("light", LIGHT), ("dark", DARK)):
        layout = template.layout
        looks[name] = {
            "page": layout.paper_bgcolor,
            "wall": layout.scene.xaxis.backgroundcolor,
            "ink": layout.font.color,
            "soft": layout.xaxis.linecolor,
            "line": layout.xaxis.gridcolor,
        }
    styles = [channel_style(index) for index in range(_STYLES)]
    return {
        "looks": looks,
        "neutral": NEUTRAL,
        "styles": [{"colour": s.colour, "dash": _DASHES[s.dash]} for s in styles],
    }


def describe_take(take: Take, packed: PackedArrays) -> dict[str, Any]:
    """Describe one take, and add its arrays to `packed`."""
    return {
        "name": take.name,
        "note": take.note,
        "fps": take.fps,
        "duration": take.duration_s,
        "actors": [_actor(actor, packed) for actor in take.actors],
        "channels": None if take.channels is None else _channels(take.channels, packed),
        "manifold": None if take.manifold is None else _manifold(take.manifold, packed),
        "gating": None
        if take.gating is None
        else _timed(take.gating, values=packed.add_series(take.gating.weights)),
        "costs": None if take.costs is None else _costs(take.costs, packed),
        "curves": [
            _timed(
                curve,
                name=curve.name,
                unit=curve.unit,
                lines=list(curve.lines),
                values=packed.add_series(curve.values),
            )
            for curve in take.curves
        ],
        "markers": [[marker.label, marker.start_s, marker.stop_s] for marker in take.markers],
        "song": None if take.song is None else _song(take.song, packed),
        "terrain": None if take.terrain is None else _terrain(take.terrain, packed),
    }


def _timed(part: Any, **content: Any) -> dict[str, Any]:
    return {"fps": part.fps, "start": part.start_s, **content}


def _actor(actor: Actor, packed: PackedArrays) -> dict[str, Any]:
    def added(values: Array | None) -> Mapping[str, Any] | None:
        return None if values is None else packed.add(values)

    return _timed(
        actor,
        name=actor.name,
        colour=actor.colour,
        floor=float(actor.floor),
        links=actor.links.reshape(-1).tolist(),
        jointNames=list(actor.joint_names),
        feet=list(actor.feet),
        feetLabels=list(actor.feet_labels),
        positions=packed.add_positions(actor.positions),
        contacts=added(None if actor.contacts is None else actor.contacts.astype(bool)),
        rootPositions=added(actor.root_positions),
        rootDirections=added(actor.root_directions),
        desiredTrajectory=added(actor.desired_trajectory),
        desiredPath=added(actor.desired_path),
        ball=added(actor.ball),
        ballRadius=actor.ball_radius_m,
        ghost=actor.ghost,
        skin=None if actor.skin is None else _skin(actor.skin, packed),
    )


def _skin(skin: Skin, packed: PackedArrays) -> dict[str, Any]:
    return {
        "parents": skin.parents.tolist(),
        "kind": skin.kind,
        "roles": dict(skin.roles),
        "tail": list(skin.tail),
        "rotations": packed.add_rotations(skin.rotations),
    }


def _channels(channels: Channels, packed: PackedArrays) -> dict[str, Any]:
    parameters = channels.parameters
    series = {
        name: packed.add_series(getattr(parameters, name))
        for name in ("phase", "frequency", "amplitude", "offset")
    }
    interior = None
    if channels.interior is not None and not channels.interior.all():
        interior = packed.add(channels.interior.astype(bool))
    return _timed(channels, interior=interior, **series)


def _manifold(cloud: ManifoldCloud, packed: PackedArrays) -> dict[str, Any]:
    step = max(1, -(-len(cloud.points) // _MAX_POINTS))
    return _timed(
        cloud,
        path=packed.add_series(cloud.path),
        points=packed.add(cloud.points[::step]),
        colours=None
        if cloud.colours is None
        else packed.add(cloud.colours[::step].astype(np.uint8)),
        colourTitle=cloud.colour_title,
        explained=[float(share) for share in cloud.explained],
    )


def _costs(costs: CostComparison, packed: PackedArrays) -> dict[str, Any]:
    options = [option for search in costs.searches for option in search.options]
    names = {name: place for place, name in enumerate(dict.fromkeys(each.name for each in options))}
    return {
        "features": list(costs.features),
        "times": _rounded([search.time_s for search in costs.searches]),
        "texts": [search.text for search in costs.searches],
        "counts": [len(search.options) for search in costs.searches],
        "names": list(names),
        "labels": [names[each.name] for each in options],
        "marks": [each.mark for each in options],
        "terms": packed.add(np.array([each.terms for each in options], np.float32)),
    }


def _song(song: PlayerSong, packed: PackedArrays) -> dict[str, Any]:
    spectrogram = None
    if song.spectrogram is not None:
        loudness = song.spectrogram.astype(np.float64)
        span = float(np.ptp(loudness)) or 1.0
        spectrogram = packed.add(np.rint(255 * (loudness - loudness.min()) / span).astype(np.uint8))
    return {
        "name": song.name,
        "data": packed.add_bytes(song.data),
        "mime": song.mime,
        "start": song.start_s,
        "duration": song.duration_s,
        "beats": _rounded(song.beats),
        "downbeats": _rounded(song.downbeats),
        "spectrogram": spectrogram,
        "bandHz": song.band_hz,
    }


def _terrain(ground: Heightmap, packed: PackedArrays) -> dict[str, Any]:
    return {
        "heights": packed.add(ground.heights),
        "spacing": ground.spacing_m,
        "origin": list(ground.origin),
    }


def _rounded(seconds: Array | Sequence[float]) -> list[float]:
    return np.round(np.asarray(seconds, np.float64), 4).tolist()


# A page of this size opens within seconds; browsers refuse texts of half a gigabyte.
MAX_BYTES = 256_000_000
# The page may load nothing from the network, whatever a name contains.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; media-src blob:"
)
LOOKS = ("auto", "light", "dark")


def player_html(
    takes: Sequence[Take],
    *,
    title: str = "Player",
    look: str = "auto",
    embedded: bool = False,
    playing: bool = False,
    bare: bool = False,
    at_s: float = 0.0,
    clip_from_s: float | None = None,
    max_bytes: int = MAX_BYTES,
) -> str:
    """The HTML of a page that plays takes, alone or in an iframe.

    Parameters
    ----------
    takes
        Takes to choose from; without any, the page shows a message.
    title
        Title of the page.
    look
        "light", "dark", or "auto" for the browser's colour scheme. The page has a switch.
    embedded
        The page is in a frame of a page of the same origin, and the frame takes its height.
    playing
        The first take plays while it is in view, unless it has sound or the reader's system asks
        for less motion.
    bare
        Without title, buttons and curves: the bodies, the manifold and a line of time.
    at_s
        Time in the first take at which the page opens, seconds.
    clip_from_s
        Time of the first take's first frame in its clip. Where it is given, `embedded` pages keep
        the moment at which the reader stops in the address of the page around them, as `now`.
    max_bytes
        Maximum size of the data in the page.

    Raises
    ------
    ParameterError
        If the page would be larger, or the look is unknown.
    """
    if look not in LOOKS:
        raise ParameterError(f"there is no look {look!r}", hint=f"choose one of {', '.join(LOOKS)}")
    packed = PackedArrays()
    content = {
        "title": title,
        "look": look,
        "embedded": embedded,
        "playing": playing,
        "bare": bare,
        "at": at_s,
        "clipFrom": clip_from_s,
        "palette": palette(),
        "takes": [describe_take(take, packed) for take in takes],
    }
    scene = json_in_page(content)
    size = packed.size + len(scene)
    if size > max_bytes:
        raise ParameterError(
            f"the player's page would hold {size / 1e6:,.0f} MB of data, more than "
            f"{max_bytes / 1e6:,.0f}",
            hint="take fewer or shorter clips, a lower frame rate or a compressed song",
        )
    arrays = "\n".join(
        f'<script type="text/plain" id="array-{index}">{packed.text(index)}</script>'
        for index in range(len(packed))
    )
    bodies = any(actor.skin is not None for take in takes for actor in take.actors)
    entry = "play_bodies.js" if bodies else "play_lines.js"
    parts = {
        "policy": _POLICY,
        "title": html.escape(title).encode("utf-8", "replace").decode("utf-8"),
        "style": _asset("play.css"),
        "scene": scene,
        "arrays": arrays,
        "script": bundled_script(VIEWER, entry),
    }
    # One pass over the template, so that inserted text is never expanded.
    segments = _asset("play.html").split("%%")
    return "".join(parts[each] if at % 2 else each for at, each in enumerate(segments))


def save_player(
    path: str | Path,
    takes: Sequence[Take],
    *,
    title: str = "Player",
    look: str = "auto",
    max_bytes: int = MAX_BYTES,
) -> Path:
    """Write the page of `player_html` atomically, and return its path.

    Raises
    ------
    ParameterError
        As `player_html`.
    CheckpointError
        If the file cannot be written.
    """
    content = player_html(takes, title=title, look=look, max_bytes=max_bytes).encode("utf-8")
    with atomic_write(path) as file:
        file.write(content)
    return Path(path)


def _asset(name: str) -> str:
    return (VIEWER / name).read_text(encoding="utf-8")
