"""How often an approximate index finds the true nearest rows, measured against the exact search."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from deepphase.arrays import Array
from deepphase.progress import Progress
from matching.database.database import MotionDatabase
from matching.search.block_tree import BlockTree
from matching.search.exact import ExactSearcher

RECALL_WANTED = 0.99
_QUERIES = 500
_RANKS = 10
# Clips are kept out of an index until they hold this share of the rows, while it is measured.
_KEPT_OUT = 0.02
# How far beyond the data's own spread half of the unusual queries lie.
_STRETCH = 1.5
_FIRST_EFFORT = 4


class Tunable(Protocol):
    """A searcher whose recall depends on its effort."""

    effort: int
    recall: dict[str, float]

    def search(self, queries: Array, k: int = 1) -> tuple[Array, Array]:
        """As `matching.search.Searcher.search`."""


def split_by_clips(database: MotionDatabase, seed: int = 0) -> tuple[Array, Array]:
    """The offered rows of most clips, and those of a few that are kept out; both rising.

    Of a database of one clip nothing is kept out.
    """
    rows = database.offered_rows
    clips = database.clip_of(rows)
    there = np.unique(clips)
    order = np.random.default_rng(seed).permutation(there)
    counts = np.bincount(clips, minlength=len(database.clip_names))
    behind = np.cumsum(counts[order])
    # At least one, at most half of the clips.
    taken = min(int(np.searchsorted(behind, _KEPT_OUT * len(rows))) + 1, len(there) // 2)
    out = np.isin(clips, order[:taken])
    return rows[~out], rows[out]


def unusual_queries(database: MotionDatabase, rows: Array, seed: int = 1) -> Array:
    """Queries (q, dims) unlike any row: features of different moments put together.

    As when a user suddenly wishes another way: every feature comes from one of two random rows,
    and every other query lies 1.5 times as far from the mean. Where there is one feature only,
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
    """Shares of the true nearest that a searcher finds.

    Returns
    -------
    <name>_1
        Share of the queries of a name whose nearest row is found, or one as near.
    <name>_10
        Share of the ten nearest that are found.
    """
    recall = {}
    for name, some in queries.items():
        if not len(some):
            continue
        far, _ = truth.search(some, _RANKS)
        found, _ = searcher.search(some, _RANKS)
        there = np.isfinite(far)
        # By distance, not by row: of equal rows any will do.
        recall[f"{name}_1"] = float((found[:, 0] <= far[:, 0]).mean())
        last = np.where(there, far, -np.inf).max(1, keepdims=True)
        recall[f"{name}_10"] = float((found <= last).sum() / there.sum())
    return recall


def tune(
    searcher: Tunable,
    database: MotionDatabase,
    indexed: Array,
    kept_out: Array,
    most: int,
    progress: Progress | None = None,
) -> None:
    """Double a searcher's effort until it finds 0.99 of the nearest rows; keep what was measured.

    Parameters
    ----------
    indexed, kept_out
        Rows that the searcher has, and rows of clips that it has not, which are the held-out
        queries.
    """
    tree = BlockTree.build(database.features, indexed, progress=progress)
    truth = ExactSearcher(database, tree)
    rng = np.random.default_rng(0)
    held_out = rng.choice(kept_out, min(_QUERIES, len(kept_out)), replace=False)
    queries = {
        "held_out": np.array(database.features[held_out], np.float32),
        "unusual": unusual_queries(database, indexed),
    }
    searcher.effort = _FIRST_EFFORT
    while True:
        searcher.recall = measured_recall(searcher, truth, queries)
        reached = searcher.recall.get("held_out_1", searcher.recall["unusual_1"])
        if progress is not None:
            progress("measuring the recall", searcher.effort, most, f"{reached:.3f}")
        if reached >= RECALL_WANTED or searcher.effort >= most:
            return
        searcher.effort *= 2
