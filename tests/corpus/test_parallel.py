"""Tasks in several processes: order, memory, workers that die, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from deepphase.corpus.parallel import check_workers, map_in_order
from deepphase.errors import ParameterError

ROOT = Path(__file__).parents[2]


def deadly(folder: Path, task: tuple[int, int]) -> int:
    """The task's number; its process dies in the first so many attempts."""
    number, deaths = task
    attempts = len(list(folder.glob(f"{number}-*")))
    if attempts < deaths:
        (folder / f"{number}-{attempts}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def name_of(task: tuple[int, int], error: ParameterError) -> str:
    return f"{task[0]}: {error.fact}"


@pytest.mark.slow
def test_a_dead_workers_task_is_run_once_more_and_then_lost(tmp_path):
    tasks = [(number, {3: 99, 20: 1}.get(number, 0)) for number in range(24)]
    results = list(map_in_order(partial(deadly, tmp_path), tasks, 2, lost=name_of))
    assert results[3].startswith("3: the worker process died twice")
    assert results[:3] + results[4:] == [*range(3), *range(4, 24)]


def test_a_lost_task_is_an_error_where_it_cannot_be_left_out():
    with pytest.raises(ParameterError, match="worker process died twice"):
        list(map_in_order(os._exit, [3, 3], 2))


def test_the_error_of_a_task_is_raised_and_ends_the_workers():
    with pytest.raises(ZeroDivisionError):
        list(map_in_order(partial(divmod, 1), [1, 1, 0, *[1] * 40], 2))


def test_only_a_few_tasks_are_taken_ahead():
    taken = []

    def tasks():
        for task in range(1000):
            taken.append(task)
            yield task

    results = map_in_order(abs, tasks(), 2)
    assert next(results) == 0
    assert len(taken) <= 32
    results.close()


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)])
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_workers_end_with_a_killed_parent(tmp_path, ending):
    script = (
        "import os, pathlib, time\n"
        "from deepphase.corpus.parallel import map_in_order\n"
        "def pid(task):\n"
        f"    (pathlib.Path({str(tmp_path)!r}) / str(os.getpid())).touch()\n"
        "    time.sleep(0.05)\n"
        "for _ in map_in_order(pid, range(10_000), 2): print('one', flush=True)\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert run.stdout is not None
    assert [run.stdout.readline() for _ in range(8)] == ["one\n"] * 8
    run.send_signal(ending)
    run.communicate(timeout=60)
    assert run.returncode == -ending
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert workers
    until = time.monotonic() + 10
    while any(map(alive, workers)):
        assert time.monotonic() < until
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_impossible_number_of_workers():
    with pytest.raises(ParameterError, match="workers must be at least 1"):
        check_workers(0)
