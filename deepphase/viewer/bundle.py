"""HTML files of the viewer: one shell with style, data and all JavaScript modules inside."""

from __future__ import annotations

import html
import json
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepphase.errors import ParameterError

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
