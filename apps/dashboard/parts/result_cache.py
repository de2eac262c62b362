"""Cache of results that all sessions share, and turns of the computations that make them."""

from __future__ import annotations

import threading
from collections import defaultdict
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
_turns = threading.BoundedSemaphore(2)
# Seconds between two looks at a lock; each writes to the page, which a click interrupts.
_LOOK_S = 0.2


@contextmanager
def _holding(lock: threading.Lock | threading.Semaphore, progress: Progress) -> Iterator[None]:
    """Wait for a lock with progress, and hold it; an interrupted wait leaves it to others."""
    while not lock.acquire(timeout=_LOOK_S):
        progress("waiting for other sessions", 0, 0, "")
    try:
        yield
    finally:
        lock.release()


class ResultCache(Generic[Cached]):
    """A thread-safe cache that drops the least recently used result.

    Sessions that ask for the same result wait for the first of them. An interrupted computation
    stores nothing.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._results: dict[Hashable, Cached] = {}
        self._lock = threading.Lock()
        self._makers: defaultdict[Hashable, threading.Lock] = defaultdict(threading.Lock)

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
        """The result of a key, computed if it is not there, with progress on the page."""
        result = self.find(key)
        if result is None:
            with working(what) as progress:
                progress("starting", 0, 1, "")
                result = self.make(key, make, progress)
        return result

    def make(self, key: Hashable, make: Callable[[Progress], Cached], progress: Progress) -> Cached:
        """The result of a key, computed if the cache does not hold it when its turn comes."""
        with self._lock:
            maker = self._makers[key]
        with _holding(maker, progress):
            try:
                result = self.find(key)
                if result is None:
                    with _holding(_turns, progress):
                        result = make(progress)
                    self.store(key, result)
            finally:
                self._makers.pop(key, None)
        return result


@st.cache_resource(show_spinner=False)
def shared_cache(what: str, capacity: int) -> ResultCache[Any]:
    """The cache that all sessions share of one kind of result, as of "dances"."""
    return ResultCache(capacity)


def cancellable_result(
    cache: ResultCache[Cached], key: Hashable, make: Callable[[Progress], Cached], what: str
) -> Cached | None:
    """The result of a key, computed if needed with progress and a button that cancels.

    None if the user cancelled or the computation failed; the page then says so.
    """
    result = cache.find(key)
    if result is not None:
        return result
    state = st.session_state
    if state.get(_CANCELLED) == key:
        st.info("Cancelled. Change a setting, or make it now.", icon=":material/pause:")
        st.button(
            "Make it", type="primary", icon=":material/play_arrow:",
            on_click=lambda: state.pop(_CANCELLED, None),
        )  # fmt: skip
        return None
    place = st.empty()
    try:
        with place.container():
            # A page may compute several results one after the other.
            st.button(
                "Cancel", icon=":material/stop:", key=f"cancel {hash(key)}",
                on_click=lambda: state.update({_CANCELLED: key}),
            )  # fmt: skip
            with working(what) as progress:
                return cache.make(key, make, progress)
    except DeepPhaseError as error:
        show_error(error)
        return None
    finally:
        place.empty()
