"""Long computations of several sessions: two at a time, and each result once."""

import threading
import time

import pytest

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
    # The others say that they wait.
    _wait_until(lambda: len(set(said)) == 7)
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


def test_an_interrupted_wait_and_a_failure_leave_the_turn_to_others():
    cache, go = ResultCache[str](4), threading.Event()

    def interrupted(*step):
        raise KeyboardInterrupt

    def make(progress):
        assert go.wait(20)
        return "run"

    (first,) = _started(lambda: cache.make("key", make, lambda *step: None))
    _wait_until(lambda: cache._makers)
    with pytest.raises(KeyboardInterrupt):
        cache.make("key", make, interrupted)
    go.set()
    first.join(20)
    for number in range(3):
        with pytest.raises(ZeroDivisionError):
            cache.make(number, lambda progress: 1 / 0, lambda *step: None)
    assert cache.make("other", lambda progress: "made", interrupted) == "made"
