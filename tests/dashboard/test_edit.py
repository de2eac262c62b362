"""Page Edit: what it says without an editor, each kind of edit, undo and files."""

from __future__ import annotations

import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.editing.path_training import PathTraining, train_path
from deepphase.editing.train import train_editor
from deepphase.synthetic.locomotion import locomotion
from tests.dashboard.app_pages import opened, players, words
from tests.editing.conftest import tiny_config

pytestmark = pytest.mark.slow


def widget(app, label: str):
    kinds = ("button", "toggle", "text_input")
    return next(each for kind in kinds for each in app.get(kind) if each.label == label)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with clips and an editor with path networks."""
    place = tmp_path_factory.mktemp("edits")
    store = ClipStore.from_clips([locomotion(seed=seed, seconds=4.0).clip for seed in range(3)])
    store.save(place / "walks.store")
    config = tiny_config(**{"training.windows": 64})
    editor = train_editor(store, config, folder=place / "work", accelerator="cpu")
    editor = train_path(
        store, editor, PathTraining(32, 16), folder=place / "work2", accelerator="cpu"
    )
    editor.save(place / "walk.editor")
    return place


def test_without_an_editor_the_page_says_how_to_make_one(monkeypatch):
    app = opened("edit", monkeypatch)
    assert "No editor is in the folder" in words(app)
    assert "deepphase train editor" in words(app)


def test_edits_stand_beside_the_clip_and_are_undone(folder, monkeypatch):
    app = opened("edit", monkeypatch, folder)
    assert "Nothing broken was found" in words(app)
    assert "This is the clip as it is" in words(app)
    assert widget(app, "Apply").disabled
    assert widget(app, "Undo").disabled
    widget(app, "Find what is broken").set_value(False).run()
    widget(app, "Apply").click().run()
    assert not app.exception
    assert "1. repaired" in words(app)
    assert '"after"' in players(app)[0]
    app.segmented_control[0].set_value("Path").run()
    widget(app, "Apply").click().run()
    assert "2. wave at" in words(app)
    assert [each.label for each in app.get("download_button")][:1] == ["Clip (BVH)"]
    widget(app, "Undo").click().run()
    assert "2." not in words(app)
    widget(app, "Undo").click().run()
    assert '"after"' not in players(app)[0]


def test_mistakes_are_sentences(folder, monkeypatch):
    app = opened("edit", monkeypatch, folder)
    app.segmented_control[0].set_value("In between").run()
    widget(app, "Key frames").set_value("0, many").run()
    assert not app.exception
    assert "frames are numbers" in words(app)
    app.segmented_control[0].set_value("Style").run()
    assert widget(app, "Apply").disabled
    app.segmented_control[0].set_value("Constrain").run()
    assert not app.exception
    assert "y is up" in words(app)
