"""Windows: their edges, the split by source, the order in which training sees them."""

import numpy as np
import pytest
import torch

from deepphase.errors import ParameterError
from deepphase.phase.encoding import gather, padded
from deepphase.phase.signal_corpus import held_out_sources, split_by_source
from deepphase.training.resumable import WindowOrder


def test_gather_takes_the_frames_around_the_centre():
    signals = torch.arange(40.0)[:, None] * torch.tensor([1.0, 2.0])
    windows = gather(signals, torch.tensor([5, 20]), 5)
    assert windows.shape == (2, 2, 5)
    expected = torch.tensor([-2.0, -1, 0, 1, 2])
    assert torch.equal(windows[0, 0], expected)
    assert torch.equal(windows[1, 1], 2 * expected)
    assert windows.permute(2, 0, 1).is_contiguous()


def test_padding_centres_every_frame():
    signals = np.arange(1.0, 4.0)[:, None]
    out = padded(signals, 5)
    assert out[:, 0].tolist() == [0, 0, 1, 2, 3, 0, 0]


def ranges(lengths):
    stops = np.cumsum(lengths)
    return stops - lengths, stops


def test_no_window_crosses_a_clip():
    starts, stops = ranges([30, 8, 50, 40, 25])
    split = split_by_source(starts, stops, list("abcde"), 11, 0.3, seed=1)
    owner = np.repeat(np.arange(5), [30, 8, 50, 40, 25])
    for centres in (split.train, split.held_out):
        assert len(centres)
        assert (owner[centres - 5] == owner[centres + 5]).all()
    assert not set(owner[split.train]) & set(owner[split.held_out])
    assert split.too_short == 1


def test_pieces_of_one_source_stay_together():
    starts, stops = ranges([40] * 6)
    sources = ["a", "a", "b", "b", "c", "c"]
    split = split_by_source(starts, stops, sources, 11, 0.2, seed=0)
    owner = np.repeat(sources, 40)
    assert not set(owner[split.train]) & set(owner[split.held_out])


# Frames that walk, sit and lie: two files alone lie, one walks for a moment before.
KINDS = {
    "lies": [4, 0, 96],
    "lies too": [0, 0, 100],
    **{f"walks {number}": [100, 0, 0] for number in range(8)},
    **{f"sits {number}": [30, 70, 0] for number in range(6)},
}


def remaining(held):
    """Shares of each kind that the training keeps."""
    every = np.array(list(KINDS.values()))
    kept = np.array([counts for name, counts in KINDS.items() if name not in held])
    return kept.sum(axis=0) / every.sum(axis=0)


def test_kinds_of_motion_that_are_held_out_are_trained_on_too():
    frames = {name: sum(counts) for name, counts in KINDS.items()}
    rows = {name: np.array(counts) for name, counts in KINDS.items()}
    without, with_kinds = [], []
    for seed in range(40):
        without.append(remaining(held_out_sources(frames, 0.25, seed)).min())
        held = held_out_sources(frames, 0.25, seed, rows.__getitem__)
        with_kinds.append(remaining(held).min())
        assert 3 <= len(held) <= 5
        # Half of what lies would be more than the training keeps.
        assert not held & {"lies", "lies too"}
        if held == held_out_sources(frames, 0.25, seed):
            assert without[-1] == with_kinds[-1]
    assert min(without) < 0.51
    assert min(with_kinds) >= 2 / 3


def test_single_source_holds_out_its_end_without_overlap():
    starts, stops = ranges([300])
    split = split_by_source(starts, stops, ["a"], 21, 0.1, seed=0)
    assert split.train.max() + 10 < split.held_out.min() - 10


def test_clips_shorter_than_a_window_are_refused():
    with pytest.raises(ParameterError, match="longest has 10 frames of 11"):
        split_by_source(*ranges([10, 4]), ["a", "b"], 11, 0.1, seed=0)


def test_order_shows_every_window_once_a_pass():
    order = WindowOrder(10, seed=4)
    assert sorted(order(0, 10).tolist()) == list(range(10))
    assert sorted(order(10, 20).tolist()) == list(range(10))
    assert order(0, 10).tolist() != order(10, 20).tolist()
