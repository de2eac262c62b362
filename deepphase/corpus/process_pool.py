"""Pool of processes on this machine, which outlives the death of one of them."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any

from loky import ProcessPoolExecutor

from deepphase.corpus.task_pool import WorkerDied

# Read by the numerical libraries when a worker imports them. One thread per worker avoids
# oversubscription of the cores.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_PENDING_PER_WORKER = 4


class ProcessPool:
    """Processes of this machine; a :class:`deepphase.corpus.task_pool.TaskPool`.

    Where a process dies, the operating system does not say with which task, and all unfinished
    tasks lose their pool. Each of them is run once more, alone in a process of its own, which shows
    the one at fault and leaves it the whole memory. Other tasks go on in new processes.

    Parameters
    ----------
    function
        Function of a task, pickled with it.
    workers
        Number of processes.
    """

    def __init__(self, function: Callable[[Any], Any], workers: int) -> None:
        self.pending = workers * _PENDING_PER_WORKER
        self._function = function
        self._workers = workers
        self._pool = _processes(workers)
        self._single: ProcessPoolExecutor | None = None

    def submit(self, task: Any) -> tuple[Any, Future[Any]]:
        """Begin a task."""
        try:
            return task, self._pool.submit(self._function, task)
        except BrokenProcessPool:
            self._pool.shutdown(wait=True)
            self._pool = _processes(self._workers)
            return task, self._pool.submit(self._function, task)

    def result(self, submitted: tuple[Any, Future[Any]]) -> Any:
        """Result of a task. Raises WorkerDied where its second process died as well."""
        task, future = submitted
        with suppress(BrokenProcessPool):
            return future.result()
        if self._single is None:
            self._single = _processes(1)
        try:
            return self._single.submit(self._function, task).result()
        except BrokenProcessPool:
            self._single.shutdown(wait=True)
            self._single = None
            raise WorkerDied from None

    def cancel(self, submitted: tuple[Any, Future[Any]]) -> None:
        """Drop a task that has not begun."""
        submitted[1].cancel()

    def close(self) -> None:
        """Wait for tasks that have begun, and end the processes."""
        for pool in (self._pool, self._single):
            if pool is not None:
                pool.shutdown(wait=True)


def _processes(workers: int) -> ProcessPoolExecutor:
    # Loky's processes begin with a clean interpreter: forked ones would inherit locked locks of
    # BLAS and torch threads, and the standard library's spawned ones run the user's script again,
    # which is an endless recursion where it has no `if __name__ == "__main__"`.
    return ProcessPoolExecutor(workers, initializer=_ignore_interrupt, env=_ONE_THREAD)


def _ignore_interrupt() -> None:
    # Ctrl-C reaches every process of a terminal; the parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
