"""Least-recently-used cache of results, shared by all sessions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import streamlit as st

from apps.dashboard.parts.messages import show_error, working
from apps.dashboard.parts.turns import shared_turns
from deepphase.errors import DeepPhaseError
from deepphase.progress import Progress

Cached = TypeVar("Cached")
# Session state: the key of the result whose computation the user cancelled.
_CANCELLED = "cancelled"


class ResultCache(Generic[Cached]):
    """A thread-safe cache that drops the least recently used result.

    Parameters
    ----------
    capacity
        Number of results.
    """

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

        Parameters
        ----------
        key
            Identifies the result.
        make
            Computes the result.
        what
            Name of the computation, as the progress bar shows it.
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

    Parameters
    ----------
    cache
        Holds earlier results.
    key
        Identifies the result.
    make
        Computes the result; may raise DeepPhaseError.
    what
        Name of the computation, as the progress bar shows it.

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
            st.button("Cancel", icon=":material/stop:", on_click=_cancel, args=(key,))
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
