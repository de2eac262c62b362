"""Searches find what looking at every row finds; approximate ones as often as they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepphase.errors import ParameterError
from deepphase.matching.search.exact import BlockTree, ExactSearcher
from deepphase.matching.search.faiss_search import FaissSearcher, unusual_queries
from deepphase.matching.search.searcher import open_searcher
from tests.matching.made_databases import rows_database, smooth_rows


def by_formula(database, queries, k, allowed=None, excluded=None, bound=np.inf):
    """Distances and rows by sorting all of them: the definition."""
    distances = np.full((len(queries), k), np.inf)
    rows = np.full((len(queries), k), -1)
    for index, query in enumerate(queries):
        squares = np.zeros(len(database))
        for dimension in range(database.dims):
            difference = database.features[:, dimension].astype(np.float64) - query[dimension]
            squares += difference**2
        free = database.offered.copy()
        if allowed is not None:
            free &= allowed
        if excluded is not None:
            free[excluded[index, 0] : excluded[index, 1]] = False
        free &= squares < bound**2
        chosen = np.flatnonzero(free)
        chosen = chosen[np.lexsort((chosen, squares[chosen]))][:k]
        rows[index, : len(chosen)] = chosen
        distances[index, : len(chosen)] = np.sqrt(squares[chosen])
    return distances.astype(np.float32), rows


@settings(max_examples=40)
@given(data=st.data())
def test_exact_is_exact(data):
    """Sizes around a block's, few dimensions and many, ties, masks, bounds, more than there is."""
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    rows = data.draw(st.sampled_from([1, 2, 63, 64, 65, 200, 700]))
    dims = data.draw(st.sampled_from([1, 2, 7, 16, 17, 40]))
    features = rng.standard_normal((rows, dims)) * data.draw(st.sampled_from([1e-3, 1.0, 1e4]))
    if data.draw(st.booleans()):
        features = rng.integers(-2, 3, (rows, dims)).astype(float)  # many ties
    features += data.draw(st.sampled_from([0.0, 100.0]))
    offered = rng.random(rows) < data.draw(st.sampled_from([1.0, 0.5]))
    offered[rng.integers(rows)] = True
    database = rows_database(features, offered=offered)
    queries = database.features[rng.integers(0, rows, 4)].copy()
    queries[2:] += rng.standard_normal((2, dims)).astype(np.float32)
    k = data.draw(st.sampled_from([1, 3, rows, rows + 5]))
    allowed = rng.random(rows) < 0.5 if data.draw(st.booleans()) else None
    starts = rng.integers(0, rows, 4)
    excluded = np.stack([starts, starts + rng.integers(0, rows, 4)], -1)
    excluded = excluded if data.draw(st.booleans()) else None
    bound = data.draw(st.sampled_from([np.inf, 0.0, 1.0, 5.0]))
    expected = by_formula(database, queries, k, allowed, excluded, bound)
    searcher = ExactSearcher(database)
    found = searcher.search(queries, k, allowed=allowed, excluded=excluded, cost_bound=bound)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[0], expected[0])


def test_large_tree_is_exact_and_looks_at_few_blocks():
    database = rows_database(smooth_rows(20_000), clips=20)
    queries = smooth_rows(20_000, seed=0)[::1000] + np.float32(0.02)
    expected = by_formula(database, queries, 10)
    found = ExactSearcher(database).search(queries, 10)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.fixture(scope="module")
def wandering():
    return rows_database(smooth_rows(3000, 8), clips=30)


@pytest.fixture(scope="module", params=["IVF16,Flat", "HNSW16", "OPQ4_8,IVF16,SQ8", "Flat"])
def approximate(wandering, request):
    return FaissSearcher.build(wandering, request.param)


def test_recall_is_as_said(wandering, approximate):
    queries = unusual_queries(wandering)
    nearest, _ = ExactSearcher(wandering).search(queries)
    found, _ = approximate.search(queries)
    assert approximate.recall == (found <= nearest).mean() >= 0.9


def test_approximate_obeys_masks(wandering, approximate):
    allowed = np.zeros(len(wandering), bool)
    allowed[2000:2004] = True
    queries = wandering.features[[10, 2001]]
    distances, rows = approximate.search(
        queries, 6, allowed=allowed, excluded=np.array([[0, 5], [2001, 2002]])
    )
    assert set(rows[0]) == {2000, 2001, 2002, 2003, -1}
    assert set(rows[1]) == {2000, 2002, 2003, -1}
    assert (np.diff(distances[0][:4]) >= 0).all()
    assert np.isinf(distances[rows < 0]).all()


def test_no_offered_row_and_unknown_index():
    database = rows_database(smooth_rows(50), offered=np.zeros(50, bool))
    for name in ("exact", "Flat"):
        with pytest.raises(ParameterError, match="no rows"):
            open_searcher(database, name)
    with pytest.raises(ParameterError, match="FAISS cannot build"):
        open_searcher(rows_database(smooth_rows(50)), "kdtree")


def test_damaged_trees_are_refused():
    database = rows_database(smooth_rows(500))
    arrays = BlockTree.build(database.features, database.offered_rows).arrays()
    for name, change in (
        ("right", lambda a: np.zeros_like(a)),
        ("rows", lambda a: a + 500),
        ("leaves", lambda a: np.zeros_like(a)),
        ("lowest", lambda a: a[:-1]),
    ):
        with pytest.raises(ParameterError):
            ExactSearcher(database, BlockTree(**{**arrays, name: change(arrays[name])}))
