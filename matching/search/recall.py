"""Recall of approximate indices, measured against the exact search, and tuning of their effort."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from deepphase.arrays import Array
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.search.block_tree import BlockTree
from matching.search.exact import ExactSearcher

TARGET_RECALL = 0.99
_QUERIES = 500
_RANKS = 10
# Share of the rows, in whole clips, that is held out of an index while its recall is measured.
_HELD_OUT = 0.02
# Factor by which half of the unusual queries are farther from the mean than the data.
_STRETCH = 1.5
_FIRST_EFFORT = 4


class Tunable(Protocol):
    """Searcher whose recall depends on its effort."""

    effort: int
    recall: dict[str, float]

    def search(self, queries: Array, k: int = 1) -> tuple[Array, Array]:
        """See `matching.search.searcher.Searcher.search`."""


def split_by_clips(database: MotionDatabase, seed: int = 0) -> tuple[Array, Array]:
    """The offered rows of most clips, and those of a few held-out clips; both rising.

    No rows of a database of one clip are held out.
    """
    rows = database.offered_rows
    clips = database.clip_of(rows)
    present = np.unique(clips)
    order = np.random.default_rng(seed).permutation(present)
    counts = np.bincount(clips, minlength=len(database.clip_names))
    cumulative = np.cumsum(counts[order])
    # At least one, at most half of the clips.
    taken = min(int(np.searchsorted(cumulative, _HELD_OUT * len(rows))) + 1, len(present) // 2)
    out = np.isin(clips, order[:taken])
    return rows[~out], rows[out]


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


def measured_recall(
    searcher: Tunable, truth: ExactSearcher, queries: dict[str, Array]
) -> dict[str, float]:
    """Shares of the true nearest rows that a searcher finds.

    Returns
    -------
    <name>_1
        Share of the queries of this name whose nearest row, or one at the same distance, is found.
    <name>_10
        Share of the ten nearest rows that are found.
    """
    recall = {}
    for name, some in queries.items():
        if not len(some):
            continue
        true, _ = truth.search(some, _RANKS)
        found, _ = searcher.search(some, _RANKS)
        valid = np.isfinite(true)
        # By distance, not by row: equal rows are interchangeable.
        recall[f"{name}_1"] = float((found[:, 0] <= true[:, 0]).mean())
        last = np.where(valid, true, -np.inf).max(1, keepdims=True)
        recall[f"{name}_10"] = float((found <= last).sum() / valid.sum())
    return recall


def tune(
    searcher: Tunable,
    database: MotionDatabase,
    indexed: Array,
    held_out: Array,
    max_effort: int,
    progress: Progress | None = None,
) -> None:
    """Double a searcher's effort until its recall is 0.99; the recall is stored in the searcher.

    Parameters
    ----------
    indexed, held_out
        Rows in the index, and rows of held-out clips, which serve as queries.
    max_effort
        The search ends there, whatever the recall.
    """
    tree = BlockTree.build(database.features, indexed, progress=progress)
    truth = ExactSearcher(database, tree)
    rng = np.random.default_rng(0)
    sample = rng.choice(held_out, min(_QUERIES, len(held_out)), replace=False)
    queries = {
        "held_out": np.array(database.features[sample], np.float32),
        "unusual": unusual_queries(database, indexed),
    }
    searcher.effort = _FIRST_EFFORT
    while True:
        searcher.recall = measured_recall(searcher, truth, queries)
        reached = searcher.recall.get("held_out_1", searcher.recall["unusual_1"])
        if progress is not None:
            progress("measuring the recall", searcher.effort, max_effort, f"{reached:.3f}")
        if reached >= TARGET_RECALL or searcher.effort >= max_effort:
            return
        searcher.effort *= 2
