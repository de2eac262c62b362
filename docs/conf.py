"""Settings of Sphinx: guides in Markdown, and the API reference from the docstrings."""

from importlib.metadata import version as version_of

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
