"""Bundle of the live page: one HTML file with runtime, page and asset that opens offline."""

from __future__ import annotations

import base64
import html
import posixpath
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np

from deepphase.atomic_write import atomic_write
from deepphase.errors import FormatError, ParameterError
from deepphase.figures.page_data import json_in_page
from deepphase.terrain.heightmap import Heightmap

Look = Literal["auto", "light", "dark"]

_FOLDER = Path(__file__).parent
_ENTRY = "page/app.js"
# Beginning of glb files: their name and version.
_GLB = b"glTF\x02\0\0\0"
_MAX_BODY_BYTES = 200_000_000
# Points along each side of a ground that a page holds: 1.4 MB of heights.
_MAX_GROUND_POINTS = 600
# The page may load nothing from the network, whatever a name contains.
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
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def live_page(
    asset: bytes,
    *,
    name: str,
    look: Look = "auto",
    chooser: str = "",
    keeps: bool = False,
    body: Path | None = None,
    large_panels: bool = False,
    ground: str | Heightmap | None = None,
) -> str:
    """The HTML of a page in which a character is steered.

    Parameters
    ----------
    asset
        Content of a live asset (`apps.live.asset.live_asset`).
    name
        Title of the page and beginning of the names of files that it saves.
    look
        "light", "dark", or "auto" for the browser's colour scheme. A button on the page switches
        it.
    chooser
        Address of a page with other files, for a button that leads there.
    keeps
        Add a button that sends what was driven to the page around: a message with a JSON text under
        "driven", of which `apps.live.driven_run` makes a run.
    body
        glb file with a skinned mesh to show in place of the mannequin; the page reads it.
    large_panels
        Let the phase manifold and the weights take half of the page.
    ground
        Ground to begin on: a kind of made ground, or heights, of which the page has 600
        points of each side around the origin. Characters with a ball stay on a flat floor.

    Raises
    ------
    FormatError
        If the body is no glb file.
    """
    page = _FOLDER / "page"
    about_ground, heights = _ground_parts(ground)
    parts = {
        "look": html.escape(look),
        "panels": "large" if large_panels else "small",
        "policy": _POLICY,
        "title": html.escape(name),
        "style": (page / "page.css").read_text(encoding="utf-8"),
        "data": json_in_page(
            {
                "name": name,
                "chooser": chooser,
                "keeps": keeps,
                "body": body.name if body else "",
                "ground": about_ground,
            }
        ),
        "asset": base64.b64encode(asset).decode("ascii"),
        "body": base64.b64encode(_read_glb(body) if body else b"").decode("ascii"),
        "ground": base64.b64encode(heights).decode("ascii"),
        "script": bundled_script(_FOLDER),
    }
    # One pass over the template, so that inserted text is never expanded.
    segments = (page / "page.html").read_text(encoding="utf-8").split("%%")
    return "".join(parts[each] if at % 2 else each for at, each in enumerate(segments))


def _ground_parts(ground: str | Heightmap | None) -> tuple[Any, bytes]:
    """What a page says about its ground, and its heights."""
    if not isinstance(ground, Heightmap):
        return ground, b""
    spacing, origin, cuts = float(ground.spacing_m), [], []
    # Columns go along x, rows along z.
    for start, count in zip(ground.origin, ground.heights.shape[::-1], strict=True):
        around = round(-start / spacing) - _MAX_GROUND_POINTS // 2
        first = min(max(around, 0), max(count - _MAX_GROUND_POINTS, 0))
        cuts.append(slice(first, first + _MAX_GROUND_POINTS))
        origin.append(start + spacing * first)
    heights = np.ascontiguousarray(ground.heights[cuts[1], cuts[0]], "<f4")
    about = {
        "name": ground.name,
        "columns": heights.shape[1],
        "spacing": spacing,
        "origin": origin,
    }
    return about, heights.tobytes()


def _read_glb(path: Path) -> bytes:
    try:
        content = path.read_bytes() if path.stat().st_size <= _MAX_BODY_BYTES else None
    except OSError as error:
        raise FormatError(f"not readable: {error.strerror}", path=path) from error
    if content is None:
        raise FormatError(
            f"a body has at most {_MAX_BODY_BYTES / 1e6:.0f} MB",
            hint="use smaller textures",
            path=path,
        )
    if content[:8] != _GLB:
        raise FormatError("not a glb file", hint="export a binary glTF 2.0 file", path=path)
    return content


def save_live_page(
    path: str | Path,
    asset: bytes,
    *,
    name: str,
    body: Path | None = None,
    ground: str | Heightmap | None = None,
) -> int:
    """Write the page of `live_page` atomically, and return its size in bytes.

    Raises
    ------
    FormatError
        If the body is no glb file.
    CheckpointError
        If the file cannot be written.
    """
    page = live_page(asset, name=name, body=body, ground=ground)
    content = page.encode("utf-8", "replace")
    with atomic_write(path) as file:
        file.write(content)
    return len(content)


def bundled_script(folder: Path, entry: str = _ENTRY) -> str:
    """One script out of ES modules: each is a function that returns its exports.

    Parameters
    ----------
    folder
        Folder of the modules.
    entry
        The module to begin with, relative to the folder. Modules follow in the order in which they
        are imported.

    Raises
    ------
    ParameterError
        If modules import one another in a circle, or use another form of `import` or `export` than
        ``import { a, b as c } from "./x.js"``, ``import * as x from "./x.js"`` and exported
        functions, classes and constants.
    """
    scripts: dict[str, str] = {}
    _bundle(folder, entry, scripts, ())
    return '"use strict";\n' + "\n".join(scripts.values())


def _bundle(folder: Path, name: str, scripts: dict[str, str], importers: tuple[str, ...]) -> None:
    if name in importers:
        raise ParameterError(f"modules import one another: {' -> '.join((*importers, name))}")
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
