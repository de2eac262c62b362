"""A function over many tasks in several processes, results in the order of the tasks."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from deepphase.errors import ParameterError

Task = TypeVar("Task")
Result = TypeVar("Result")

_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Enough that a worker never waits for a slow task before it, few enough for memory.
_AHEAD = 4


def usable_cores() -> int:
    """Cores that this process may use, which a container may hold to fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_in_order(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int
) -> Iterator[Result]:
    """Results of the tasks, in their order; only a few are held at a time.

    Parameters
    ----------
    function
        Importable by name; its tasks and results can be pickled. What it raises ends the run.
    workers
        Processes; with 1 all happens in this one.

    Raises
    ------
    ParameterError
        Where a process dies or cannot start.
    """
    if workers == 1:
        yield from map(function, tasks)
        return
    pending: deque[Future[Result]] = deque()
    waiting = iter(tasks)
    # Forked children inherit locked locks of BLAS and torch threads; spawned ones are clean.
    context = multiprocessing.get_context("spawn")
    with _one_thread_each():
        pool = ProcessPoolExecutor(workers, context, initializer=_ignore_interrupt)
        try:
            for task in waiting:
                pending.append(pool.submit(function, task))
                if len(pending) >= workers * _AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool:
            raise ParameterError(
                "a worker process died",
                hint="try one worker; a script that calls this needs `if __name__ == '__main__':`",
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    # Read by the libraries when a child imports them: two workers with a thread for every core
    # each would get into each other's way.
    before = {name: os.environ.get(name) for name in _THREAD_COUNTS}
    os.environ.update(dict.fromkeys(_THREAD_COUNTS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _ignore_interrupt() -> None:
    # Ctrl-C reaches every process of a terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
