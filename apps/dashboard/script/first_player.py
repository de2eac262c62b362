"""The player that a page opens with, which the browser asks for before it has Streamlit's scripts.

A first visit reads a hundred scripts before the first element of a page can be drawn. The page's
HTML brings a frame along that plays at once; the page's player takes it over where it plays the
same (see `player_frame.js`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import streamlit as st

from deepphase.apps.dashboard.pages import channels
from deepphase.apps.dashboard.parts import choosers, collection, encodings, folder
from deepphase.apps.dashboard.parts.encodings import Encodings
from deepphase.apps.dashboard.parts.widgets import player_page
from deepphase.errors import DeepPhaseError
from deepphase.viewer.take import Take

# Seconds for which the answer is kept: the folder may be read further.
_FRESH_S = 2.0


# Page -> what its player opens with.
_TAKES: Mapping[str, Callable[[Encodings, int, choosers.Span], Take]] = {
    **dict.fromkeys(
        ("data", "control", "dance", "edit", "train"),
        lambda read, index, span: collection.opening_take(read.store, index, span),
    ),
    **dict.fromkeys(("manifold", "matches"), Encodings.opening_take),
    "channels": channels.take_with_joints,
}


@st.cache_resource(ttl=_FRESH_S, max_entries=16, show_spinner=False)
def first_player(page: str, address: Mapping[str, str], *, dark: bool) -> str:
    """The HTML of a page's first player, as of its address; empty if it opens with none."""
    make, given = _TAKES.get(page), folder.configured_folder()
    found = None if given is None else folder.look_into(given)
    if make is None or not (found is None or folder.is_readable(found)):
        return ""
    # The page says what is wrong.
    with suppress(DeepPhaseError, OSError):
        opened = collection.open_ahead(found)
        if opened is None:
            return ""
        clips, model = opened
        own = {collection.CLIPS_KEY: clips.id, collection.MODEL_KEY: model.id}
        if any(address.get(key, id) != id for key, id in own.items()):
            return ""
        read = encodings.encodings(clips, model)
        index, at_s = encodings.opening_moment(read)
        names, moment = (
            read.store.names,
            address.get(choosers.STOPPED_KEY) or address.get(choosers.MOMENT_KEY),
        )
        if address.get(choosers.CLIP_KEY) in names:
            index, at_s = names.index(address[choosers.CLIP_KEY]), 0.0
        span = choosers.Span.around(
            read.store, index, at_s if moment is None else choosers.seconds_of(moment)
        )
        name, html = player_page(make(read, index, span), dark=dark, **span.player)
        return html.replace("<html", f'<html data-player="{name}"', 1)
    return ""
