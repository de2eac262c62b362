"""Trainings whose signals do not fit in the memory that they are given."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.config import PhaseConfig
from deepphase.phase.encoding import gather
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.train import train_phase
from tests.formula_motion import swinging, tiny_phases

_MEMORY = 10_000


@pytest.fixture(scope="module")
def store() -> ClipStore:
    return ClipStore.from_clips(
        [swinging(0.8 + 0.2 * each, 40.0, seed=each)[0] for each in range(4)]
    )


def config(**changes) -> PhaseConfig:
    tiny = {
        "training.windows": 640,
        "training.batch_size": 24,
        "training.mirror": 0.0,
        "training.tempo": 0.0,
        "training.heading_deg": 0.0,
        "training.reversal": 0.0,
    }
    return tiny_phases(**{**tiny, **changes})


def data_of(store, rank: int = 0, size: int = 1, **changes) -> PhaseData:
    data = PhaseData(store, config(**changes), memory=_MEMORY)
    data.trainer = SimpleNamespace(world_size=size, global_rank=rank, global_step=0, training=True)
    return data


def test_signals_in_a_file_are_those_in_memory(store):
    whole, mapped = SignalCorpus.from_store(store), SignalCorpus.from_store(store, memory=10_000)
    assert isinstance(mapped.values, np.memmap)
    assert not isinstance(whole.values, np.memmap)
    np.testing.assert_array_equal(mapped.values, whole.values)
    np.testing.assert_array_equal(mapped.starts, whole.starts)
    assert mapped.signals == whole.signals


def test_windows_of_a_file_are_those_of_the_corpus(store):
    data, values = data_of(store), torch.from_numpy(SignalCorpus.from_store(store).values)
    rows = np.random.default_rng([data.config.training.seed, 48]).integers(
        len(data.split.train_windows), size=24
    )
    expected = gather(values, torch.from_numpy(data.split.train[rows]), data.window)
    batch = data.batch(48, 72)
    torch.testing.assert_close(batch, expected, rtol=0, atol=1e-6)
    for rank in range(2):
        share = data_of(store, rank, 2).batch(48, 72, slice(rank, None, 2))
        torch.testing.assert_close(share, batch[rank::2], rtol=0, atol=1e-6)


@pytest.mark.slow
def test_a_training_on_a_file_learns_as_well(store, tmp_path):
    options = {"accelerator": "cpu", "devices": 1}
    recipe = config(**{"training.windows": 1_200, "training.learning_rate": 0.02})
    whole = train_phase(store, recipe, folder=tmp_path / "whole", **options)
    mapped = train_phase(store, recipe, folder=tmp_path / "file", memory=_MEMORY, **options)
    assert whole.health.explained_variance > 0.3
    lost = whole.health.explained_variance - mapped.health.explained_variance
    assert lost < 0.05 * whole.health.explained_variance
