"""Costs by feature, and decisions of players: what was compared, what was chosen, and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.matching.player.decisions import decisions
from deepphase.matching.player.player import PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.matching.search.cost_terms import cost_terms
from deepphase.matching.search.moments import nearest_moments
from deepphase.steering.made_paths import made_path
from deepphase.steering.run import rollout, start_on_path
from tests.matching.test_player import SPEED, opened, walking_store

SECONDS = 5.0


@pytest.fixture(scope="module")
def walks():
    return opened(walking_store((-1.2, -0.6, 0.0, 0.6, 1.2), seconds=4.0))


@pytest.fixture(scope="module")
def square(walks):
    """A source, the run of one of its players, and the player."""
    source = PlayerSource(*walks, labels={"way": ("left", "right")})
    runner, goals = start_on_path(source, made_path("square", SPEED, SECONDS), characters=2)
    return source, rollout(runner, goals, SECONDS), runner


def test_terms_are_squared_distances_of_features(walks):
    database, _, searcher = walks
    query = database.query(np.array([40]))[0] + np.float32(0.2)
    found = nearest_moments(database, searcher, query, 5)
    rows = database.features[np.array([each.row for each in found])]
    terms = cost_terms(database.layout, query, rows)
    assert terms.shape == (5, len(database.layout.features))
    np.testing.assert_allclose(np.sqrt(terms.sum(1)), [each.distance for each in found], rtol=1e-6)
    for column, where in enumerate(database.layout.slices.values()):
        expected = ((rows[:, where] - query[where]).astype(np.float64) ** 2).sum(1)
        np.testing.assert_allclose(terms[:, column], expected, rtol=1e-5)
    # A change of one feature's values changes its term alone.
    other = query.copy()
    other[database.layout.slices["foot_velocity"]] += 1
    changed = cost_terms(database.layout, other, rows) != terms
    assert changed.any(0).tolist() == [name == "foot_velocity" for name in database.layout.slices]


def test_decisions_are_those_of_the_run(square):
    source, run, runner = square
    found = decisions(runner.log, source.database, source.searcher)
    assert len(found) >= SECONDS / source.settings.search_interval_s - 1
    frames = [each.frame for each in found]
    assert frames == sorted(set(frames))
    assert {f for f in frames if run.jumped[0, f]} == set(np.flatnonzero(run.jumped[0]).tolist())
    for each in found:
        assert each.marks[0] == "playing"
        if each.frame:
            assert each.rows[0] == run.tracks["row"][0, each.frame - 1]
        assert ("chosen" in each.marks) == run.jumped[0, each.frame]
        if run.jumped[0, each.frame]:
            # The row of a frame is one step behind the jump.
            assert each.marks[1] == "chosen"
            assert each.rows[1] + 1 == run.tracks["row"][0, each.frame]
        taken = 1 if each.marks[1:2] == ("chosen",) or "not smooth" in each.marks else 0
        assert each.costs[taken] == pytest.approx(run.tracks["cost"][0, each.frame], rel=1e-5)


def test_rejected_moments_are_the_nearest_that_may_be_played(square):
    source, _, runner = square
    database = source.database
    playable = database.rows_with(source.labels) & database.offered
    rows = np.flatnonzero(playable)
    for search, each in zip(
        runner.log.searches, decisions(runner.log, database, source.searcher), strict=True
    ):
        marks = np.array(each.marks)
        rejected = each.rows[marks == ""]
        assert len(rejected) == 10
        assert playable[rejected].all()
        costs = each.costs[marks == ""]
        assert (np.diff(costs) >= 0).all()
        clips = database.clip_of(each.rows)
        for one in range(len(each.rows)):
            near = (clips == clips[one]) & (
                np.abs(each.rows - each.rows[one]) <= 0.3 * database.fps
            )
            # The row that is jumped to may be near the one that plays, when a clip ends.
            assert near[2:].sum() - (one >= 2) == 0
        # Nothing nearer is left out, but what is near a moment of the list.
        nearer = rows[
            np.linalg.norm(database.features[rows] - search.query, axis=1) < costs[-1] - 1e-4
        ]
        apart = np.abs(nearer[:, None] - each.rows) > 0.3 * database.fps + 0.5
        apart |= database.clip_of(nearer)[:, None] != clips
        assert not apart.all(1).any()


def test_reasons_state_the_costs_and_the_limit(square):
    source, run, runner = square
    settings = source.settings
    kinds, shares = set(), set()
    for search, each in zip(
        runner.log.searches,
        decisions(runner.log, source.database, source.searcher),
        strict=True,
    ):
        assert f"continuing costs {each.costs[0]:.2f}" in each.reason
        bound = runner.log.policy.improved(each.costs[0], search.min_improvement)
        share = bound / each.costs[0]
        shares.add(1.0 - search.min_improvement)
        limit = f"less than {share * each.costs[0]:.2f}, {share:.0%} of the first"
        if run.jumped[0, each.frame] and not search.must_jump:
            kinds.add("jumps")
            assert each.reason.startswith("It jumps: ")
            assert limit in each.reason
            assert each.costs[1] < share * each.costs[0]
        elif search.target < 0:
            kinds.add("continues")
            assert each.reason.startswith("It continues: ")
            assert limit in each.reason
            # Rows near the one that plays are none of the rejected.
            assert each.costs[1] >= share * each.costs[0] * (1 - 1e-6)
    assert kinds == {"jumps", "continues"}
    # The second holds before corners of the path.
    assert shares == {1.0 - settings.min_improvement, 1.0 - settings.change_improvement}


def test_an_end_of_a_clip_and_a_rough_transition_are_reasons(square):
    source, _, runner = square
    database, log = source.database, runner.log
    search = next(each for each in log.searches if each.jumped)
    changed = {
        "It jumps, for what may be played of the clip ends": {"must_jump": True},
        "It continues, for the transition is not smooth": {"jumped": False, "smooth": False},
    }
    before = log.searches
    try:
        for reason, values in changed.items():
            log.searches = [replace(search, **values)]
            (each,) = decisions(log, database, source.searcher)
            assert each.reason.startswith(reason)
            assert each.marks[1] == ("chosen" if "jump" in reason else "not smooth")
    finally:
        log.searches = before


def test_players_log_only_where_it_is_asked_for(walks):
    source = PlayerSource(*walks, settings=PlayerSettings(search_interval_s=1.0))
    runner, goals = start_on_path(source, made_path("wave", SPEED, 2.0))
    assert runner.log.searches == []
    assert decisions(runner.log, source.database, source.searcher) == []
    rollout(runner, goals, 0.5)
    assert len(runner.log.searches) >= 1
