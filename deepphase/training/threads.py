"""The number of threads with which torch computes fastest on a processor."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Steps that are timed with each number of threads.
_TIMED = 4


@contextmanager
def threads_after() -> Iterator[int]:
    """Context with torch's number of threads, after which there are as many as before."""
    count = torch.get_num_threads()
    try:
        yield count
    finally:
        torch.set_num_threads(count)


class FastestThreads:
    """Times steps with 1, 2, 4 ... threads, and takes the fastest number from then on.

    Small products of several threads wait for each other: on a busy machine for many times as long
    as one thread computes. `work` names the steps in the line that says the choice.
    """

    def __init__(self, work: str) -> None:
        self._work, self._best, self._most = work, 0, 0
        self._left: list[int] = []
        self._spent: dict[int, list[float]] = defaultdict(list)

    @contextmanager
    def step(self, most: int) -> Iterator[None]:
        """Context of a step with at most so many threads; they stay as they are after it."""
        if not self._best and not self._left:
            self._left, self._most = timed_counts(most), most
        is_timed = bool(self._left) and most == self._most
        count = self._left[0] if is_timed else min(self._best or most, most)
        torch.set_num_threads(count)
        began = time.perf_counter()
        yield
        if is_timed:
            self._add(count, time.perf_counter() - began, most)

    def _add(self, count: int, seconds: float, most: int) -> None:
        self._spent[count].append(seconds)
        # The first step makes the threads.
        times = {each: statistics.median(spent[1:] or spent) for each, spent in self._spent.items()}
        best = min(times, key=times.__getitem__)
        self._left = self._left[1:]
        if len(self._spent[count]) > 1 and times[count] > 2.0 * times[best]:
            # More threads are slower still.
            self._left = []
        if not self._left:
            torch.set_num_threads(best)
            self._best = best
            words = f"deepphase: {self._work} by {best} of {most} threads, which are fastest now"
            print(f"{words}; OMP_NUM_THREADS overrules", file=sys.stderr)


def timed_counts(most: int) -> list[int]:
    """The number of threads of each step that is timed; none where there is nothing to choose."""
    counts = sorted({*(1 << power for power in range(most.bit_length())), most})
    chooses = most > 1 and "OMP_NUM_THREADS" not in os.environ
    return [count for count in counts for _ in range(_TIMED)] if chooses else []
