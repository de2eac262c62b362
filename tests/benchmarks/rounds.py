"""Interleaved rounds: rivals take turns, so that a busy machine slows all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def medians(
    rivals: Mapping[str, Callable[[], object]], *, rounds: int, calls: int = 1
) -> dict[str, float]:
    """Median seconds of a call of each rival over interleaved rounds, after one to warm up."""
    spent: dict[str, list[float]] = {name: [] for name in rivals}
    for round_ in range(rounds + 1):
        for name, run in rivals.items():
            began = time.perf_counter()
            for _ in range(calls):
                run()
            if round_:
                spent[name].append((time.perf_counter() - began) / calls)
    return {name: statistics.median(values) for name, values in spent.items()}
