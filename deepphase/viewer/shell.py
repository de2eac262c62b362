"""HTML files of the viewer's modes: one shell with style, script and data inside."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

from deepphase.viewer.bundle import VIEWER, bundled_script

# A page may load nothing from the network, whatever a name contains.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; media-src blob:"
)


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
    title
        Title of the page.
    scene
        What the script reads at first, from `json_in_page`.
    data
        Id of an element -> base64 text that it holds.
    entry
        The script's first module; that of the mode's name by default.
    attributes
        Attributes of the page's root element.
    connects
        The page may send to the server that it is from.
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
