"""The number of threads of a training."""

from types import SimpleNamespace

import pytest
import torch

from deepphase.training import task
from deepphase.training.task import FastestThreads


@pytest.mark.parametrize(
    ("seconds", "best", "tried"),
    [
        ({1: 1.0, 2: 0.7, 4: 0.5}, 4, 12),
        ({1: 1.0, 2: 0.7, 4: 0.9}, 2, 12),
        ({1: 1.0, 2: 9.0}, 1, 6),
    ],
)
def test_the_fastest_number_of_threads_is_taken(seconds, best, tried, monkeypatch, capsys):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    now, counts = [0.0], []
    monkeypatch.setattr(task.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(torch, "set_num_threads", counts.append)
    trainer = SimpleNamespace(
        strategy=SimpleNamespace(root_device=torch.device("cpu")), world_size=1, global_step=0
    )
    threads = FastestThreads(4)
    threads.on_train_start(trainer, SimpleNamespace(total_steps=1_000))
    for _ in range(20):
        threads.on_train_batch_start()
        now[0] += seconds[counts[-1]]
        threads.on_train_batch_end()
    assert (counts[-1], len(counts) - 1) == (best, tried)
    assert f"{best} of 4 threads" in capsys.readouterr().err
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    threads.on_train_start(trainer, SimpleNamespace(total_steps=1_000))
    threads.on_train_batch_start()
    assert len(counts) == tried + 1
