"""Protocol of the pools that run tasks: processes of this machine, and Ray."""

from __future__ import annotations

from typing import Any, Protocol


class WorkerDied(Exception):
    """The process that ran a task died, and so did the second one."""


class TaskPool(Protocol):
    """Processes that run one function of many tasks.

    Attributes
    ----------
    pending
        Number of tasks to hand in ahead of the result that is waited for: enough that no worker
        waits, few enough for memory.
    """

    pending: int

    def submit(self, task: Any) -> Any:
        """Begin a task; returns what `result` takes."""
        ...

    def result(self, submitted: Any) -> Any:
        """Wait for a task's result. An exception of the task is raised; WorkerDied as well."""
        ...

    def cancel(self, submitted: Any) -> None:
        """Drop a task that has not begun."""
        ...

    def close(self) -> None:
        """Wait for tasks that have begun, and end the processes."""
        ...
