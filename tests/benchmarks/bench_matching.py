"""Exact search against FAISS flat, SciPy's k-d tree and a NumPy product, on one thread.

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.bench_matching \
    [--database ROWS.database --queries HELD_OUT.database] [--index IVF1024,Flat ...]

Without databases, rows are those of made motion. Databases are built by `deepphase match build`,
the second of clips that the first lacks, with the same model and layout. Rivals take turns.
Times are medians and 99th percentiles over queries, asked one at a time; every rival has all
rows, offered or not.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import faiss
import numpy as np
from scipy.spatial import cKDTree

from deepphase.corpus.clip_store import ClipStore
from deepphase.features.layout import Feature, FeatureLayout
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.exact import ExactSearcher
from deepphase.matching.search.faiss_search import FaissSearcher, unusual_queries
from deepphase.synthetic.training_set import corpus

Array = np.ndarray
_QUERIES_A_TURN = 20
_OFFSETS_S = (0.17, 0.33, 0.5, 0.67, 0.83, 1.0)


def made_databases(minutes: float) -> tuple[MotionDatabase, Array]:
    """Rows of 33 values of made motion, and queries of individuals who are not among them."""
    layout = FeatureLayout(
        Feature("limb_position", joints=("left_foot", "hips")),
        Feature("limb_velocity", joints=("left_foot",)),
        Feature("trajectory_position", offsets_s=_OFFSETS_S),
        Feature("trajectory_direction", offsets_s=_OFFSETS_S),
    )
    stores = [
        ClipStore.from_clips([motion.clip for motion in corpus(seed, length)])
        for seed, length in ((0, minutes), (1, max(minutes / 20, 0.5)))
    ]
    database = MotionDatabase.build(stores[0], layout)
    return database, _queries_of(MotionDatabase.build(stores[1], layout), database)


def _queries_of(held_out: MotionDatabase, database: MotionDatabase) -> Array:
    assert held_out.layout == database.layout
    raw = held_out.normalisation.inverse(held_out.features[held_out.offered_rows])
    return database.normalised(raw)


def numpy_product(features: Array) -> Callable[[Array], int]:
    squares = np.einsum("rd,rd->r", features, features)

    def nearest(query: Array) -> int:
        return int((squares - 2.0 * (features @ query)).argmin())

    return nearest


def timed(rivals: dict[str, Callable[[Array], object]], queries: Array) -> dict[str, Array]:
    """(queries,) seconds of each rival, taking turns after some queries."""
    spent: dict[str, list[float]] = {name: [] for name in rivals}
    for start in range(0, len(queries), _QUERIES_A_TURN):
        for name, ask in rivals.items():
            for query in queries[start : start + _QUERIES_A_TURN]:
                began = time.perf_counter()
                ask(query)
                spent[name].append(time.perf_counter() - began)
    return {name: np.array(values) for name, values in spent.items()}


def compare(
    database: MotionDatabase, queries: Array, what: str, indices: list[FaissSearcher], k: int
) -> None:
    features = np.ascontiguousarray(database.features)
    flat = faiss.IndexFlatL2(database.dims)
    flat.add(features)
    tree = cKDTree(features)
    exact = ExactSearcher(database)
    rivals: dict[str, Callable[[Array], object]] = {
        "FAISS flat": lambda query: flat.search(query[None], k),
        "cKDTree": lambda query: tree.query(query, k),
        "NumPy product": numpy_product(features),
        "ours, exact": lambda query: exact.search(query, k),
    }
    for index in indices:
        rivals[f"ours, {index.name}"] = lambda query, index=index: index.search(query, k)
    timed(rivals, queries[:3])
    spent = timed(rivals, queries)
    others = [name for name in rivals if not name.startswith("ours")]
    best = min(np.median(spent[name]) for name in others)
    print(f"{what}: {len(features):,} rows of {database.dims} values, k = {k}")
    for name, values in spent.items():
        print(
            f"  {name:14} median {1e6 * np.median(values):9.1f} us   p99 "
            f"{1e6 * np.percentile(values, 99):9.1f} us   of the best rival "
            f"{np.median(values) / best:6.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database")
    parser.add_argument("--queries")
    parser.add_argument("--minutes", type=float, default=10.0, help="of made motion")
    parser.add_argument("--count", type=int, default=300, help="queries")
    parser.add_argument("--index", nargs="*", default=[], help="approximate ones beside")
    options = parser.parse_args()
    faiss.omp_set_num_threads(1)
    if options.database is None:
        database, queries = made_databases(options.minutes)
    else:
        database = MotionDatabase.load(options.database)
        queries = _queries_of(MotionDatabase.load(options.queries), database)
    database = replace(database, offered=np.ones(len(database), bool))
    rng = np.random.default_rng(0)
    queries = queries[rng.choice(len(queries), min(options.count, len(queries)), replace=False)]
    indices = [FaissSearcher.build(database, name) for name in options.index]
    for index in indices:
        print(f"recall of {index.name}: {index.recall:.3f}")
    for k in (1, 10):
        compare(database, queries, "held-out queries", indices, k)
    unusual = unusual_queries(database)[: options.count]
    compare(database, unusual, "unusual queries", indices, 1)


if __name__ == "__main__":
    main()
