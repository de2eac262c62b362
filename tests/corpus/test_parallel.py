"""Tasks in several processes: order, memory, workers that die, signals."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from deepphase.errors import ParameterError
from deepphase.work import map_in_order, workers_for


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


def test_an_impossible_number_of_workers():
    with pytest.raises(ParameterError, match="workers must be at least 1"):
        workers_for([], 0)
