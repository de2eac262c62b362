"""The dashboard's pages, one module each: `page()` draws it. `parts` is what they share."""

from __future__ import annotations

from typing import NamedTuple


class PageEntry(NamedTuple):
    """A page: its name, its icon, and the module whose function `page` draws it."""

    name: str
    icon: str
    module: str


# Address -> page, in the order of the navigation.
PAGES = {
    address: PageEntry(name, f":material/{icon}:", f"{__name__}.{address}")
    for address, name, icon in (
        ("data", "Data", "directions_run"),
        ("manifold", "Manifold", "bubble_chart"),
        ("channels", "Channels", "waves"),
        ("matches", "Matches", "join_inner"),
        ("control", "Control", "route"),
        ("dance", "Dance", "music_note"),
        ("edit", "Edit", "content_cut"),
        ("train", "Train", "model_training"),
    )
}
