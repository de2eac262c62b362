"""Parallel map over tasks in several processes, with results in the order of the tasks."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from loky import ProcessPoolExecutor, cpu_count

from deepphase.corpus.ray_pool import RayPool, ray_address
from deepphase.errors import ParameterError

Task = TypeVar("Task")
TaskResult = TypeVar("TaskResult")

# Tasks handed in ahead of the result that is waited for: no worker waits, and memory suffices.
_PENDING_PER_WORKER = 4
# Where the first tasks all lose their workers, no worker can start, and the others are spared.
_DEATHS_WITHOUT_A_RESULT = 4
# Read by the numerical libraries when a worker imports them. One thread per worker avoids
# oversubscription of the cores.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_PARENT_CHECK_S = 0.5


def workers_for(
    sizes: Iterable[int], tasks: int, bytes_per_worker: int, workers: int | None = None
) -> int:
    """Number of processes for some tasks: the given one, else by cores and amount of data.

    Parameters
    ----------
    sizes
        Bytes of the data, read only where no number is given.
    tasks
        Number of tasks; there are no more processes.
    bytes_per_worker
        Below this many bytes of data per process, starting one costs more than it saves.
    workers
        The given number.
    """
    if workers is None:
        workers = min(cpu_count(), 1 + sum(sizes) // bytes_per_worker)
    return max(1, min(workers, tasks))


def check_parallel(workers: int | None = None, cluster: str | None = None) -> None:
    """Raise ParameterError unless the options of :func:`map_in_order` are possible."""
    if workers is not None and workers < 1:
        raise ParameterError(f"workers must be at least 1, not {workers}")
    if cluster is not None:
        ray_address(cluster)


def map_in_order(
    function: Callable[[Task], TaskResult],
    tasks: Iterable[Task],
    workers: int,
    *,
    cluster: str | None = None,
    lost: Callable[[Task, ParameterError], TaskResult] | None = None,
) -> Iterator[TaskResult]:
    """Results of the tasks, in their order; only a few are in memory at a time.

    A task whose worker process dies, killed or out of memory, is run once more. If that worker
    dies as well, the task is lost, and the others go on.

    Parameters
    ----------
    function
        Function of a task. Tasks and results are pickled; an exception ends the run.
    workers
        Number of processes; 1 runs everything in the calling one, unless a cluster is given. A
        running cluster has its own.
    cluster
        "ray" for Ray's scheduler on this machine, "ray:ADDRESS" for a running Ray cluster, whose
        machines reach all files under the same paths.
    lost
        Function of a lost task and its error that makes a result in place of the task's own. If not
        given, the error is raised.

    Raises
    ------
    ParameterError
        Where a task is lost and `lost` is not given, no worker can start, or the cluster is not
        there.
    """
    if workers == 1 and cluster is None:
        yield from map(function, tasks)
        return
    deaths, survived = 0, False
    pending: deque[tuple[Task, Any]] = deque()
    rest = iter(tasks)
    pool: _ProcessPool | RayPool
    if cluster is None:
        pool = _ProcessPool(function, workers)
    else:
        pool = RayPool(function, ray_address(cluster), workers)
    try:
        while True:
            for task in rest:
                pending.append((task, pool.submit(task)))
                if len(pending) >= pool.workers * _PENDING_PER_WORKER:
                    break
            if not pending:
                return
            task, submitted = pending.popleft()
            try:
                result = pool.result(task, submitted)
                survived = True
            except BrokenProcessPool:
                error = ParameterError(
                    "the worker process died twice, as it does when memory runs out",
                    hint="try fewer workers",
                )
                deaths += 1
                if lost is None or (deaths == _DEATHS_WITHOUT_A_RESULT and not survived):
                    raise error from None
                result = lost(task, error)
            yield result
    finally:
        pool.close([submitted for _, submitted in pending])


class _ProcessPool:
    """Processes of this machine.

    Where a process dies, the operating system does not say with which task, and all unfinished
    tasks lose their executor. Each of them is run once more, alone in a process of its own, which
    shows the one at fault and leaves it the whole memory. Other tasks go on in new processes.
    """

    def __init__(self, function: Callable[[Any], Any], workers: int) -> None:
        self.workers = workers
        self._function = function
        self._executors: dict[int, ProcessPoolExecutor] = {}

    def submit(self, task: Any, workers: int | None = None) -> Future[Any]:
        """Begin a task, in one of as many processes."""
        workers = workers or self.workers
        # Loky's processes begin with a clean interpreter: forked ones would inherit locked locks of
        # BLAS and torch threads, and the standard library's spawned ones run the user's script
        # again, which is an endless recursion where it has no `if __name__ == "__main__"`.
        if workers not in self._executors:
            self._executors[workers] = ProcessPoolExecutor(
                workers,
                initializer=_begin_worker,
                initargs=(os.getpid(),),
                env=_ONE_THREAD,
            )
        try:
            return self._executors[workers].submit(self._function, task)
        except BrokenProcessPool:
            self._executors.pop(workers).shutdown()
            return self.submit(task, workers)

    def result(self, task: Any, future: Future[Any]) -> Any:
        """Result of a task. Raises BrokenProcessPool where its second process died as well."""
        try:
            return future.result()
        except BrokenProcessPool:
            return self.submit(task, 1).result()

    def close(self, pending: Iterable[Future[Any]]) -> None:
        """Drop pending tasks that have not begun, wait for the others, and end the processes."""
        for future in pending:
            future.cancel()
        for executor in self._executors.values():
            executor.shutdown()


def _begin_worker(parent: int) -> None:
    # Ctrl-C reaches every process of a terminal; the parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Its number comes from itself: it may have been killed while this process was started.
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: int) -> None:
    # A parent that is killed cannot end its workers, which would wait for tasks for ever.
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_S)
    os._exit(1)
