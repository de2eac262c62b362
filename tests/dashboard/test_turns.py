"""Long computations of several sessions: in turn, and each result once."""

import threading
import time

import pytest

from deepphase.apps.dashboard.parts import result_cache
from deepphase.apps.dashboard.parts.result_cache import ResultCache, Turns


def _wait_until(true):
    limit = time.monotonic() + 20
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.005)


def test_eight_sessions_make_one_result_once(monkeypatch):
    turns = Turns()
    monkeypatch.setattr(result_cache, "shared_turns", lambda: turns)
    cache, made, said, go = ResultCache[str](4), [], [], threading.Event()

    def make(progress):
        made.append(threading.get_ident())
        assert go.wait(20)
        return "dance"

    found = []
    sessions = [
        threading.Thread(
            target=lambda: found.append(cache.make("key", make, lambda *step: said.append(step[0])))
        )
        for _ in range(8)
    ]
    for each in sessions:
        each.start()
    # The others say that they wait, and that only one computation is before them.
    _wait_until(lambda: len(said) >= 7)
    go.set()
    for each in sessions:
        each.join(20)
    assert found == ["dance"] * 8
    assert len(made) == 1
    assert set(said) == {"waiting for 1 of other sessions"}


def test_some_computations_run_at_once_and_the_others_in_order():
    turns, running, order, peak = Turns(2), [], [], []
    gate = threading.Semaphore(0)

    def session(number):
        with turns.turn(number, lambda *step: None):
            running.append(number)
            order.append(number)
            peak.append(len(running))
            assert gate.acquire(timeout=20)
            running.remove(number)

    threads = []
    for number in range(5):
        threads.append(threading.Thread(target=session, args=(number,)))
        threads[-1].start()
        # Each stands in the queue, or computes, before the next one comes.
        _wait_until(lambda number=number: len(turns._queue) == number + 1)
    _wait_until(lambda: len(running) == 2)
    for done in range(5):
        gate.release()
        _wait_until(lambda done=done: len(order) >= min(5, done + 3))
    for each in threads:
        each.join(20)
    assert sorted(order[:2]) == [0, 1]
    assert order[2:] == [2, 3, 4]
    assert max(peak) == 2


def test_an_interrupted_wait_and_a_failure_give_their_place_back():
    turns = Turns(1)

    def interrupted(*step):
        raise KeyboardInterrupt

    def second():
        with pytest.raises(KeyboardInterrupt), turns.turn("b", interrupted):
            raise AssertionError("it is the first one's turn")

    # A computation within another one does not wait for itself.
    with turns.turn("a", interrupted), turns.turn("a", interrupted):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(20)
        assert len(turns._queue) == 1
    with pytest.raises(ZeroDivisionError), turns.turn("c", interrupted):
        print(1 / 0)
    assert not turns._queue
