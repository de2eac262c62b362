"""The player as one self-contained HTML file, for browsers, reports and iframes."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from deepphase.atomic_write import atomic_write
from deepphase.errors import ParameterError
from deepphase.figures.page_data import json_in_page
from deepphase.figures.player.description import describe_take, palette
from deepphase.figures.player.packing import PackedArrays
from deepphase.figures.player.take import Take

_FOLDER = Path(__file__).parent
# Concatenated in this order to one script.
_SCRIPTS = (
    "data",
    "clock",
    "drawing",
    "camera",
    "ground",
    "stage",
    "wheels",
    "manifold",
    "gating",
    "curves",
    "lane_kinds",
    "lanes",
    "overview",
    "controls",
    "player",
)
# A page of this size opens within seconds; browsers refuse texts of half a gigabyte.
MAX_BYTES = 256_000_000
# The page may load nothing from the network, whatever a name contains.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; media-src blob:"
)
LOOKS = ("auto", "light", "dark")


def player_html(
    takes: Sequence[Take],
    *,
    title: str = "Player",
    look: str = "auto",
    max_bytes: int = MAX_BYTES,
) -> str:
    """The HTML of a page that plays takes, alone or in an iframe.

    Parameters
    ----------
    takes
        Takes to choose from; without any, the page shows a message.
    title
        Title of the page.
    look
        "light", "dark", or "auto" for the browser's colour scheme. The page has a switch.
    max_bytes
        Maximum size of the data in the page.

    Raises
    ------
    ParameterError
        If the page would be larger, or the look is unknown.
    """
    if look not in LOOKS:
        raise ParameterError(f"unknown look {look!r}", hint=f"choose one of {', '.join(LOOKS)}")
    packed = PackedArrays()
    content = {
        "title": title,
        "look": look,
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
    arrays = "\n".join(
        f'<script type="text/plain" id="array-{index}">{packed.text(index)}</script>'
        for index in range(len(packed))
    )
    parts = {
        "policy": _POLICY,
        "title": html.escape(title).encode("utf-8", "replace").decode("utf-8"),
        "style": _asset("player.css"),
        "scene": scene,
        "arrays": arrays,
        "script": "\n".join(_asset(f"{name}.js") for name in _SCRIPTS),
    }
    # One pass over the template, so that inserted text is never expanded.
    segments = _asset("template.html").split("%%")
    return "".join(parts[each] if at % 2 else each for at, each in enumerate(segments))


def save_player(
    path: str | Path,
    takes: Sequence[Take],
    *,
    title: str = "Player",
    look: str = "auto",
    max_bytes: int = MAX_BYTES,
) -> Path:
    """Write the page of `player_html` atomically, and return its path.

    Raises
    ------
    ParameterError
        As `player_html`.
    CheckpointError
        If the file cannot be written.
    """
    content = player_html(takes, title=title, look=look, max_bytes=max_bytes).encode("utf-8")
    with atomic_write(path) as file:
        file.write(content)
    return Path(path)


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
