"""The dashboard's pages, one module each: `page()` draws it. `parts` is what they share."""

from __future__ import annotations

from typing import NamedTuple


class PageEntry(NamedTuple):
    """A page: its address (also its module in this package), its name and its icon."""

    address: str
    name: str
    icon: str


# In the order of the navigation.
PAGES = (
    PageEntry("data", "Data", ":material/directions_run:"),
    PageEntry("manifold", "Manifold", ":material/bubble_chart:"),
    PageEntry("channels", "Channels", ":material/waves:"),
    PageEntry("matches", "Matches", ":material/join_inner:"),
    PageEntry("control", "Control", ":material/route:"),
    PageEntry("dance", "Dance", ":material/music_note:"),
    PageEntry("edit", "Edit", ":material/content_cut:"),
    PageEntry("rig", "Rig", ":material/accessibility_new:"),
    PageEntry("train", "Train", ":material/model_training:"),
)
