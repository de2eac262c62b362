"""Parallel map over tasks in several processes, with results in the order of the tasks."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from loky import ProcessPoolExecutor

from deepphase.errors import ParameterError

Task = TypeVar("Task")
TaskResult = TypeVar("TaskResult")

# Read by the numerical libraries when a worker imports them. One thread per worker avoids
# oversubscription of the cores.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# Pending tasks per worker: enough that no worker waits for a slow task, few enough for memory.
_PENDING_TASKS = 4


def usable_cores() -> int:
    """Number of cores that this process may use, which a container may restrict."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_in_order(
    function: Callable[[Task], TaskResult], tasks: Sequence[Task], workers: int
) -> Iterator[TaskResult]:
    """Results of the tasks, in their order; only a few are in memory at a time.

    Parameters
    ----------
    function
        Function of a task. Tasks and results are pickled; an exception ends the run.
    workers
        Number of processes; 1 runs everything in the calling one.

    Raises
    ------
    ParameterError
        Where a process dies or cannot start.
    """
    if workers == 1:
        yield from map(function, tasks)
        return
    pending: deque[Future[TaskResult]] = deque()
    # Loky's processes begin with a clean interpreter: forked ones would inherit locked locks of
    # BLAS and torch threads, and the standard library's spawned ones run the user's script again,
    # which is an endless recursion where it has no `if __name__ == "__main__"`.
    pool = ProcessPoolExecutor(workers, initializer=_ignore_interrupt, env=_ONE_THREAD)
    try:
        for task in tasks:
            pending.append(pool.submit(function, task))
            if len(pending) >= workers * _PENDING_TASKS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool:
        raise ParameterError("a worker process died", hint="try one worker") from None
    finally:
        for future in pending:
            future.cancel()
        pool.shutdown(wait=True)


def _ignore_interrupt() -> None:
    # Ctrl-C reaches every process of a terminal; the parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
