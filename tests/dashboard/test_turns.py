"""Long computations of several sessions: two at a time, and each result once."""

import threading
import time

import pytest
from streamlit.testing.v1 import AppTest

from deepphase.apps.dashboard.parts.messages import ResultCache


def _wait_until(true):
    limit = time.monotonic() + 20
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.005)


def _started(*sessions):
    threads = [threading.Thread(target=session) for session in sessions]
    for thread in threads:
        thread.start()
    return threads


def test_eight_sessions_make_one_result_once():
    cache, made, said, found, go = ResultCache[str](4), [], [], [], threading.Event()

    def make(progress):
        made.append(threading.get_ident())
        assert go.wait(20)
        return "dance"

    def session():
        found.append(cache.make("key", make, lambda *step: said.append(threading.get_ident())))

    threads = _started(*[session] * 8)
    # All say that they wait.
    _wait_until(lambda: len(set(said)) == 8)
    go.set()
    for thread in threads:
        thread.join(20)
    assert found == ["dance"] * 8
    assert len(made) == 1


def test_two_computations_run_at_once():
    cache, running, peak, gate = ResultCache[int](8), [], [], threading.Semaphore(0)

    def session(number):
        def make(progress):
            running.append(number)
            peak.append(len(running))
            assert gate.acquire(timeout=20)
            running.remove(number)
            return number

        return lambda: cache.make(number, make, lambda *step: None)

    threads = _started(*map(session, range(5)))
    for done in range(5):
        _wait_until(lambda done=done: len(peak) >= min(5, done + 2))
        gate.release()
    for thread in threads:
        thread.join(20)
    assert max(peak) == 2


def test_who_leaves_ends_no_other_wait_and_the_last_one_ends_the_work():
    cache, began, ended, found = ResultCache[str](4), [], threading.Event(), []
    left = {name: threading.Event() for name in ("first", "second")}

    def make(progress):
        began.append(threading.get_ident())
        while not ended.is_set():
            progress("step", 1, 2, "")
            time.sleep(0.005)
        return "made"

    def session(name):
        def progress(*step):
            if left[name].is_set():
                raise KeyboardInterrupt

        try:
            found.append(cache.make("key", make, progress))
        except KeyboardInterrupt:
            found.append(name)

    for last in ("made", "second"):
        ended.clear()
        left["first"].clear()
        threads = _started(lambda: session("first"), lambda: session("second"))
        _wait_until(lambda: [work.waiting for work in cache._works.values()] == [2])
        (work,) = cache._works.values()
        left["first"].set()
        threads[0].join(20)
        (ended if last == "made" else left["second"]).set()
        threads[1].join(20)
        assert work.ended.wait(20)
        assert (found, cache._works) == (["first", last], {})
        found.clear()
        cache._results.clear()
    assert len(began) == 2
    assert cache.make("key", lambda progress: "again", lambda *step: None) == "again"


def test_a_failure_leaves_the_turn_to_others():
    cache = ResultCache[str](4)
    for number in range(3):
        with pytest.raises(ZeroDivisionError):
            cache.make(number, lambda progress: 1 / 0, lambda *step: None)
    assert cache.make("other", lambda progress: "made", lambda *step: None) == "made"


def test_a_wait_that_was_cancelled_goes_on_when_it_is_asked_for():
    def page() -> None:
        import streamlit as st

        from deepphase.apps.dashboard.parts.messages import shared_cache

        st.title(shared_cache("tests", 1).find_or_make("key", lambda _: "made", "Making it"))

    app = AppTest.from_function(page)
    # As the button beside the bar sets it, which is there while the page waits.
    app.session_state["cancelled"] = "key"
    assert not app.run().title
    app.button[0].click().run()
    assert app.title[0].value == "made"
