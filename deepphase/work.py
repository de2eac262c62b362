"""Long work: its progress, its memory, and tasks in several processes."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from deepphase.errors import OutOfMemoryError, ParameterError

Progress = Callable[[str, int, int, str], None]
"""Called as (name of the step, units done, units in all, a short remark such as the loss)."""

Item = TypeVar("Item")
Result = TypeVar("Result")

# PyTorch has no type of error for a shortage of main memory.
_TORCH_SHORTAGE = ("DefaultCPUAllocator", "out of memory")
# Tasks per worker whose results may be in memory together.
_TASKS_PER_WORKER = 16
# Tasks, small as they may be, that take longer than the start of a process.
_TASKS_OF_A_START = 200
_IDLE_S = 30
_PARENT_CHECK_S = 0.5
# Below this much data per process, starting one costs more than it saves.
_BYTES_PER_WORKER = 4_000_000


def report(progress: Progress | None, step: str, done: int, count: int, remark: str = "") -> None:
    """Report how far a step is, where somebody asks for it."""
    if progress is not None:
        progress(step, done, count, remark)


def reported(
    progress: Progress | None, step: str, items: Iterable[Item], count: int
) -> Iterator[Item]:
    """The items of a loop, each reported when the loop has done with it, with its name if any."""
    for done, item in enumerate(items, start=1):
        yield item
        report(progress, step, done, count, str(getattr(item, "name", "")))


def within_memory(
    function: Callable[..., Result], *args: Any, about: str | Path | None = None, **options: Any
) -> Result:
    """The result of a function; OutOfMemoryError, about a file, where memory is short."""
    try:
        return function(*args, **options)
    except MemoryError:
        pass
    except RuntimeError as error:
        if not any(words in str(error) for words in _TORCH_SHORTAGE):
            raise
    # Raised here, the error does not keep the arrays of the failed step alive.
    raise OutOfMemoryError(
        "the memory does not suffice for this file",
        hint="cut the file into shorter ones, or use fewer workers",
        path=about,
    )


def workers_for(
    sizes: Sequence[int], workers: int | None = None, bytes_each: int = _BYTES_PER_WORKER
) -> int:
    """Number of processes for tasks of these bytes: the given one, else by cores and bytes."""
    if workers is not None and workers < 1:
        raise ParameterError(f"workers must be at least 1, not {workers}")
    if workers is None:
        workers = 1 + max(sum(sizes) // bytes_each, len(sizes) // _TASKS_OF_A_START)
        if min(workers, len(sizes)) > 1:
            # Imported where it is used: most commands need one process.
            from joblib import cpu_count

            workers = min(cpu_count(), workers)
    return max(1, min(workers, len(sizes)))


def map_in_order(
    function: Callable[[Item], Result],
    tasks: Iterable[Item],
    workers: int,
    *,
    lost: Callable[[Item, ParameterError], Result] | None = None,
) -> Iterator[Result]:
    """Results of the tasks, in their order; only a few are in memory at a time.

    The processes are joblib's, of its active backend: processes of this machine by default, and a
    cluster's within ``joblib.parallel_config``. Tasks and results are pickled, and an exception of
    a task ends the run. With one worker everything runs in the calling process.

    Where a worker process dies, killed or out of memory, each unfinished task is run in a process
    of its own, twice at most. A task that kills both is lost: `lost` makes a result of the task and
    the error. Without it the error, a ParameterError, is raised.
    """
    if workers == 1:
        yield from map(function, tasks)
        return
    rest = iter(tasks)
    while batch := list(islice(rest, workers * _TASKS_PER_WORKER)):
        done = 0
        try:
            for result in _run(function, batch, workers):
                done += 1
                yield result
        except BrokenProcessPool:
            for task in batch[done:]:
                for _ in range(2):
                    with suppress(BrokenProcessPool):
                        (result,) = _run(function, [task], workers)
                        break
                else:
                    error = ParameterError(
                        "the worker process died twice, as it does when memory runs out",
                        hint="try fewer workers",
                    )
                    if lost is None:
                        raise error
                    result = lost(task, error)
                yield result


def _run(function: Callable[[Any], Any], tasks: Sequence[Any], workers: int) -> Iterator[Any]:
    from joblib import Parallel, delayed
    from joblib.parallel import BACKENDS, get_active_backend

    backend, _ = get_active_backend()
    if backend.supports_inner_max_num_threads:
        # Sums of several threads differ in the last bits, and threads of all processes would be
        # more than the cores.
        backend = BACKENDS["loky"](
            inner_max_num_threads=1,
            idle_worker_timeout=_IDLE_S,
            initializer=_begin_worker,
            initargs=(os.getpid(), threading.current_thread() is threading.main_thread()),
        )
    pool = Parallel(workers, backend, return_as="generator", batch_size=1, max_nbytes=None)
    with _signals_blocked():
        results = pool(delayed(function)(task) for task in tasks)
    try:
        # Not `yield from`, which would close `results` before the warning is off.
        for result in results:  # noqa: UP028
            yield result
    finally:
        with warnings.catch_warnings():
            # A run that ends early, by Ctrl-C or an error, drops tasks on purpose.
            warnings.simplefilter("ignore", UserWarning)
            results.close()


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Context whose processes signals to the terminal do not end, with tracebacks."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as of_loky

    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        # After Ctrl-C they remove what they track, and would warn of it.
        sys.warnoptions.append("ignore:resource_tracker:UserWarning")
        # Their start ends the blocking of SIGINT.
        resource_tracker.ensure_running()
        of_loky.ensure_running()
        sys.warnoptions.pop()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(parent: int, of_main_thread: bool) -> None:
    # Ctrl-C reaches every process of a terminal; the parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if of_main_thread and sys.platform == "linux":
        # PR_SET_PDEATHSIG: a thread may wait long while another one imports. The end of the thread
        # that started a process counts as that of its parent.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    # Its number comes from itself: it may have been killed while this process was started.
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: int) -> None:
    # A parent that is killed cannot end its workers, which would wait for tasks for ever.
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_S)
    os._exit(1)
