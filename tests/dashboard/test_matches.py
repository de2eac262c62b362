"""Page Matches: what is nearest in phase and in pose, their distances, one of them as a file."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.dashboard.parts import demo
from deepphase.apps.dashboard.parts.collection import OpenClips, OpenModel
from deepphase.apps.dashboard.parts.databases import (
    BY_PHASE,
    BY_POSE,
    PHASE,
    build_searched,
    find,
    matched_take,
)
from deepphase.apps.dashboard.parts.encodings import encodings
from deepphase.corpus.store import write_store
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import opened, players, words


@pytest.fixture(scope="module")
def pair() -> tuple[OpenClips, OpenModel]:
    model = demo.demo_model()
    clips = OpenClips("demo", "demo", "demo", demo.demo_clips())
    return clips, OpenModel("demo", "demo", model.sha256, model)


@pytest.fixture(scope="module")
def databases(pair):
    return build_searched(*pair, PHASE), build_searched(*pair, "full_pose")


@pytest.fixture(scope="module")
def answer(pair, databases):
    return find(*databases, pair[1].extractor.signals, "walk", 300, 3)


def test_matches_are_the_nearest_by_their_own_measure(databases, answer):
    """No offered frame outside the query's neighbourhood is nearer than the first match."""
    for by, searched in zip((BY_PHASE, BY_POSE), databases, strict=True):
        database = searched.database
        distances = np.linalg.norm(database.features - database.features[answer.row], axis=1)
        distances[~database.offered] = np.inf
        start, stop = database.neighbourhood(answer.row, 1.0)
        distances[start:stop] = np.inf
        first = answer.of(by)[0]
        assert first.moment.row == distances.argmin()
        own = first.phase_distance if by == BY_PHASE else first.pose_distance
        assert own == pytest.approx(distances.min(), rel=1e-4)
        assert [each.rank for each in answer.of(by)] == [1, 2, 3]


def test_phases_are_not_read_twice(pair, databases):
    walk = encodings(*pair).phases(0)
    known = databases[0].database.phases
    np.testing.assert_array_equal(known.phase[: len(walk)], walk.parameters.phase)


def test_a_walk_matches_walking_one_cycle_on(answer):
    first = answer.of(BY_POSE)[0]
    assert first.moment.clip in ("walk", "medley")
    assert first.joint_distance_m < 0.05
    assert answer.others.shape[1] == 2
    assert np.median(answer.others[:, 1]) > 3 * first.pose_distance


def test_a_match_says_what_is_alike_and_what_is_not(pair, databases, answer):
    database, signals = databases[0].database, pair[1].extractor.signals
    for each in answer.found:
        assert each.furthest in signals.joints
        assert each.furthest_m >= each.joint_distance_m
    phases = database.phases
    for each in answer.found[:2]:
        one, other, weights = (
            *(np.exp(2j * np.pi * phases.phase[row]) for row in (answer.row, each.moment.row)),
            phases.amplitude[[answer.row, each.moment.row]].sum(0),
        )
        apart = np.abs(np.angle(other / one)) / (2 * np.pi)
        assert each.cycles_apart == pytest.approx((apart * weights).sum() / weights.sum(), abs=1e-4)
    by_phase, by_pose = answer.of(BY_PHASE), answer.of(BY_POSE)
    assert np.mean([e.cycles_apart for e in by_phase]) <= 0.02
    assert by_pose[0].joint_distance_m <= min(e.joint_distance_m for e in by_phase) + 0.02


def test_only_elsewhere(pair, databases):
    answer = find(*databases, pair[1].extractor.signals, "walk", 300, 3, elsewhere=True)
    assert answer.found
    assert all(each.moment.clip != "walk" for each in answer.found)


def test_all_bodies_stand_aligned_at_the_moment(databases, answer):
    take = matched_take(databases[0].database, answer, 2.0)
    assert [actor.name for actor in take.actors] == [
        "query",
        *(f"phase {rank}" for rank in (1, 2, 3)),
        *(f"pose {rank}" for rank in (1, 2, 3)),
    ]
    places = []
    for actor in take.actors:
        frame = round((0.5 - actor.start_s) * actor.fps)
        places.append(actor.root_positions[frame][[0, 2]])
        np.testing.assert_allclose(actor.root_directions[frame], [0, 0, 1], atol=0.12)
    places = np.array(places)
    np.testing.assert_allclose(places[0], 0, atol=0.02)
    np.testing.assert_allclose(places[1:4, 1], places[1, 1], atol=0.02)
    assert (np.diff(places[1:4, 0]) > 1).all()


def test_the_page_plays_query_and_matches(monkeypatch):
    app = opened("matches", monkeypatch)
    (page,) = players(app)
    assert "phase 4" in page
    assert "pose 4" in page
    (table,) = app.dataframe
    assert list(table.value.columns)[:3] == ["Match", "At (s)", "Phase (standardised unit)"]
    assert len(table.value) == 8
    assert {each.label for each in app.get("download_button")} >= {"BVH", "GLB", "Table (CSV)"}
    assert "is nearest in phase: its phases are" in words(app)
    assert "where poses do" in words(app)
    (moment,) = [each for each in app.slider if each.label == "Moment (s)"]
    before = table.value["At (s)"].tolist()
    moment.set_value(8.0).run()
    assert not app.exception
    assert app.dataframe[0].value["At (s)"].tolist() != before


def test_posture_joins_the_search_by_phase(monkeypatch):
    app = opened("matches", monkeypatch)
    before = app.dataframe[0].value
    assert "does not use the pose" in words(app)
    (posture,) = [each for each in app.toggle if each.label == "With posture"]
    posture.set_value(True).run()
    assert not app.exception
    assert "uses the slow pose alone" in words(app)
    table = app.dataframe[0].value
    # The first four matches are those by phase, the last four those by pose, which stay.
    assert table["Joints (cm)"][:4].mean() <= before["Joints (cm)"][:4].mean()
    assert (table["Phase (standardised unit)"] != before["Phase (standardised unit)"]).all()
    np.testing.assert_array_equal(
        table["Pose (standardised unit)"][4:], before["Pose (standardised unit)"][4:]
    )


def test_another_rate_says_what_to_do(tmp_path, monkeypatch):
    write_store(tmp_path / "slow.store", [locomotion(3, 6.0, gait="walk", fps=30.0).clip])
    app = opened("matches", monkeypatch, tmp_path)
    assert "prepare the clips with" in words(app).lower()
    assert not players(app)


def test_one_short_clip_has_nothing_to_match(tmp_path, monkeypatch):
    write_store(tmp_path / "short.store", [locomotion(3, 1.2, gait="walk").clip])
    app = opened("matches", monkeypatch, tmp_path)
    assert "open a collection with more clips" in words(app)
