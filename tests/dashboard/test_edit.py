"""Page Edit: what it says without an editor, each kind of edit, undo and files."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store_writer import write_store
from deepphase.edit.control_training import train_path
from deepphase.edit.editor import MotionEditor
from deepphase.edit.training import train_editor
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import opened, players, words
from tests.edit.conftest import tiny_config

pytestmark = pytest.mark.slow


def widget(app, label: str):
    kinds = ("button", "toggle", "text_input")
    return next(each for kind in kinds for each in app.get(kind) if each.label == label)


def drawn_key(app, start: str) -> str:
    """Name in the session of what is drawn for a first edit."""
    chosen = {each.key: each.value for each in app.selectbox}
    return f"{start} {chosen['edited clip']} {chosen['editor']} 0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with clips and an editor with path networks."""
    place = tmp_path_factory.mktemp("edits")
    store = ClipStore.from_clips([locomotion(seed=seed, seconds=4.0).clip for seed in range(3)])
    store.save(place / "walks.store")
    config = tiny_config(**{"training.windows": 64})
    editor = train_editor(store, config, folder=place / "work", accelerator="cpu")
    editor = train_path(
        store, editor, windows=32, batch_size=16, folder=place / "work2", accelerator="cpu"
    )
    editor.save(place / "walk.editor")
    return place


def test_without_an_editor_the_shipped_one_fills_in_between_at_once(monkeypatch):
    app = opened("edit", monkeypatch)
    assert "The shipped one learnt from CMU" in words(app).replace("\\", "")
    assert "between 23 keys" in words(app)
    assert '"after"' in players(app)[0]
    assert app.segmented_control[0].options == ["In between", "Repair"]
    widget(app, "Undo").click().run()
    assert not app.exception
    assert "This is the clip as it is" in words(app)
    app.segmented_control[0].set_value("Repair").run()
    assert not app.exception
    assert "No damage found" in words(app)


def test_a_body_on_four_legs_gets_the_example(tmp_path, monkeypatch):
    write_store(tmp_path / "dog.store", [locomotion(1, 3.0, body="quadruped", gait="walk").clip])
    app = opened("edit", monkeypatch, tmp_path)
    assert "The shipped editor is for bodies on two legs" in words(app)
    assert "between 23 keys" in words(app)
    assert '"after"' in players(app)[0]


def test_an_editor_is_trained_on_the_open_clips_and_kept(folder, tmp_path, monkeypatch):
    """In a folder it is a file there; without one it belongs to the session."""
    seen = []

    def trained(store, config, **given):
        seen.append((len(store), config.training.windows))
        return MotionEditor.load(folder / "walk.editor")

    monkeypatch.setattr("deepphase.edit.training.train_editor", trained)
    shutil.copytree(folder / "walks.store", tmp_path / "walks.store")
    for place in (tmp_path, None):
        app = opened("edit", monkeypatch, place)
        widget(app, "Train the editor").click().run()
        assert not app.exception
        chosen = next(each for each in app.selectbox if each.key == "editor")
        kept = tmp_path / "trainings" / "My editor.editor"
        assert chosen.value == (f"file:{kept}" if place else "session:My editor")
        assert widget(app, "Apply")
    assert (tmp_path / "trainings" / "My editor.editor").is_file()
    assert seen[0] == (3, 20_000)


def test_edits_stand_beside_the_clip_and_are_undone(folder, monkeypatch):
    app = opened("edit", monkeypatch, folder)
    assert "No damage found" in words(app)
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
    assert "2. wave, " in words(app)
    assert [each.label for each in app.get("download_button")][:2] == ["BVH", "GLB"]
    widget(app, "Undo").click().run()
    assert "2." not in words(app)
    widget(app, "Undo").click().run()
    assert '"after"' not in players(app)[0]


def test_what_is_drawn_is_followed_and_undone(folder, monkeypatch):
    app = opened("edit", monkeypatch, folder)
    app.segmented_control[0].set_value("In between").run()
    assert "The poses of the keys stay" in words(app)
    # What the timeline sets when the second key was dragged by a third of a second.
    key = drawn_key(app, "keys In between")
    keys = app.session_state[key]
    frames = [frame for frame, _ in keys]
    drawn = [keys[0], [keys[1][0], keys[1][1] + 20], *keys[2:]]
    app.session_state[key], app.session_state["edit drawn"] = drawn, True
    app.run()
    assert not app.exception
    assert f"1. between {len(frames)} keys" in words(app)
    assert '"after"' in players(app)[0]
    # A further drag starts from the same clip, so the pose of each key is still that of its frame.
    drawn = [*drawn[:2], [drawn[2][0], drawn[2][1] + 10], *drawn[3:]]
    app.session_state[key], app.session_state["edit drawn"] = drawn, True
    app.run()
    edits = app.session_state["edits"][1]
    assert [step.start is edits.given for step in edits.steps] == [True, True]
    made = edits.clip
    for frame, at in drawn:
        np.testing.assert_allclose(made.rotations[at], edits.given.rotations[frame], atol=1e-6)
    widget(app, "Undo").click().run()
    assert app.session_state[key][2] == keys[2]
    assert len(edits.steps) == 1
    # An edit that is applied stays, and the next one starts from it.
    widget(app, "Apply").click().run()
    assert len(edits.steps) == 1
    assert edits.start("In between") == (edits.clip, 1)
    widget(app, "Undo").click().run()
    assert not edits.steps
    assert app.session_state[key] == keys


def test_a_path_is_drawn(folder, monkeypatch):
    app = opened("edit", monkeypatch, folder)
    app.segmented_control[0].set_value("Path").run()
    next(each for each in app.segmented_control if each.label == "Path").set_value("Draw").run()
    assert "at this speed" in words(app)
    widget(app, "Apply").click().run()
    assert not app.exception
    edits = app.session_state["edits"][1]
    assert edits.steps[0].words.startswith("drawn, ")
    hips = edits.clip.local_positions()[:, edits.clip.skeleton.names.index("Hips")]
    # The map begins with an S that ends to the right of where it starts.
    away = hips[-1, ::2] - hips[0, ::2]
    assert away[0] / away[1] == pytest.approx(-2.2 / 3.6, abs=0.1)


def test_mistakes_are_sentences(folder, monkeypatch):
    app = opened("edit", monkeypatch, folder)
    widget(app, "Find what is broken").set_value(False).run()
    key = drawn_key(app, "mask Repair")
    last = app.session_state["edits"][1].given
    app.session_state[key], app.session_state["edit drawn"] = [[0, 0, len(last) - 1]], True
    app.run()
    assert not app.exception
    assert "The damage covers every joint of every frame" in words(app)
    app.segmented_control[0].set_value("Style").run()
    assert widget(app, "Apply").disabled
    app.segmented_control[0].set_value("Constrain").run()
    assert not app.exception
    assert "y is up" in words(app)
