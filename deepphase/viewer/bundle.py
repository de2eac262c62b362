"""The JavaScript modules of a page as one script."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from deepphase.errors import ParameterError

# Folder of the modules, styles and templates of all pages.
VIEWER = Path(__file__).parent
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


def bundled_script(folder: Path, entry: str) -> str:
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


def component_script(entry: str) -> str:
    """The ES module of a dashboard component: its `component` function as the default export.

    Parameters
    ----------
    entry
        The module that exports `component`, relative to the viewer's folder.
    """
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
