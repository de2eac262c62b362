"""Names of clips, labels, files and models on every page: nothing in them is obeyed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf.message import Message

from deepphase.apps.dashboard.pages import PAGES
from deepphase.apps.demo import PHASES
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store_writer import write_store
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import components, opened, players
from tests.hostile_names import HOSTILE_NAMES

# What Markdown, HTML and Streamlit's own directives would act on, unless behind a backslash.
OBEYED = (
    "<script>alert",
    "<img src=x",
    "[walk](javascript",
    "![walk](",
    "$x$",
    ":smile:",
    ":red[",
    "**walk**",
    "~~skip~~",
    "\n- run",
    "\u202e",
    "\x1b",
)
# Elements that show texts literally.
LITERAL = ("iframe", "dataframe", "selectbox", "multiselect", "bidi_component")


# What plotly would act on.
HTML = ("<script>alert", "<img src=x", "<b>%{text}", "\\u202e", "\\u001b")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A store of clips with hostile names and labels, and a model beside it."""
    folder = tmp_path_factory.mktemp("hostile") / "**walk** $x$ :smile: a__b"
    folder.mkdir()
    clip = locomotion(3, 2.2, gait="walk").clip
    clips = [
        replace(clip, name=name, labels={"style": name, "**walk** $x$": "1"})
        for name in HOSTILE_NAMES
    ]
    write_store(folder / "**walk** $x$ :smile: <img src=x>.store", ClipStore.from_clips(clips))
    shutil.copy(PHASES, folder / "**walk** $x$ :smile: <img src=x>.model")
    (folder / "**walk** $x$ :red[walk].store").write_bytes(b"damaged")
    return folder


def texts(message: Message, path: str = "") -> Iterator[tuple[str, str]]:
    """All strings of a message, with the names of the fields that lead to them."""
    for field, value in message.ListFields():
        name = f"{path}.{field.name}"
        values = value if isinstance(value, (list, tuple)) or hasattr(value, "append") else [value]
        for each in values:
            if isinstance(each, Message):
                yield from texts(each, name)
            elif isinstance(each, str):
                yield name, each


# Page Dance shows names of dancers and songs, in the choosers that the other pages have.
@pytest.mark.parametrize("page", [each for each in PAGES if each != "dance"])
def test_no_page_obeys_a_name(page, folder, monkeypatch):
    app = opened(page, monkeypatch, folder)
    found = []
    for part in (app.main, app.sidebar):
        for element in part:
            proto = getattr(element, "proto", None)
            if proto is None or element.type in LITERAL:
                continue
            signs = HTML if element.type == "plotly_chart" else OBEYED
            for name, text in texts(proto):
                found += [
                    (element.type, name, sign, text[:200])
                    for sign in signs
                    # Keys of widgets are not shown.
                    if not name.endswith(".id") and re.search(rf"(?<!\\){re.escape(sign)}", text)
                ]
    assert not found, found
    for given in components(app):
        # Letters that turn the text around them are none of a name's; players hide them.
        stated = json.dumps({name: each for name, each in given.items() if name != "page"})
        assert not re.search(r"\\u(202e|001b|0000)", stated)
    for player in players(app):
        assert "<script>alert" not in player
        assert "<img src=x" not in player
        assert "onclick='alert" not in player.replace("\\u0027", "")
