"""Trainings whose signals do not fit in the memory that they are given."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError
from deepphase.phase.config import PhaseConfig
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.train import train_phase
from deepphase.phase.windows import BlockOrder, gather
from tests.formula_motion import swinging

_MEMORY = 800_000


@pytest.fixture(scope="module")
def store() -> ClipStore:
    return ClipStore.from_clips(
        [swinging(0.8 + 0.2 * each, 40.0, seed=each)[0] for each in range(4)]
    )


def config(**changes) -> PhaseConfig:
    tiny = {
        "network.channels": 2,
        "network.window_s": 0.5,
        "network.kernel_s": 0.2,
        "network.hidden": 4,
        "training.windows": 640,
        "training.batch_size": 24,
        "training.mirror": 0.0,
        "training.held_out": 0.25,
        "training.tempo": 0.0,
        "training.heading_deg": 0.0,
        "training.reversal": 0.0,
    }
    return PhaseConfig.load("default", **{**tiny, **changes})


def data_of(store, rank: int = 0, size: int = 1, **changes) -> PhaseData:
    data = PhaseData(store, config(**changes), memory=_MEMORY)
    data.trainer = SimpleNamespace(world_size=size, global_rank=rank, global_step=0, training=True)
    return data


@pytest.mark.parametrize("count", [2_400, 2_417])
def test_a_pass_takes_windows_once_in_blocks_of_shards(count):
    order = BlockOrder(count, 3, shards=96, block_shards=24)
    parts = list(order.blocks(0, order._pass_windows))
    assert [block for block, *_ in parts] == [(0, index) for index in range(4)]
    rows = np.concatenate([order.rows(block)[first:last] for block, first, last in parts])
    assert len(np.unique(rows)) == len(rows) > count - 96
    again = BlockOrder(count, 3, shards=96, block_shards=24)
    np.testing.assert_array_equal(again.rows((0, 2)), order.rows((0, 2)))
    assert (order.rows((1, 0)) != order.rows((0, 0))).any()
    # The windows of a block come from all of the corpus.
    assert np.ptp(order.rows((0, 0))) > count / 2


def test_signals_in_a_file_are_those_in_memory(store):
    whole, mapped = SignalCorpus.from_store(store), SignalCorpus.from_store(store, memory=10_000)
    assert isinstance(mapped.values, np.memmap)
    assert not isinstance(whole.values, np.memmap)
    np.testing.assert_array_equal(mapped.values, whole.values)
    np.testing.assert_array_equal(mapped.starts, whole.starts)
    assert mapped.signals == whole.signals


def test_windows_of_blocks_are_those_of_the_corpus(store):
    """Within a block, at its end, and in the next pass."""
    data = data_of(store)
    order = data.blocks
    assert order is not None
    values = torch.from_numpy(SignalCorpus.from_store(store).values)
    block = order.block_shards * order.shard_windows
    for start in (0, block - 7, order.shards * order.shard_windows - 5):
        rows = [
            order.rows(each)[first:last] for each, first, last in order.blocks(start, start + 24)
        ]
        centres = torch.from_numpy(data.split.train[np.concatenate(rows)])
        expected = gather(values, centres, data.window)
        torch.testing.assert_close(data.batch(start, start + 24), expected, rtol=0, atol=1e-6)


def test_processes_hold_a_share_of_each_block(store):
    whole = data_of(store)
    batch, held = whole.batch(48, 96), whole._held.values.nbytes
    assert held < _MEMORY / 2
    for size in (2, 3, 4):
        for rank in range(size):
            mine = data_of(store, rank, size)
            share = mine.batch(48, 96, slice(rank, None, size))
            torch.testing.assert_close(share, batch[rank::size], rtol=0, atol=1e-6)
            assert mine._held.values.nbytes < 1.2 * held / size


@pytest.mark.slow
def test_a_training_in_blocks_resumes_and_learns_as_well(store, tmp_path):
    options = {"accelerator": "cpu", "devices": 1}
    recipe = config(**{"training.windows": 3_600, "training.learning_rate": 0.01})
    whole = train_phase(store, recipe, folder=tmp_path / "whole", **options)

    def stop(what, done, total, words):
        if what == "training" and done > total / 2:
            raise KeyboardInterrupt

    blocks = {"memory": _MEMORY, **options}
    straight = train_phase(store, recipe, folder=tmp_path / "blocks", **blocks)
    with pytest.raises(KeyboardInterrupt):
        train_phase(store, recipe, folder=tmp_path / "cut", progress=stop, **blocks)
    with pytest.raises(CheckpointError, match="shards"):
        train_phase(store, recipe, folder=tmp_path / "cut", resume=True, **options)
    resumed = train_phase(store, recipe, folder=tmp_path / "cut", resume=True, **blocks)
    assert resumed.sha256 == straight.sha256
    lost = whole.health.explained_variance - straight.health.explained_variance
    assert lost < 0.05 * whole.health.explained_variance
