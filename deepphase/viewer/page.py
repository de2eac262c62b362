"""HTML files of the viewer, with style, packed arrays and all JavaScript modules; the player."""

from __future__ import annotations

import base64
import html
import json
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.figures.theme import CHANNEL_STYLES, DARK, LIGHT, NEUTRAL
from deepphase.files import atomic_write
from deepphase.viewer.take import Channels, CostComparison, ManifoldCloud, Take

# Folder of the modules, styles and templates of all pages.
VIEWER = Path(__file__).parent
# A page may load nothing from the network, whatever a name contains.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; media-src blob:"
)
_IMPORT = re.compile(
    r'^import\s+(?:\{(?P<names>[^}]*)\}|\*\s+as\s+(?P<space>\w+))\s+from\s+"(?P<path>[^"]+)";\n?',
    re.MULTILINE,
)
# One constant a line: of several, only the first would be found.
_EXPORT = re.compile(
    r"^export\s+(?=(?:async\s+)?function\*?\s+(\w+)|"
    r"(?:class|const)\s+(\w+)\b(?!\s*=[^(){}\[\];\n]*,\s*\w+\s*=))",
    re.M,
)
# Lines of comments, indentation and empty lines, which a page does without.
_COMMENT = re.compile(r"^\s*(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/)\n", re.MULTILINE)
_INDENT = re.compile(r"^\s+", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def mode_page(
    mode: str,
    *,
    title: str,
    scene: str,
    data: Mapping[str, str],
    entry: str = "",
    attributes: Mapping[str, str] | None = None,
    connects: bool = False,
) -> str:
    """The HTML of a page: the shell around the content, style and script of a mode.

    Parameters
    ----------
    mode
        "play" or "steer": the beginning of the names of its files.
    """
    scripts = "\n".join(
        f'<script type="text/plain" id="{id}">{text}</script>' for id, text in data.items()
    )
    named = "".join(f' {name}="{html.escape(value)}"' for name, value in (attributes or {}).items())
    shown = html.escape(title).encode("utf-8", "replace").decode("utf-8")
    parts = {
        "attributes": named,
        "policy": _POLICY + ("; connect-src 'self'" if connects else ""),
        "title": shown,
        "style": _text("page.css") + _text(f"{mode}.css"),
        "content": _text(f"{mode}.html").replace("%%title%%", shown),
        "scene": scene,
        "data": scripts,
        "script": bundled_script(VIEWER, entry or f"{mode}.js"),
    }
    # One pass over the template, so that inserted text is never expanded.
    segments = _text("page.html").split("%%")
    return "".join(parts[each] if at % 2 else each for at, each in enumerate(segments))


def json_in_page(content: Any) -> str:
    """JSON text that is safe inside a script element."""
    text = json.dumps(content, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _text(name: str) -> str:
    return (VIEWER / name).read_text(encoding="utf-8")


@cache
def bundled_script(folder: Path, entry: str) -> str:
    """One script out of ES modules: each is a function that returns its exports.

    Modules follow `entry` in the order in which they are imported.
    """
    scripts: dict[str, str] = {}
    _bundle(folder, entry, scripts, ())
    return '"use strict";\n' + "\n".join(scripts.values())


def component_script(entry: str) -> str:
    """The ES module of a dashboard component: its `component` function as the default export."""
    script = bundled_script(VIEWER, entry)
    return f"{script}\nexport default {_identifier(entry)}.component;\n"


def _bundle(folder: Path, name: str, scripts: dict[str, str], importers: tuple[str, ...]) -> None:
    if name in importers:
        raise ParameterError(
            f"modules must not import one another: {' -> '.join((*importers, name))}"
        )
    if name in scripts:
        return
    code = (folder / name).read_text(encoding="utf-8")
    imports = []
    for match in _IMPORT.finditer(code):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), match["path"]))
        _bundle(folder, path, scripts, (*importers, name))
        imported = match["space"] or f"{{{_renamed(match['names'])}}}"
        imports.append(f"const {imported} = {_identifier(path)};")
    code = _IMPORT.sub("", code)
    exports = [first or second for first, second in _EXPORT.findall(code)]
    code = _EXPORT.sub("", code)
    if left := _LEFT.search(code):
        raise ParameterError(f"{name}: this form is not bundled: {left[0]}")
    if "</script" in code.lower():
        raise ParameterError(f"{name}: the text '</script' would end the page's script")
    code = _INDENT.sub("", _COMMENT.sub("", code))
    scripts[name] = (
        f"const {_identifier(name)} = (() => {{\n"
        + "\n".join([*imports, code])
        + f"return {{ {', '.join(exports)} }};\n}})();"
    )


def _renamed(names: str) -> str:
    """Imported names in the form of a destructuring: ``a as b`` becomes ``a: b``."""
    return ", ".join(
        re.sub(r"\s+as\s+", ": ", each.strip()) for each in names.split(",") if each.strip()
    )


def _identifier(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))


# Steps on either side of the middle of a range: int16 without its minimum.
_STEPS = 32767
# Steps on either side of 0 of each of three parts of a quaternion: 10 bits without the least value.
_TURN_STEPS = 511


class PackedArrays:
    """The binary arrays of a page, each distinct array once.

    Adding an array returns its description for the page's JSON: `id` of the script element that
    holds its base64 text, `type`, `shape` and, if it is quantised, `middle` and `step` with one
    number per column: value = middle + step * integer.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[str, bytes], int] = {}
        self.contents: list[bytes] = []

    def __len__(self) -> int:
        return len(self.contents)

    @property
    def size(self) -> int:
        """Size of all arrays in base64, bytes."""
        return sum(4 * ((len(content) + 2) // 3) for content in self.contents)

    def text(self, index: int) -> str:
        """The base64 text of one array."""
        return base64.b64encode(self.contents[index]).decode("ascii")

    def add_bytes(self, content: bytes) -> int:
        """Add bytes, and return their id."""
        key = ("bytes", content)
        if key not in self._ids:
            self._ids[key] = len(self.contents)
            self.contents.append(content)
        return self._ids[key]

    def add(self, values: Array) -> dict[str, Any]:
        """Add an array without loss: float32 or uint8, little-endian, C order."""
        kind = "uint8" if values.dtype in (np.uint8, np.bool_) else "float32"
        whole = np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<"))
        return {"id": self.add_bytes(whole.tobytes()), "type": kind, "shape": list(values.shape)}

    def add_positions(self, positions: Array) -> dict[str, Mapping[str, Any]]:
        """Add (frames, joints, 3) metres: each frame's mean as float32, offsets from it as int16.

        The precision does not depend on the distance from the origin: it is better than 0.1 mm for
        bodies of human size.
        """
        centre = positions.astype(np.float64).mean(axis=1).astype(np.float32)
        offsets = positions - centre[:, None]
        reach = float(np.abs(offsets).max())
        step = reach / _STEPS if reach else 1.0
        whole = np.rint(offsets / step).astype("<i2").reshape(len(positions), -1)
        joints = {
            "id": self.add_bytes(whole.tobytes()),
            "type": "int16",
            "shape": list(positions.shape),
            "step": step,
        }
        return {"centre": self.add(centre), "around": joints}

    def add_rotations(self, rotations: Array) -> dict[str, Any]:
        """Add (frames, joints, 4) unit quaternions (x, y, z, w) in 32 bits each.

        The two highest bits say which part is largest; the other three follow, of which each is at
        most sqrt(1/2). The precision is better than 0.3 degrees.
        """
        turns = rotations / np.linalg.norm(rotations, axis=-1, keepdims=True)
        largest = np.abs(turns).argmax(axis=-1)[..., None]
        turns = turns * np.where(np.take_along_axis(turns, largest, -1) < 0, -1.0, 1.0)
        order = np.array([[i for i in range(4) if i != left] for left in range(4)])
        others = np.take_along_axis(turns, order[largest[..., 0]], -1)
        steps = np.rint(others * (np.sqrt(2) * _TURN_STEPS)).astype(np.int64) + _TURN_STEPS
        whole = (largest[..., 0] << 30) | (steps << np.array([20, 10, 0])).sum(axis=-1)
        return {
            "id": self.add_bytes(whole.astype("<u4").tobytes()),
            "type": "uint32",
            "shape": list(rotations.shape[:2]),
        }

    def add_series(self, values: Array) -> dict[str, Any]:
        """Add (frames, columns) as int16 over the range of each column, column by column."""
        values = values.astype(np.float64)
        low, high = values.min(axis=0), values.max(axis=0)
        middle = (low + high) / 2
        step = np.where(high > low, (high - low) / (2 * _STEPS), 1.0)
        whole = np.rint((values - middle) / step).astype("<i2").T
        return {
            "id": self.add_bytes(np.ascontiguousarray(whole).tobytes()),
            "type": "int16",
            "shape": list(values.shape),
            "middle": middle.tolist(),
            "step": step.tolist(),
        }


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
    """Colours of light and dark pages, and styles of the channels."""
    styles = CHANNEL_STYLES[:_STYLES]
    return {
        "looks": {"light": LIGHT._asdict(), "dark": DARK._asdict()},
        "neutral": NEUTRAL,
        "styles": [{"colour": s.colour, "dash": _DASHES[s.dash]} for s in styles],
    }


def described(part: Any, packed: PackedArrays) -> Any:
    """A part of a take for the page's JSON; its arrays are added to `packed`.

    Fields have their names in the page without units, in the style of JavaScript: `ball_radius_m`
    is `ballRadius`. Arrays come without loss, unless `_FORMS` says otherwise.
    """
    if isinstance(part, np.ndarray):
        return packed.add(part)
    if isinstance(part, np.generic):
        return part.item()
    if isinstance(part, Mapping):
        return dict(part)
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [described(item, packed) for item in part]
    if not is_dataclass(part):
        return part
    content = {}
    for field in fields(part):
        value = getattr(part, field.name)
        first, *words = re.sub(r"_(m|s)$", "", field.name).split("_")
        form = _FORMS.get(field.name, described)
        content[first + "".join(map(str.capitalize, words))] = (
            None if value is None else form(value, packed)
        )
    return content


def describe_take(take: Take, packed: PackedArrays) -> dict[str, Any]:
    """Describe one take, and add its arrays to `packed`."""
    return described(take, packed) | {"fps": take.fps, "duration": take.duration_s}


def _channels(channels: Channels, packed: PackedArrays) -> dict[str, Any]:
    inside = channels.interior
    if inside is not None and inside.all():
        channels = replace(channels, interior=None)
    stated = described(channels, packed)
    return stated | stated.pop("parameters")


def _manifold(cloud: ManifoldCloud, packed: PackedArrays) -> dict[str, Any]:
    chosen = slice(None, None, max(1, -(-len(cloud.points) // _MAX_POINTS)))
    colours = None if cloud.colours is None else cloud.colours[chosen].astype(np.uint8)
    return described(replace(cloud, points=cloud.points[chosen], colours=colours), packed)


def _costs(costs: CostComparison, packed: PackedArrays) -> dict[str, Any]:
    options = [option for search in costs.searches for option in search.options]
    names = {name: place for place, name in enumerate(dict.fromkeys(item.name for item in options))}
    return {
        "features": list(costs.features),
        "times": _moments([search.time_s for search in costs.searches]),
        "texts": [search.text for search in costs.searches],
        "counts": [len(search.options) for search in costs.searches],
        "names": list(names),
        "labels": [names[option.name] for option in options],
        "marks": [option.mark for option in options],
        "actors": [option.actor for option in options],
        "unit": costs.unit,
        "terms": packed.add(np.array([option.terms for option in options], np.float32)),
    }


def _shades(loudness: Array, packed: PackedArrays) -> dict[str, Any]:
    loudness = loudness.astype(np.float64)
    span = float(np.ptp(loudness)) or 1.0
    return packed.add(np.rint(255 * (loudness - loudness.min()) / span).astype(np.uint8))


def _moments(seconds: Array | Sequence[float], packed: PackedArrays | None = None) -> list[float]:
    return np.round(np.asarray(seconds, np.float64), 4).tolist()


# Field -> its form in the page, of those that are not what `described` makes of them.
_FORMS: Mapping[str, Callable[[Any, PackedArrays], Any]] = {
    "positions": lambda values, packed: packed.add_positions(values),
    "rotations": lambda values, packed: packed.add_rotations(values),
    "data": lambda content, packed: packed.add_bytes(content),
    "markers": lambda markers, _: [list(vars(marker).values()) for marker in markers],
    "channels": _channels,
    "manifold": _manifold,
    "costs": _costs,
    "spectrogram": _shades,
    "contacts": lambda flags, packed: packed.add(flags.astype(bool)),
    **dict.fromkeys(("links", "parents", "explained"), lambda own, _: np.ravel(own).tolist()),
    **dict.fromkeys(("beats", "downbeats"), _moments),
    **dict.fromkeys(
        ("phase", "frequency", "amplitude", "offset", "path", "weights", "values"),
        lambda values, packed: packed.add_series(values),
    ),
}


# A page of this size opens within seconds; browsers refuse texts of half a gigabyte.
MAX_BYTES = 256_000_000
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
    look
        "light", "dark", or "auto" for the browser's colour scheme. The page has a switch.
    at_s
        Time in the first take at which the page opens, seconds.
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
    bodies = any(actor.skin is not None for take in takes for actor in take.actors)
    return mode_page(
        "play",
        title=title,
        scene=scene,
        data={f"array-{index}": packed.text(index) for index in range(len(packed))},
        entry="play_bodies.js" if bodies else "play_lines.js",
    )


def save_player(path: str | Path, takes: Sequence[Take], *, title: str = "Player") -> Path:
    """Write the page of `player_html` atomically, and return its path."""
    with atomic_write(path) as file:
        file.write(player_html(takes, title=title).encode("utf-8"))
    return Path(path)
