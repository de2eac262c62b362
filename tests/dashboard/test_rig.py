"""Page Rig: what it says without a rig, the rig beside the clip, and keys."""

from __future__ import annotations

import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import write_store
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.config import RigConfig
from deepphase.rigs.inverse import RigInverse
from deepphase.rigs.training import train_rig
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import opened, players, words
from tests.rigs.test_inverse import TINY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with clips and a rig."""
    place = tmp_path_factory.mktemp("rigged")
    store = ClipStore.from_clips([locomotion(seed=seed, seconds=1.0).clip for seed in range(2)])
    store.save(place / "walks.store")
    config = RigConfig.load("default", **TINY)
    body = BodyRig.of_clip(store.clip(0))
    made = train_rig(store, body, config, folder=place / "work", accelerator="cpu")
    made.save(place / "hero.rig")
    return place


@pytest.mark.parametrize("body", ["biped", "quadruped"])
def test_without_a_rig_that_of_the_body_is_keyed_by_rule(body, tmp_path, monkeypatch):
    write_store(tmp_path / "walks.store", [locomotion(1, 2.0, body=body, gait="walk").clip])
    app = opened("rig", monkeypatch, tmp_path)
    assert "An example that needs no training" in words(app)
    assert "deepphase train rig" in words(app)
    assert '"rig"' in players(app)[0]
    assert app.dataframe[0].value["Mean (cm)"].max() < 0.5
    assert [each.label for each in app.get("download_button")][:1] == ["Keys (JSON)"]


def test_a_rig_is_made_for_the_open_clips_and_kept(folder, tmp_path, monkeypatch):
    def trained(store, rig, **given):
        assert isinstance(rig, BodyRig)
        return RigInverse.load(folder / "hero.rig")

    monkeypatch.setattr("deepphase.rigs.training.train_rig", trained)
    (tmp_path / "walks.store").write_bytes((folder / "walks.store").read_bytes())
    app = opened("rig", monkeypatch, tmp_path)
    next(each for each in app.button if each.label == "Train the rig").click().run()
    assert not app.exception
    kept = tmp_path / "trainings" / "My rig.rig"
    assert next(each for each in app.selectbox if each.key == "rig").value == f"file:{kept}"
    assert kept.is_file()


def test_the_rig_stands_beside_the_clip(folder, monkeypatch):
    app = opened("rig", monkeypatch, folder)
    # The clip alone plays until its controls are found.
    assert '"rig"' not in players(app)[0]
    button = next(each for each in app.button if each.label == "Find controls")
    button.click().run()
    assert not app.exception
    assert '"rig"' in players(app)[0]
    rows = app.dataframe[0].value
    assert {"left leg", "trunk"} <= set(rows["Part"])
    assert rows["Mean (cm)"].max() < 2.0
    assert len(app.multiselect[0].value) == 4
    assert [each.label for each in app.get("download_button")][:1] == ["Keys (JSON)"]
    # Another method has not been run yet.
    next(each for each in app.selectbox if each.label == "Method").set_value("regression").run()
    assert '"rig"' not in players(app)[0]
