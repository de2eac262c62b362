"""The dashboard's pages, one module each: `page()` draws it. `parts` is what they share."""

from __future__ import annotations

from typing import NamedTuple


class PageEntry(NamedTuple):
    """A page: its name, its icon, and the module whose function `page` draws it."""

    name: str
    icon: str
    module: str
    reads_on: bool = False  # Whether it goes over to a steadier clip that comes, if none is chosen


# Address -> page, in the order of the navigation.
PAGES = {
    address: PageEntry(name, f":material/{icon}:", f"{__name__}.{address}", *more)
    for address, name, icon, *more in (
        ("data", "Data", "directions_run"),
        ("manifold", "Manifold", "bubble_chart", True),
        ("channels", "Channels", "waves"),
        ("matches", "Matches", "join_inner"),
        ("control", "Control", "route"),
        ("dance", "Dance", "music_note"),
        ("edit", "Edit", "content_cut"),
        ("train", "Train", "model_training"),
    )
}
