"""Turns of the long computations of all sessions, which share one server's processor."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import streamlit as st

from deepphase.progress import Progress

# Computations at once: with one only, a film of a minute would hold up a run of a second.
_AT_ONCE = 2
# Seconds between two looks at the queue; each writes to the page, which a click interrupts.
_LOOK_S = 0.2


class Turns:
    """First come, first served: some computations at a time, and no result twice at a time.

    Parameters
    ----------
    at_once
        Number of computations that run at the same time.
    """

    def __init__(self, at_once: int = _AT_ONCE) -> None:
        self._at_once = at_once
        self._queue: deque[tuple[Hashable, object]] = deque()
        self._changed = threading.Condition()
        self._here = threading.local()

    @contextmanager
    def turn(self, key: Hashable, progress: Progress) -> Iterator[None]:
        """Wait for a turn, with the number of computations before this one, and hold it.

        A computation waits for an earlier one of the same key, whose result it may then find. The
        turn is given back however the block, or the wait, ends. Within a turn of the same thread
        there is no wait.

        Parameters
        ----------
        key
            Identifies the result.
        progress
            Called while waiting; what it raises ends the wait.
        """
        if getattr(self._here, "holds", False):
            yield
            return
        entry = (key, object())
        with self._changed:
            self._queue.append(entry)
        try:
            while before := self._before(entry):
                progress(f"waiting for {before} of other sessions", 0, 0, "")
                with self._changed:
                    self._changed.wait(_LOOK_S)
            self._here.holds = True
            yield
        finally:
            self._here.holds = False
            with self._changed:
                self._queue.remove(entry)
                self._changed.notify_all()

    def _before(self, entry: tuple[Hashable, object]) -> int:
        """Computations that must end before this one begins: 0 if it is its turn."""
        with self._changed:
            # Those that wait for the same result count once: only one of them computes.
            earlier = {key for key, _ in list(self._queue)[: self._queue.index(entry)]}
        return max(len(earlier) + 1 - self._at_once, int(entry[0] in earlier), 0)


@st.cache_resource(show_spinner=False)
def shared_turns() -> Turns:
    """The turns of the server."""
    return Turns()
