"""Progress reports of long work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Progress = Callable[[str, int, int, str], None]
"""Called as (name of the step, units done, units in all, a short remark such as the loss)."""

Item = TypeVar("Item")


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
