"""Which of several rows a character jumps to, and when it waits for a better moment."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.steering.made_paths import MADE_PATHS
from matching.next_rows import NextRows
from matching.player import Player
from matching.start import start_on_path
from tests.matching.test_player import SPEED, opened, walking_store


class FixedAnswers:
    """A search that gives the same rows at the same distances to every query."""

    def __init__(self, distances, rows):
        self.distances, self.rows = np.asarray(distances, float), np.asarray(rows)
        self.bounds = []

    def search(self, queries, k, *, allowed=None, excluded=None, cost_bound=np.inf):
        bound = np.broadcast_to(np.asarray(cost_bound, float), len(queries))
        self.bounds.append(bound)
        near = np.tile(self.rows, (len(queries), 1))
        distances = np.tile(self.distances, (len(queries), 1))
        # As every search: what costs more than the bound is not found.
        near[distances >= bound[:, None]] = -1
        return np.where(near < 0, np.inf, distances), near


@pytest.fixture(scope="module")
def walks():
    return opened(walking_store((-0.8, 0.0, 0.8)))


def choice(walks, distances, roughness, *, leaving=False, better_by=0.0):
    """Index of the candidate that is taken (-1: none), its cost, and whether it is smooth."""
    database = walks[0]
    # Far from each other and from the row that plays.
    rows = 400 + 40 * np.arange(len(distances))
    searcher = FixedAnswers(distances, rows)
    choices = NextRows(database, searcher, better_by=better_by)
    playing = np.array([100])
    goals = goals_of(walks, choices)
    found, costs, smooth = choices.found(
        playing,
        np.array([leaving]),
        goals,
        [{}],
        lambda some, candidates: np.array(
            [[roughness[np.searchsorted(rows, c)] for c in candidates[0]]]
        ),
    )
    index = int(np.searchsorted(rows, found[0])) if found[0] >= 0 else -1
    return index, float(costs[0]), bool(smooth[0])


def goals_of(walks, choices):
    """A desired trajectory to the side: playing on costs much."""
    count = len(choices.offsets_s)
    away = np.zeros((1, count, 3))
    away[..., 0] = 30.0
    facing = np.zeros((1, count, 3))
    facing[..., 2] = 1.0
    return away, facing, np.zeros((1, 3)), facing[:, 0]


def test_of_rows_nearly_as_good_as_the_best_the_smoothest_is_taken(walks):
    # The second is 10 % worse than the best, the third 14 %, the fourth 20 %.
    distances = [1.0, 1.10, 1.14, 1.20]
    assert choice(walks, distances, [0.7, 0.3, 0.5, 0.1])[0] == 1
    assert choice(walks, distances, [0.7, 0.3, 0.2, 0.1])[0] == 2
    assert choice(walks, distances, [0.2, 0.3, 0.4, 0.1])[0] == 0
    assert choice(walks, distances, [0.7, 0.3, 0.5, 0.1])[1] == pytest.approx(1.10)


def test_where_the_clip_ends_any_row_may_be_the_smoothest(walks):
    assert choice(walks, [1.0, 1.1, 2.5], [0.7, 0.6, 0.1], leaving=True)[0] == 2
    assert choice(walks, [1.0, 1.1, 2.5], [0.7, 0.6, 0.1], leaving=False)[0] == 1


@pytest.mark.parametrize(("roughness", "smooth"), [(0.5, True), (0.79, True), (0.81, False)])
def test_a_transition_is_smooth_below_four_fifths_of_the_usual_acceleration(
    walks, roughness, smooth
):
    assert choice(walks, [1.0], [roughness]) == (0, 1.0, smooth)


def test_a_jump_must_cost_less_than_playing_on_by_its_share(walks):
    database = walks[0]
    choices = NextRows(database, FixedAnswers([1.0], [400]))
    staying = float(
        choices.found(
            np.array([100]), np.array([False]), goals_of(walks, choices), [{}], lambda *_: 0
        )[1][0]
    )
    # The cost of the jump that was found; the cost of playing on where none is.
    assert staying == 1.0
    staying = choice(walks, [1e9], [0.1])[1]
    assert choice(walks, [0.69 * staying], [0.1], better_by=0.3)[0] == 0
    assert choice(walks, [0.71 * staying], [0.1], better_by=0.3)[0] == -1
    # At a clip's end playing on is no alternative.
    assert choice(walks, [1.5 * staying], [0.1], leaving=True, better_by=0.3)[0] == 0


class AlwaysThatRow:
    """Answers every character with one row that is, or is not, smooth."""

    def __init__(self, row, smooth):
        self.row, self.smooth, self.asked = row, smooth, []

    def wishes(self, follower, movers, which):
        return None

    def found(self, rows, leaving, wishes, labels, roughness):
        self.asked.append((int(rows[0]), bool(leaving[0])))
        count = len(rows)
        return np.full(count, self.row), np.zeros(count), np.full(count, self.smooth)


def played_with(walks, row, *, smooth, frames):
    database, play, searcher = walks
    choices = AlwaysThatRow(row, smooth)
    follower = start_on_path(database, play, searcher, MADE_PATHS["wave"](SPEED, 8.0, 6.0))[1]
    player = Player(database, play, searcher, [0], ways_on=choices)
    steps = [player.step(follower) for _ in range(frames)]
    return database, choices, np.array([frame.jumped[0] for frame in steps])


def test_a_jump_that_pops_waits_until_the_clip_ends(walks):
    database, choices, jumped = played_with(walks, 500, smooth=False, frames=400)
    end = int(database.range_stops[0])
    # One jump, at the last frame of the first clip, where there is no other way.
    assert np.flatnonzero(jumped)[0] == end - 1
    # Between: a new search every 0.03 s, rather than every 0.1 s.
    asked = np.array([row for row, _ in choices.asked if row < end])
    assert np.median(np.diff(asked)) == 2
    # From 0.25 s before the end on, playing on is no alternative.
    leaving = [row for row, leaves in choices.asked if leaves and row < end]
    assert leaving[0] == pytest.approx(end - 15, abs=1)


def test_a_smooth_jump_is_made_at_once(walks):
    _, choices, jumped = played_with(walks, 500, smooth=True, frames=20)
    first = int(np.flatnonzero(jumped)[0])
    assert choices.asked[0][0] == first
    # Searches come every 0.1 s.
    assert np.flatnonzero(jumped)[1] - first == 6
