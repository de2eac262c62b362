"""Recall of approximate indices, measured against all rows, and tuning of their effort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import faiss
import numpy as np

from deepphase.arrays import Array, release_pages
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.distances import best, squared_distances
from deepphase.progress import Progress

# Least recall of the nearest row, for each kind of query.
TARGET_RECALL = {"held_out": 0.99, "unlike": 0.95, "unusual": 0.95}
_QUERIES = 500
_RANKS = 10
# Shares of the rows, in whole clips, that are left out of the truth while recall is measured: clips
# chosen at random, and those least like the rest.
_HELD_OUT, _UNLIKE = 0.02, 0.01
_ROWS_A_CLIP = 32
# Factor by which half of the unusual queries are farther from the mean than the data.
_STRETCH = 1.5
_FIRST_EFFORT = 4
_ROWS_AT_ONCE = 1 << 17
# Candidates beyond the ranks, because FAISS rounds distances.
_EXTRA = 8


class Tunable(Protocol):
    """Searcher whose recall depends on its effort."""

    effort: int
    recall: dict[str, float]

    def search(
        self, queries: Array, k: int = 1, *, allowed: Array | None = None
    ) -> tuple[Array, Array]:
        """See `deepphase.matching.search.searcher.Searcher.search`."""


@dataclass(frozen=True, eq=False)
class HeldOutSplit:
    """Rows that a measurement of recall searches, and rows that it asks for.

    Parameters
    ----------
    searched
        Offered rows of most clips, rising.
    held_out
        Those of clips chosen at random.
    unlike
        Those of the clips least like the rest, which stand for styles never seen.
    """

    searched: Array
    held_out: Array
    unlike: Array


def split_by_clips(database: MotionDatabase, seed: int = 0) -> HeldOutSplit:
    """A split of the offered rows by whole clips.

    At most half of the clips are held out: none of a single one, and none as unlike of less than
    four.
    """
    rows = database.offered_rows
    clips = database.clip_of(rows)
    present, first = np.unique(clips, return_index=True)
    counts = np.diff(np.append(first, len(rows)))
    unlike = np.zeros(0, np.int64)
    if len(present) >= 4:
        order = _by_distance(database, rows, first, counts)
        taken = min(_clips_for(_UNLIKE * len(rows), counts[order]), len(present) // 4)
        unlike = present[order[:taken]]
    left = np.flatnonzero(~np.isin(present, unlike))
    order = left[np.random.default_rng(seed).permutation(len(left))]
    most = len(present) // 2 - len(unlike)
    held_out = present[order[: min(_clips_for(_HELD_OUT * len(rows), counts[order]), most)]]
    is_unlike, is_held_out = np.isin(clips, unlike), np.isin(clips, held_out)
    return HeldOutSplit(rows[~(is_unlike | is_held_out)], rows[is_held_out], rows[is_unlike])


def _clips_for(rows: float, counts: Array) -> int:
    return int(np.searchsorted(np.cumsum(counts), rows)) + 1


def _by_distance(database: MotionDatabase, rows: Array, first: Array, counts: Array) -> Array:
    """Clips in falling order of the mean distance of some of their rows from the mean of all."""
    places = (np.arange(_ROWS_A_CLIP) + 0.5) / _ROWS_A_CLIP
    chosen = rows[first[:, None] + (counts[:, None] * places).astype(np.int64)]
    values = database.features[chosen.reshape(-1)]
    release_pages(database.features)
    away = np.linalg.norm(values - values.mean(0), axis=1).reshape(chosen.shape).mean(1)
    return np.argsort(-away, kind="stable")


def unusual_queries(database: MotionDatabase, rows: Array, seed: int = 1) -> Array:
    """Queries (q, dims) unlike any row: features of different moments combined.

    They stand for abruptly changed goals. Each feature comes from one of two random rows, and
    every other query is scaled to 1.5 times its distance from the mean. With a single feature,
    the two rows are averaged.
    """
    rng = np.random.default_rng(seed)
    pairs = rng.choice(rows, (2, min(_QUERIES, len(rows))))
    one, other = np.array(database.features[pairs], np.float32)
    for block in database.layout.slices.values():
        taken = rng.random(len(one)) < 0.5
        one[taken, block] = other[taken, block]
    if len(database.layout.features) == 1:
        one = (one + other) / 2
    one[::2] *= _STRETCH
    return one


def recall_queries(database: MotionDatabase, split: HeldOutSplit) -> dict[str, Array]:
    """Queries (q, dims) of each kind of `TARGET_RECALL` that the database has."""
    rng = np.random.default_rng(0)
    queries = {}
    for name in ("held_out", "unlike"):
        rows = getattr(split, name)
        if len(rows):
            chosen = rng.choice(rows, min(_QUERIES, len(rows)), replace=False)
            queries[name] = np.array(database.features[chosen], np.float32)
    return {**queries, "unusual": unusual_queries(database, split.searched)}


def nearest_distances(
    database: MotionDatabase, rows: Array, queries: Array, k: int, progress: Progress | None = None
) -> Array:
    """(q, k) float32 distances of the nearest of some rows, by looking at every one of them.

    Rows are read in blocks; infinite where there are fewer than k.
    """
    nearest = [(np.zeros(0), np.zeros(0, np.int64)) for _ in queries]
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        block = np.ascontiguousarray(database.features[some], np.float32)
        _, found = faiss.knn(queries, block, min(k + _EXTRA, len(block)))
        for index, places in enumerate(found):
            squares, old = nearest[index]
            exact = squared_distances(block[places], queries[index])
            nearest[index] = best(
                np.concatenate([squares, exact]), np.concatenate([old, some[places]]), k
            )
        release_pages(database.features)
        if progress is not None:
            progress("finding true neighbours", start + len(some), len(rows), "")
    distances = np.full((len(queries), k), np.inf, np.float32)
    for index, (squares, _) in enumerate(nearest):
        distances[index, : len(squares)] = np.sqrt(squares)
    return distances


def measured_recall(
    searcher: Tunable,
    queries: Mapping[str, Array],
    truth: Mapping[str, Array],
    allowed: Array | None = None,
) -> dict[str, float]:
    """Shares of the true nearest rows that a searcher finds.

    Parameters
    ----------
    queries
        Name -> (q, dims).
    truth
        Name -> (q, ranks) true distances of the nearest rows, see `nearest_distances`.
    allowed
        (rows,) bool: the rows of the truth; all by default.

    Returns
    -------
    <name>_1
        Share of the queries of this name whose nearest row, or one at the same distance, is found.
    <name>_10
        Share of the ten nearest rows that are found.
    """
    recall = {}
    for name, some in queries.items():
        true = truth[name]
        found, _ = searcher.search(some, true.shape[1], allowed=allowed)
        valid = np.isfinite(true)
        # By distance, not by row: equal rows are interchangeable.
        recall[f"{name}_1"] = float((found[:, 0] <= true[:, 0]).mean())
        last = np.where(valid, true, -np.inf).max(1, keepdims=True)
        recall[f"{name}_{true.shape[1]}"] = float((found <= last).sum() / valid.sum())
    return recall


def tune(
    searcher: Tunable,
    database: MotionDatabase,
    split: HeldOutSplit,
    max_effort: int,
    progress: Progress | None = None,
) -> None:
    """Double a searcher's effort until every recall reaches its target; the searcher keeps it.

    The rows of held-out clips may be in the index: the searches do not allow them.

    Parameters
    ----------
    max_effort
        The search ends there, whatever the recall.
    """
    queries = recall_queries(database, split)
    together = nearest_distances(
        database, split.searched, np.concatenate(list(queries.values())), _RANKS, progress
    )
    stops = np.cumsum([len(some) for some in queries.values()])
    truth = dict(zip(queries, np.split(together, stops[:-1]), strict=True))
    allowed = np.zeros(len(database), bool)
    allowed[split.searched] = True
    searcher.effort = _FIRST_EFFORT
    while True:
        searcher.recall = measured_recall(searcher, queries, truth, allowed)
        reached = {name: searcher.recall[f"{name}_1"] for name in queries}
        if progress is not None:
            text = ", ".join(f"{share:.3f}" for share in reached.values())
            progress("measuring the recall", searcher.effort, max_effort, text)
        if all(share >= TARGET_RECALL[name] for name, share in reached.items()):
            return
        if searcher.effort >= max_effort:
            return
        searcher.effort *= 2
