"""Search of a database in shards: one index a shard, and the nearest rows of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deepphase.arrays import Array
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.distances import answer, best, squared_distances
from deepphase.matching.search.exact import ExactSearcher
from deepphase.matching.search.request import SearchRequest

if TYPE_CHECKING:
    from deepphase.matching.search.approximate import FaissSearcher


class ShardedSearcher:
    """The nearest rows of all shards of a database, with the row numbers of the whole.

    An exact search finds what an exact search of a database in one file finds, to the last bit. A
    shard is searched for rows nearer than those that earlier shards have.

    Parameters
    ----------
    database
        A database that was opened from its shards.
    searchers
        Searcher of each shard that has an offered row, all of one kind.
    """

    def __init__(
        self, database: MotionDatabase, searchers: Sequence[ExactSearcher | FaissSearcher]
    ) -> None:
        self.name, self.exact = searchers[0].name, searchers[0].exact
        self._database, self._searchers = database, tuple(searchers)
        # Shards without an offered row have no index.
        stops = np.cumsum([len(shard) for shard in database.shards])
        self._ranges = [
            (int(stop) - len(shard), int(stop))
            for shard, stop in zip(database.shards, stops, strict=True)
            if len(shard.offered_rows)
        ]

    @property
    def effort(self) -> int:
        """The effort of an approximate search in every shard."""
        return int(getattr(self._searchers[0], "effort", 0))

    @effort.setter
    def effort(self, effort: int) -> None:
        for searcher in self._searchers:
            if not isinstance(searcher, ExactSearcher):
                searcher.effort = effort

    @property
    def recall(self) -> dict[str, float]:
        """Recall of the search of all shards; empty where it is exact."""
        return dict(getattr(self._searchers[0], "recall", {}))

    @recall.setter
    def recall(self, recall: dict[str, float]) -> None:
        for searcher in self._searchers:
            if not isinstance(searcher, ExactSearcher):
                searcher.recall = dict(recall)

    def search(
        self,
        queries: Array,
        k: int = 1,
        *,
        allowed: Array | None = None,
        excluded: Array | None = None,
        cost_bound: float | Array = np.inf,
    ) -> tuple[Array, Array]:
        """See `deepphase.matching.search.searcher.Searcher.search`."""
        request = SearchRequest.checked(
            queries,
            k,
            rows=len(self._database),
            dims=self._database.dims,
            allowed=allowed,
            excluded=excluded,
            cost_bound=cost_bound,
        )
        nothing = (np.zeros(0), np.zeros(0, np.int64))
        results: list[tuple[Array, Array]] = [nothing] * len(request)
        self._search(request, np.arange(len(request)), results, fallback=False)
        if not self.exact:
            # The lists that an approximate search reads may be empty in one shard, not in all.
            short = [index for index, each in enumerate(results) if len(each[0]) < request.k]
            bounded = np.isfinite(request.bounds)
            short = [index for index in short if not (bounded[index] and len(results[index][0]))]
            for index in short:
                results[index] = nothing
            self._search(request, np.array(short, np.int64), results, fallback=True)
        return answer(request, results)

    def _search(
        self,
        request: SearchRequest,
        which: Array,
        results: list[tuple[Array, Array]],
        *,
        fallback: bool,
    ) -> None:
        """Set the results of some queries; `fallback` as of `FaissSearcher.search`."""
        bounds = np.sqrt(request.bounds)
        for searcher, (start, stop) in zip(self._searchers, self._ranges, strict=True):
            within = None if request.allowed is None else request.allowed[start:stop]
            if not len(which) or (within is not None and not within.any()):
                continue
            options = {} if isinstance(searcher, ExactSearcher) else {"fallback": fallback}
            _, rows = searcher.search(
                request.queries[which],
                request.k,
                allowed=within,
                excluded=np.clip(request.excluded[which] - start, 0, stop - start),
                cost_bound=bounds[which],
                **options,
            )
            for index, found in zip(which, rows, strict=True):
                new = found[found >= 0] + start
                if not len(new):
                    continue
                squares, old = results[index]
                # Computed again, because distances are rounded to float32.
                exact = squared_distances(self._database.features[new], request.queries[index])
                near = exact < request.bounds[index]
                results[index] = best(
                    np.concatenate([squares, exact[near]]),
                    np.concatenate([old, new[near]]),
                    request.k,
                )
                if len(results[index][0]) == request.k:
                    # The next larger number: its square must not be below the one it comes from.
                    last = float(np.sqrt(results[index][0][-1]))
                    bounds[index] = min(bounds[index], np.nextafter(last, np.inf))
