"""Settings of Sphinx: guides in Markdown, and the API reference from the docstrings."""

import json
import re
from importlib.metadata import version as version_of
from typing import Any

from myst_parser.parsers.sphinx_ import MystParser

project = "deepphase"
author = "deepphase developers"
release = version = version_of("deepphase")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
html_theme = "furo"
html_title = "deepphase"
templates_path = ["_templates"]
exclude_patterns = ["_templates"]
# Pages load nothing from other hosts.
html_theme_options = {"navigation_with_keys": True}

# Headings are link targets, under the anchors that GitHub gives them.
myst_heading_anchors = 4

# Names between single backticks are code, as in Markdown.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": False}
autodoc_inherit_docstrings = False
autodoc_preserve_defaults = True
napoleon_google_docstring = False
# Shapes stand in place of types: `positions : (frames, joints, 3)`.
napoleon_use_param = False
napoleon_use_ivar = True
napoleon_use_rtype = False


class NotebookParser(MystParser):
    """Pages of notebooks: their text as Markdown, and their cells as code."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Called by Sphinx with the content of a notebook."""
        parts = []
        for cell in json.loads(inputstring)["cells"]:
            text = "".join(cell["source"])
            parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        super().parse("\n\n".join(parts), document)


def setup(app: Any) -> None:
    """Called by Sphinx: settings that no option has."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    # Later than napoleon (500), which reads what a property states before a colon as its type.
    app.connect("autodoc-process-docstring", _state_shapes, priority=600)


def _state_shapes(
    app: Any, what: str, name: str, documented: object, options: object, lines: list[str]
) -> None:
    """Keep Sphinx from reading shapes and lists of names as names of types.

    The `rows` of `(rows, 3)` is not the attribute of a class, and the first of the attributes
    `fps, channels` is not the type of the second.
    """
    for number, line in enumerate(lines):
        line = re.sub(r"^(:(?:var)?type[^:]*:) (.+)$", r"\1 ``\2``", line)
        names = re.match(r":ivar [^:]*:", line)
        if names is not None:
            line = ":ivar " + names[0][6:].replace(", ", ",") + line[names.end() :]
        lines[number] = line
