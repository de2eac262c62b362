"""Labels that players keep: a cost of other values, not a wall."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.features.feature import facing_directions
from deepphase.matching.player.settings import PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.matching.player.trajectory_search import JumpRequest, TrajectorySearch
from deepphase.steering.path import made_path
from deepphase.steering.run import rollout, start_on_path
from deepphase.synthetic.gait_motion import locomotion
from tests.matching.test_player import SPEED, opened


def styled_store(rates_of_styles):
    clips = []
    for style, rates in rates_of_styles.items():
        for number, rate in enumerate(rates):
            seed = 10 * len(style) + number
            clip = locomotion(seed, 5.0, speed=SPEED, turn_rate=rate, variety=0.3).clip
            clips.append(replace(clip, name=f"{style}{number}", labels={"style": style}))
    return ClipStore.from_clips(clips)


@pytest.fixture(scope="module")
def alike():
    rates = (-0.8, 0.0, 0.8)
    return opened(styled_store({"old": rates, "proud": rates}))


def styles_of(source, path, seconds=6.0):
    player, goals = start_on_path(source, path, characters=2)
    run = rollout(player, goals, seconds)
    return np.array([source.columns(run, index)["label_style"] for index in range(2)])


def test_a_style_is_kept_where_both_have_the_motion(alike):
    path = made_path("wave", SPEED, 10.0)
    free = styles_of(PlayerSource(*alike, settings=PlayerSettings(keep=())), path)
    kept = styles_of(PlayerSource(*alike), path)
    assert (free[:, 1:] != free[:, :-1]).sum() > (kept[:, 1:] != kept[:, :-1]).sum()
    assert (kept == kept[:, :1]).all()


def test_a_style_is_left_where_it_lacks_the_motion():
    source = PlayerSource(*opened(styled_store({"old": (0.0,) * 3, "proud": (-0.9, 0.9)})))
    path = made_path("circle", SPEED, 10.0, size=2.6)
    assert "proud" in styles_of(source, path)[0]


class _Goals:
    """The trajectory of a row, as the goal of another."""

    def __init__(self, database, row):
        self._database, self._row = database, row

    def of(self, search, rows):
        steps = np.round(search.offsets_s * self._database.fps).astype(int)
        later = self._row + steps
        positions = self._database.root_positions[later][None].repeat(len(rows), 0)
        directions = facing_directions(self._database.root_angles[later])[None]
        directions = directions.repeat(len(rows), 0)
        now = np.full(len(rows), self._row)
        return (
            positions,
            directions,
            self._database.root_positions[now],
            facing_directions(self._database.root_angles[now]),
        )


@pytest.mark.parametrize(("improvement", "share"), [(0.2, 1.0), (0.5, 0.1), (0.8, 0.02)])
def test_candidates_are_those_of_a_full_comparison(alike, improvement, share):
    database, _, searcher = alike
    search = TrajectorySearch(database, searcher, keep_improvement=improvement)
    rows = database.offered_rows[::97]
    goals = _Goals(database, int(database.offered_rows[40])).of(search, rows)
    kept = [{"style": database.labels[clip]["style"]} for clip in database.clip_of(rows)]
    count = len(rows)
    request = JumpRequest(
        np.arange(count),
        rows,
        np.zeros(count, bool),
        np.full(count, 0.3),
        [{}] * count,
        kept,
        np.full(count, 0.65),
        lambda some, near: np.tile(np.arange(near.shape[1]) * 1e-3, (len(some), 1)),
        np.full(count, share),
    )
    found, costs, _, _ = search.search(request, goals)
    queries = search.queries(rows, goals)
    offered = database.offered_rows
    distances = np.linalg.norm(queries[:, None] - database.features[offered], axis=2)
    styles = np.array([database.labels[clip]["style"] for clip in database.clip_of(offered)])
    for index, row in enumerate(rows):
        staying = np.linalg.norm(queries[index] - database.features[row])
        most = 0.2 * np.sqrt(2.0 * np.square(database.layout.weights).sum())
        # What another style costs more: a share of the cost, up to a fifth of that by chance.
        other = np.minimum(distances[index] / (1.0 - improvement), distances[index] + most)
        ranks = np.where(styles == kept[index]["style"], distances[index], other)
        ranks = np.where(ranks < staying - min(0.3 * staying, share * most), ranks, np.inf)
        best = int(ranks.argmin())
        if np.isinf(ranks[best]):
            assert found[index] == -1
            assert costs[index] == pytest.approx(staying, rel=1e-5)
        else:
            assert found[index] == offered[best]
            assert costs[index] == pytest.approx(distances[index, best], rel=1e-5)
    assert len(set((found >= 0).tolist())) == 2
