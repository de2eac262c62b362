"""The number of threads of trainings and encodings."""

import numpy as np
import pytest
import torch

from deepphase.phase import encoding
from deepphase.phase.config import NetworkConfig
from deepphase.training import steps
from deepphase.training.steps import FastestThreads


@pytest.fixture
def counts(monkeypatch):
    """Numbers of threads that torch is given, in turn; none of them is taken."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    given = [4]
    monkeypatch.setattr(torch, "set_num_threads", given.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: given[-1])
    return given


@pytest.mark.parametrize(
    ("seconds", "best", "tried"),
    [
        ({1: 1.0, 2: 0.7, 4: 0.5}, 4, 12),
        ({1: 1.0, 2: 0.7, 4: 0.9}, 2, 12),
        ({1: 1.0, 2: 9.0}, 1, 6),
    ],
)
def test_the_fastest_number_of_threads_is_taken(seconds, best, tried, counts, monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(steps.time, "perf_counter", lambda: now[0])
    fastest = FastestThreads("it")
    for _ in range(20):
        with fastest.step(4):
            now[0] += seconds[counts[-1]]
    assert counts[tried + 1 :] == [best] * (21 - tried)
    assert f"it by {best} of 4 threads" in capsys.readouterr().err
    with fastest.step(1):
        assert counts[-1] == 1


@pytest.mark.parametrize(("stated", "tried"), [("", 12), ("all", 12), ("2,1", 0), (" 4", 0)])
def test_a_number_in_the_environment_overrules(stated, tried, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", stated)
    assert len(steps.timed_counts(4)) == tried


def test_steps_with_fewer_threads_are_not_timed(counts, capsys):
    fastest = FastestThreads("it")
    for most in (4, *(1,) * 20):
        with fastest.step(most):
            assert counts[-1] == 1
    assert not capsys.readouterr().err


def test_long_encodings_choose_and_short_ones_do_not(counts, monkeypatch, capsys):
    monkeypatch.setattr(encoding, "encoding_threads", FastestThreads("encoding"))
    config = NetworkConfig(channels=2, window_s=0.5, hidden=2)
    network = encoding.make_autoencoder(3, 20.0, config).eval()
    signals = np.zeros((20, 3), np.float32)
    encoding.encode_windows(network, signals, np.zeros(200, np.int64))
    assert set(counts) == {4}
    encoding.encode_windows(network, signals, np.zeros(256 * 14, np.int64))
    assert counts[-1] == 4
    assert {1, 2} < set(counts)
    assert "encoding by" in capsys.readouterr().err
