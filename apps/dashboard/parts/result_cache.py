"""Cache of results that all sessions share, and turns of the computations that make them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import streamlit as st

from deepphase.apps.dashboard.parts.messages import show_error, working
from deepphase.errors import DeepPhaseError
from deepphase.progress import Progress

Cached = TypeVar("Cached")
# Session state: the key of the result whose computation the user cancelled.
_CANCELLED = "cancelled"
# Computations at once: with one only, a dance of a minute would hold up a run of a second.
_AT_ONCE = 2
# Seconds between two looks at the queue; each writes to the page, which a click interrupts.
_LOOK_S = 0.2


class Turns:
    """First come, first served: some computations at a time, and no result twice at a time."""

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


class ResultCache(Generic[Cached]):
    """A thread-safe cache that drops the least recently used result."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._results: dict[Hashable, Cached] = {}
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> Cached | None:
        """The result of a key, or None if the cache does not hold it."""
        with self._lock:
            result = self._results.pop(key, None)
            if result is not None:
                self._results[key] = result
            return result

    def store(self, key: Hashable, result: Cached) -> None:
        """Add a result."""
        with self._lock:
            self._results[key] = result
            while len(self._results) > self._capacity:
                self._results.pop(next(iter(self._results)))

    def find_or_make(self, key: Hashable, make: Callable[[Progress], Cached], what: str) -> Cached:
        """The result of a key, computed if the cache does not hold it, with progress on the page.

        Sessions that ask for the same result wait for the first of them. An interrupted
        computation stores nothing.
        """
        result = self.find(key)
        if result is None:
            with working(what) as progress:
                progress("starting", 0, 1, "")
                result = self.make(key, make, progress)
        return result

    def make(self, key: Hashable, make: Callable[[Progress], Cached], progress: Progress) -> Cached:
        """The result of a key, computed in turn with those of other sessions, and stored."""
        # Sessions that wait for the same result find it when it is their turn.
        with shared_turns().turn((id(self), key), progress):
            result = self.find(key)
            if result is None:
                result = make(progress)
                self.store(key, result)
        return result


@st.cache_resource(show_spinner=False)
def shared_cache(what: str, capacity: int) -> ResultCache[Any]:
    """The cache that all sessions share of one kind of result, as of "dances"."""
    return ResultCache(capacity)


def cancellable_result(
    cache: ResultCache[Cached], key: Hashable, make: Callable[[Progress], Cached], what: str
) -> Cached | None:
    """The result of a key, computed if needed with progress and a button that cancels.

    Returns
    -------
    None if the user cancelled or the computation failed; the page then says so.
    """
    result = cache.find(key)
    if result is not None:
        return result
    if st.session_state.get(_CANCELLED) == key:
        st.info("Cancelled. Change a setting, or make it now.", icon=":material/pause:")
        st.button("Make it", type="primary", icon=":material/play_arrow:", on_click=_resume)
        return None
    place = st.empty()
    try:
        with place.container():
            # A page may compute several results one after the other.
            st.button(
                "Cancel", icon=":material/stop:", on_click=_cancel, args=(key,),
                key=f"cancel {hash(key)}",
            )  # fmt: skip
            with working(what) as progress:
                result = cache.make(key, make, progress)
    except DeepPhaseError as error:
        show_error(error)
        return None
    finally:
        place.empty()
    return result


def _cancel(key: Hashable) -> None:
    st.session_state[_CANCELLED] = key


def _resume() -> None:
    st.session_state.pop(_CANCELLED, None)
