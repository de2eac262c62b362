"""Cache of what takes a while to make or to open, shared by all sessions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import streamlit as st

from apps.dashboard.parts.messages import show_error, working
from deepphase.errors import DeepPhaseError
from deepphase.progress import Progress

Cached = TypeVar("Cached")
_STOPPED = "stopped"


class ResultCache(Generic[Cached]):
    """The results of all sessions that were asked for last; safe for threads.

    Parameters
    ----------
    most
        How many are kept; the one that was not asked for the longest time is dropped first.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._results: dict[Hashable, Cached] = {}
        self._lock = threading.Lock()

    def known(self, key: Hashable) -> Cached | None:
        """The result of a key, if it is still kept."""
        with self._lock:
            result = self._results.pop(key, None)
            if result is not None:
                self._results[key] = result
            return result

    def keep(self, key: Hashable, result: Cached) -> None:
        """Remember a result."""
        with self._lock:
            self._results[key] = result
            while len(self._results) > self._most:
                self._results.pop(next(iter(self._results)))

    def known_or_made(self, key: Hashable, make: Callable[[Progress], Cached], what: str) -> Cached:
        """The result of a key, made now if it is not kept, with progress on the page.

        Two sessions may make the same result at once; an interrupted one keeps nothing.

        Parameters
        ----------
        make
            Makes the result.
        what
            It, in words.
        """
        result = self.known(key)
        if result is None:
            with working(what) as progress:
                progress("starting", 0, 1, "")
                result = make(progress)
            self.keep(key, result)
        return result


def cached_or_made(
    kept: ResultCache[Cached], key: Hashable, make: Callable[[Progress], Cached], what: str
) -> Cached | None:
    """What is kept under a key, or what is made now, with progress and a button that cancels.

    Parameters
    ----------
    kept
        Where results are kept.
    key
        Changes with what is asked for.
    make
        Makes the result; may raise DeepPhaseError.
    what
        It, in words.

    Returns
    -------
    None where it was cancelled or cannot be made; the page has said so.
    """
    result = kept.known(key)
    if result is not None:
        return result
    if st.session_state.get(_STOPPED) == key:
        st.info("Cancelled. Change something, or make it after all.", icon=":material/pause:")
        st.button("Make it", type="primary", icon=":material/play_arrow:", on_click=_go_on)
        return None
    place = st.empty()
    try:
        with place.container():
            st.button("Cancel", icon=":material/stop:", on_click=_stop, args=(key,))
            with working(what) as progress:
                result = make(progress)
    except DeepPhaseError as error:
        show_error(error)
        return None
    finally:
        place.empty()
    kept.keep(key, result)
    return result


def _stop(key: Hashable) -> None:
    st.session_state[_STOPPED] = key


def _go_on() -> None:
    st.session_state.pop(_STOPPED, None)
