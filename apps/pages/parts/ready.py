"""What takes a while to be opened, kept ready for all sessions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from apps.pages.parts.telling import working
from deepphase.progress import Progress

Opened = TypeVar("Opened")


class Ready(Generic[Opened]):
    """The last so many that were opened; the oldest gives way."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Hashable, Opened] = {}

    def get(self, key: Hashable, make: Callable[[Progress], Opened], what: str) -> Opened:
        """What is kept, or what is made now, while the page tells how far that is.

        Parameters
        ----------
        what
            What the page says, in words.
        """
        kept = self._kept.get(key)
        if kept is None:
            # Two sessions may make the same at once; who is interrupted leaves nothing behind.
            with working(what) as progress:
                progress("starting", 0, 1, "")
                kept = make(progress)
            for oldest in list(self._kept)[: max(len(self._kept) + 1 - self._most, 0)]:
                self._kept.pop(oldest, None)
            self._kept[key] = kept
        return kept
