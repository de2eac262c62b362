"""Page Matches: what is nearest in phase and in pose, their distances, one of them as a file."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.apps.dashboard.pages.matches import (
    BY_PHASE,
    BY_POSE,
    PHASE,
    POSES,
    build_searched,
    find,
    matched_take,
)
from deepphase.apps.dashboard.parts import encodings as encodings_part
from deepphase.apps.dashboard.parts.collection import OpenModel, demo_clips, demo_model
from deepphase.apps.dashboard.parts.encodings import Encodings, encodings
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store_writer import write_store
from deepphase.motion.clip import joint_positions
from deepphase.synthetic.gait_motion import locomotion
from tests.dashboard.app_pages import opened, players, words


@pytest.fixture(scope="module")
def read() -> Encodings:
    model = demo_model()
    return encodings(demo_clips(), OpenModel("demo", "demo", model.sha256, model))


@pytest.fixture(scope="module")
def databases(read):
    return build_searched(read, PHASE), build_searched(read, POSES["All joints"])


@pytest.fixture(scope="module")
def answer(databases):
    return find(*databases, "walk", 300, 3)


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
        found = answer.of(by)
        assert [each.rank for each in found] == [1, 2, 3]
        # The distance that is shown ranks them, and its parts add up to it.
        shown = [each.distances[by] for each in found]
        assert shown == sorted(shown)
        ratios = [each.distances[by] / each.moment.distance for each in found]
        np.testing.assert_allclose(ratios, ratios[0], rtol=1e-4)
        for each in found:
            assert len(each.terms) == len(answer.features[by])
            assert np.sqrt(each.terms.sum()) == pytest.approx(each.distances[by], rel=1e-4)


def test_distances_in_pose_are_those_of_joints_that_face_one_way(databases, answer):
    database = databases[1].database

    def joints(row):
        clip = database.clip(int(database.clip_of(row)))
        there = joint_positions(clip)[int(database.frame_of(row))]
        turn = Rotation.from_rotvec([0.0, -float(database.root_angles[row]), 0.0])
        return turn.apply(there - database.root_positions[row])

    names = database.layout.features[0].joints
    clip = database.clip(0)
    chosen = [clip.skeleton.index(name) for name in names]
    for each in answer.found:
        apart = np.linalg.norm((joints(each.moment.row) - joints(answer.row))[chosen], axis=1)
        rms = np.sqrt(np.mean(apart**2))
        assert each.distances[BY_POSE] == pytest.approx(100 * rms, abs=0.1)
        assert each.furthest == names[apart.argmax()]
        assert each.furthest_m == pytest.approx(apart.max(), abs=0.002)


def test_a_match_says_how_far_its_timing_is_off(databases, answer):
    phases = databases[0].database.phases
    for each in answer.found[:2]:
        one, other, weights = (
            *(np.exp(2j * np.pi * phases.phase[row]) for row in (answer.row, each.moment.row)),
            phases.amplitude[[answer.row, each.moment.row]].sum(0),
        )
        apart = np.abs(np.angle(other / one)) / (2 * np.pi)
        assert each.cycles_apart == pytest.approx((apart * weights).sum() / weights.sum(), abs=1e-4)
    by_phase, by_pose = answer.of(BY_PHASE), answer.of(BY_POSE)
    assert np.mean([e.cycles_apart for e in by_phase]) <= 0.02
    assert by_pose[0].distances[BY_POSE] <= min(e.distances[BY_POSE] for e in by_phase)


def test_only_elsewhere(databases):
    answer = find(*databases, "walk", 300, 3, elsewhere=True)
    assert answer.found
    assert all(each.moment.clip != "walk" for each in answer.found)


def test_all_bodies_stand_over_each_other_at_the_moment(databases, answer):
    take = matched_take(databases[0].database, answer, (BY_PHASE, BY_POSE), 2.0)
    assert [actor.name for actor in take.actors] == [
        "query",
        *(f"phase {rank}" for rank in (1, 2, 3)),
        *(f"pose {rank}" for rank in (1, 2, 3)),
    ]
    assert [actor.ghost for actor in take.actors] == [False] + 6 * [True]
    for actor in take.actors:
        frame = round((0.5 - actor.start_s) * actor.fps)
        np.testing.assert_allclose(actor.root_positions[frame][[0, 2]], 0, atol=0.02)
        np.testing.assert_allclose(actor.root_directions[frame], [0, 0, 1], atol=0.12)
    assert take.costs is None
    alone = matched_take(databases[0].database, answer, (BY_POSE,), 2.0).costs
    assert alone.unit == "cm"
    assert {"trunk", "left leg", "right arm"} <= set(alone.features)


def test_the_page_plays_query_and_matches(monkeypatch):
    app = opened("matches", monkeypatch)
    (page,) = players(app)
    assert "phase 4" in page
    assert "pose 4" not in page
    assert "Ranked by the distance in phase and posture, in %" in words(app)
    (table,) = app.dataframe
    assert list(table.value.columns)[:4] == ["Match", "At (s)", "Phase (%)", "Pose (cm)"]
    assert len(table.value) == 8
    assert table.value["Phase (%)"][:4].is_monotonic_increasing
    assert table.value["Pose (cm)"][4:].is_monotonic_increasing
    assert {each.label for each in app.get("download_button")} >= {"BVH", "GLB", "Table (CSV)"}
    (moment,) = [each for each in app.slider if each.label == "Moment (s)"]
    before = table.value["At (s)"].tolist()
    moment.set_value(8.0).run()
    assert not app.exception
    assert app.dataframe[0].value["At (s)"].tolist() != before
    app.segmented_control[0].set_value("Pose").run()
    assert not app.exception
    (page,) = players(app)
    assert "pose 4" in page
    assert "phase 4" not in page
    assert "distance of all joints in centimetres" in words(app)


def test_another_rate_says_what_to_do(tmp_path, monkeypatch):
    write_store(tmp_path / "slow.store", [locomotion(3, 6.0, gait="walk", fps=30.0).clip])
    app = opened("matches", monkeypatch, tmp_path)
    assert "prepare the clips with" in words(app).lower()
    assert not players(app)


def test_the_moment_of_a_large_collection_plays_while_its_clips_are_read(monkeypatch, tmp_path):
    clips = [locomotion(seed, 4.0, gait="walk").clip for seed in range(3)]
    store = ClipStore.from_clips(replace(each, name=f"walk {n}") for n, each in enumerate(clips))
    write_store(tmp_path / "walks.store", store)
    read, ready = Encodings._read, threading.Event()

    def patiently(self, index):
        if index != 1:
            ready.wait()
        read(self, index)

    monkeypatch.setattr(Encodings, "_read", patiently)
    monkeypatch.setattr(encodings_part, "_AT_ONCE_FRAMES", 0)
    app = opened("matches", monkeypatch, tmp_path, query={"clip": "walk 1"})
    (page,) = players(app)
    assert "walk 1" in page
    assert "matched moment" not in page
    next(each for each in app.button if each.label == "Cancel").click().run()
    ready.set()
    app.run()
    assert "Phases of" in words(app)
    next(each for each in app.button if each.label == "Read on").click().run()
    until = time.monotonic() + 180
    while "matched moment" not in players(app)[0]:
        assert time.monotonic() < until
        app.run()
    assert not app.exception
