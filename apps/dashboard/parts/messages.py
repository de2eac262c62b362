"""Messages of the pages: errors, progress of long work, and results that are made once."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, cast

import streamlit as st
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from deepphase.errors import DeepPhaseError
from deepphase.work import Progress

# A bar for shorter work would only flicker.
_SHOW_AFTER_S = 0.4
# Interval between updates of a bar.
_UPDATE_S = 0.15
# Seconds after which a thread that gives way looks again.
_PAUSE_S = 0.05
_OPTION = re.compile(r"(^|\s)--[a-z]")
Cached = TypeVar("Cached")
# Session state: the key of the result whose computation the user cancelled.
_CANCELLED = "cancelled"
# Computations at once: with one only, a dance of a minute would hold up a run of a second.
_turns = threading.BoundedSemaphore(2)
# Seconds between two looks at a computation; each writes to the page, which a click interrupts.
_LOOK_S = 0.2
# When a page last ran, or the server was ready.
_page_ran = time.monotonic()


def page_runs() -> None:
    """Note that a page runs, to which threads give way."""
    global _page_ran
    _page_ran = time.monotonic()


def give_way(quiet_s: float, most_s: float) -> float:
    """Wait until no page has run for `quiet_s` seconds, but at most `most_s`; return the wait."""
    waited = 0.0
    while waited < most_s and time.monotonic() - _page_ran < quiet_s:
        time.sleep(_PAUSE_S)
        waited += _PAUSE_S
    return waited


def error_sentence(error: DeepPhaseError) -> str:
    """An error as one paragraph: its file name and line, the fact and the hint."""
    place = "" if error.path is None else f"{plain(error.path.name)}"
    if error.line is not None:
        place = f"{place}, line {error.line}" if place else f"line {error.line}"
    fact = plain(error.fact)
    text = f"{place}: {fact}." if place else f"{fact[:1].upper()}{fact[1:]}."
    hint = error.hint
    if "deepphase " not in hint:
        # Options of the command line, which no page has; whole commands can be typed.
        hint = ", ".join(part for part in hint.split(", ") if not _OPTION.search(part))
        hint = hint.removeprefix("or ")
    hint = plain(hint)
    return f"{text} {hint[:1].upper()}{hint[1:]}." if hint else text


def show_error(error: DeepPhaseError) -> None:
    """Display an error in place of the content."""
    st.error(error_sentence(error), icon=":material/error:")


@contextmanager
def shown_errors() -> Iterator[None]:
    """Context that displays an error in place of the rest of the block."""
    try:
        yield
    except DeepPhaseError as error:
        show_error(error)


def plain(text: object) -> str:
    """Escape a text from outside, so that Markdown displays it literally."""
    clean = "".join(c if c.isprintable() else " " for c in str(text))
    for sign in "\\`*_{}[]()<>#+|~$:!":
        clean = clean.replace(sign, f"\\{sign}")
    return clean


def draw_bar(
    what: str, done: int, total: int, began: float, words: str = "", *, place: Any = st
) -> None:
    """Draw a bar with its counts and the time left; `began` as `time.monotonic` gave it."""
    share, passed = min(max(done / max(total, 1), 0.0), 1.0), time.monotonic() - began
    left = passed * (1 - share) / share if share > 0 else 0.0
    parts = [f"{what}, {done:,} of {total:,}" if total else f"{what}, {passed:.0f} s so far"]
    parts += [f"{left:.0f} s left"] if share > 0 and left >= 1 else []
    parts += [plain(words)] if words else []
    place.progress(share, text=", ".join(parts))


@contextmanager
def working(what: str, cancel: Callable[[], None], *, long: bool = False) -> Iterator[Progress]:
    """Context with a progress callback for long work: a bar, the time left, and Cancel.

    They float over the page, which does not move, until the end; work that is known to be `long`,
    which may not report for seconds, has them at once. Another page, a changed setting or Cancel,
    which calls `cancel` before the page runs again, interrupts the work.
    """
    place, began, drawn, bar = st.empty(), time.monotonic(), 0.0, None

    def progress(step: str, done: int, total: int, words: str) -> None:
        nonlocal drawn, bar
        now = time.monotonic()
        if bar is None and (long or now - began >= _SHOW_AFTER_S):
            # A page may do several works one after the other.
            key = secrets.token_hex(4)
            with place.container(
                key=f"working-{key}", horizontal=True, vertical_alignment="center"
            ):
                bar = st.empty()
                st.button("Cancel", icon=":material/stop:", key=f"cancel {key}", on_click=cancel)
        if bar is not None and (now - drawn >= _UPDATE_S or (total and done >= total)):
            drawn = now
            draw_bar(f"{what}: {step}" if step else what, done, total, began, words, place=bar)

    if long:
        progress("", 0, 0, "")
    try:
        yield progress
    finally:
        place.empty()


class _NobodyWaits(Exception):
    """All sessions that asked for a result have left."""


class _Work(Generic[Cached]):
    """A computation in a thread, for all sessions that wait for its result."""

    def __init__(self) -> None:
        self.waiting = 0
        self.said: tuple[str, int, int, str] = ("waiting for other sessions", 0, 0, "")
        self.ended = threading.Event()
        self.result: Cached | None = None
        self.error: BaseException | None = None


class ResultCache(Generic[Cached]):
    """A thread-safe cache that drops the least recently used result."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._results: dict[Hashable, Cached] = {}
        self._lock = threading.RLock()
        self._works: dict[Hashable, _Work[Cached]] = {}

    def find(self, key: Hashable) -> Cached | None:
        """The result of a key, or None if the cache does not hold it."""
        with self._lock:
            result = self._results.pop(key, None)
            if result is not None:
                self._results[key] = result
            return result

    def find_or_make(self, key: Hashable, make: Callable[[Progress], Cached], what: str) -> Cached:
        """The result of a key, computed if it is not there, with progress on the page.

        The rest of the page is left out where the user cancels it.
        """
        result = self.find(key)
        if result is None and get_script_run_ctx(suppress_warning=True) is None:
            return self.make(key, make, lambda *_: None)
        if result is None:
            result = _awaited(self, key, make, what)
        if result is None:
            st.stop()
        return result

    def make(self, key: Hashable, make: Callable[[Progress], Cached], progress: Progress) -> Cached:
        """The result of a key, computed once for all that wait; it ends when the last one leaves.

        An error of `progress`, as where the page is left, ends the wait of this caller alone.
        """
        with self._lock:
            result = self.find(key)
            if result is not None:
                return result
            work = self._works.get(key)
            if work is None:
                work = self._works[key] = _Work()
                thread = threading.Thread(target=self._run, args=(key, work, make), daemon=True)
                # It may read the session that asked first.
                if (page := get_script_run_ctx(suppress_warning=True)) is not None:
                    add_script_run_ctx(thread, page)
                thread.start()
            work.waiting += 1
        try:
            while not work.ended.wait(_LOOK_S):
                progress(*work.said)
        finally:
            with self._lock:
                work.waiting -= 1
        if work.error is not None:
            raise work.error
        return cast(Cached, work.result)

    def _run(self, key: Hashable, work: _Work[Cached], make: Callable[[Progress], Cached]) -> None:
        def progress(step: str, done: int, total: int, words: str) -> None:
            work.said = step, done, total, words
            with self._lock:
                if work.waiting:
                    return
                # Who asks from now on begins anew.
                self._works.pop(key)
            raise _NobodyWaits

        try:
            while not _turns.acquire(timeout=_LOOK_S):
                progress(*work.said)
            try:
                work.said = "", 0, 0, ""
                work.result = make(progress)
            finally:
                _turns.release()
            with self._lock:
                self._results[key] = work.result
                while len(self._results) > self._capacity:
                    self._results.pop(next(iter(self._results)))
        except BaseException as error:
            work.error = error
        finally:
            with self._lock:
                if self._works.get(key) is work:
                    self._works.pop(key)
            work.ended.set()


@st.cache_resource(show_spinner=False)
def shared_cache(what: str, capacity: int) -> ResultCache[Any]:
    """The cache that all sessions share of one kind of result, as of "dances"."""
    return ResultCache(capacity)


def cancellable_result(
    cache: ResultCache[Cached], key: Hashable, make: Callable[[Progress], Cached], what: str
) -> Cached | None:
    """The result of a key, made with progress; None if that failed or was cancelled."""
    result = cache.find(key)
    if result is None:
        with shown_errors():
            result = _awaited(cache, key, make, what)
    return result


def _awaited(
    cache: ResultCache[Cached], key: Hashable, make: Callable[[Progress], Cached], what: str
) -> Cached | None:
    """The result of a key, with a bar and a button beside it; None once that cancelled it."""
    state = st.session_state
    if state.get(_CANCELLED) == key:
        st.info("Cancelled. Change a setting, or make it now.", icon=":material/pause:")
        st.button(
            "Make it", type="primary", icon=":material/play_arrow:",
            on_click=lambda: state.pop(_CANCELLED, None),
        )  # fmt: skip
        return None
    with working(what, lambda: state.update({_CANCELLED: key}), long=True) as progress:
        return cache.make(key, make, progress)
