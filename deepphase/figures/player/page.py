"""The player as one HTML file that needs nothing else: for a browser, a report or an iframe."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from deepphase.atomic_write import atomic_write
from deepphase.errors import ParameterError
from deepphase.figures.page_data import json_in_page
from deepphase.figures.player.description import described, palette
from deepphase.figures.player.packing import PackedArrays
from deepphase.figures.player.take import Take

_FOLDER = Path(__file__).parent
# In this order they make one script.
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
# A page of this size opens in some seconds; browsers refuse texts of half a gigabyte.
MAX_BYTES = 256_000_000
# Nothing may be fetched from anywhere, whatever a name says.
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
    """A page that plays takes; it may stand alone or in an iframe.

    Parameters
    ----------
    takes
        What can be chosen; without any, the page says so.
    title
        Of the page.
    look
        "light" or "dark"; "auto" follows the reader's. The page has a switch in any case.
    max_bytes
        The largest page that is wanted.

    Raises
    ------
    ParameterError
        Where the page would be larger, or the look is unknown.
    """
    if look not in LOOKS:
        raise ParameterError(f"no look {look!r}", hint=f"choose one of {', '.join(LOOKS)}")
    packed = PackedArrays()
    content = {
        "title": title,
        "look": look,
        "palette": palette(),
        "takes": [described(take, packed) for take in takes],
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
    # One pass over the template: nothing that is put in is looked at again.
    pieces = _asset("template.html").split("%%")
    return "".join(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def save_player(
    path: str | Path,
    takes: Sequence[Take],
    *,
    title: str = "Player",
    look: str = "auto",
    max_bytes: int = MAX_BYTES,
) -> Path:
    """Write the page of `player_html`, whole or not at all, and return its path.

    Raises
    ------
    ParameterError
        As `player_html`.
    CheckpointError
        Where the disk or the folder refuses.
    """
    content = player_html(takes, title=title, look=look, max_bytes=max_bytes).encode("utf-8")
    with atomic_write(path) as file:
        file.write(content)
    return Path(path)


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
