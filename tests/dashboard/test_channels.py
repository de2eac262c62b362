"""Page Channels: the clip with its phases, its windows, what channels follow, what is alike."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.dashboard.pages.channels import (
    clip_window,
    followed,
    phases_table,
    take_with_joints,
)
from deepphase.apps.dashboard.parts.choosers import Span
from deepphase.apps.dashboard.parts.collection import OpenModel, demo_clips, demo_model
from deepphase.apps.dashboard.parts.encodings import Encodings, encodings
from deepphase.corpus.store_writer import write_store
from deepphase.formats.bvh.writer import save_bvh
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import opened, players
from tests.synthetic.motion_checks import constant_pose


@pytest.fixture(scope="module")
def read() -> Encodings:
    model = demo_model()
    return encodings(demo_clips(), OpenModel("demo", "demo", model.sha256, model))


def test_it_opens_on_a_clip_with_its_phases(monkeypatch):
    app = opened("channels", monkeypatch)
    (page,) = players(app)
    assert "walk" in page
    assert [each.label for each in app.selectbox if each.label == "Clip"] == ["Clip"]
    assert len(app.get("plotly_chart")) == 2
    assert {each.label for each in app.get("download_button")} >= {
        "Player (HTML)",
        "Phases (npz)",
        "Table (CSV)",
        "Figure (HTML)",
    }


@pytest.mark.parametrize(
    ("section", "charts"),
    [("Reconstruction", 1), ("What each channel follows", 1), ("Similar frames", 1)],
)
def test_each_section_draws(section, charts, monkeypatch):
    app = opened("channels", monkeypatch)
    app.session_state["section"] = section
    app.run()
    assert not app.exception
    assert len(app.get("plotly_chart")) == charts
    assert not app.get("error")


def test_the_player_knows_the_joints_of_each_channel(read):
    span = Span(0.0, float(read.store.lengths[0]) / read.store.fps, 0.0)
    known = take_with_joints(read, 0, span)
    shares = followed(read, 0)
    given = known.channels.joint_shares
    names = known.actors[0].joint_names
    assert given.shape == (5, len(names))
    np.testing.assert_allclose(
        given[:, names.index("Head")], shares.shares[:, shares.joints.index("Head")]
    )
    assert not given[:, [at for at, name in enumerate(names) if name.endswith(" tip")]].any()


def test_two_clips_are_compared(monkeypatch):
    app = opened("channels", monkeypatch, query={"compared clip": "run"})
    app.selectbox(key="compared clip").select("run").run()
    assert not app.exception
    one, other = players(app)
    assert '"name":"walk"' in one
    assert '"name":"run"' in other


def test_shares_of_the_demo(read):
    """Arms and legs of a walk swing at the pace of one channel at least."""
    alone = followed(read, 0)
    assert alone.shares.shape == (5, len(alone.joints))
    assert max(alone.parts["left arm"].max(), alone.parts["left leg"].max()) > 0.5
    assert sum(alone.energy.values()) == pytest.approx(1.0)


def test_a_window_is_that_of_the_moment_and_the_table_has_all_parameters(read):
    example = clip_window(read, read.extractor, 0, 5.0)
    assert example.at == pytest.approx(5.0)
    assert example.explained > 0.3
    at_frame = read.phases(0).parameters[300]
    np.testing.assert_allclose(example.parameters.phase, at_frame.phase, atol=1e-3)
    phases = read.phases(0)
    table = phases_table(phases)
    assert len(table) == 1 + 4 * 5
    assert {len(values) for values in table.values()} == {len(phases)}
    np.testing.assert_array_equal(table["frequency_2 (Hz)"], phases.parameters.frequency[:, 2])


def test_a_long_clip_is_shown_in_parts(tmp_path, monkeypatch):
    made = locomotion(5, 70.0, gait="walk")
    write_store(tmp_path / "long.store", [made.clip])
    app = opened("channels", monkeypatch, tmp_path)
    (start,) = [each for each in app.slider if each.label.startswith("From")]
    assert start.max == pytest.approx(10.0)
    start.set_value(5.0).run()
    assert not app.exception
    assert len(players(app)) == 1


def test_a_skeleton_without_a_model_is_read_by_the_shipped_one(tmp_path, monkeypatch):
    save_bvh(constant_pose(2.0, body="quadruped"), tmp_path / "dog.bvh")
    app = opened("channels", monkeypatch, tmp_path)
    assert app.selectbox(key="model").value == "any skeleton"
    assert not app.exception
