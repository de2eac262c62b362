"""Alignment and future ranks on features whose answers are known."""

import numpy as np
import pytest

from deepphase.arrays import wrapped
from deepphase.errors import ParameterError
from deepphase.phase import matches
from deepphase.phase.matches import Frames, alignment_by_chance, alignment_errors, future_ranks
from deepphase.phase.parameters import PhaseParameters


def circling(clips=6, length=300, rate=1.1):
    """Clips of a point on a circle: its phase, its pose, its frames."""
    index = np.tile(np.arange(length), clips)
    clip = np.repeat(np.arange(clips), length)
    phase = wrapped(index * rate / 60 + 0.37 * clip)
    angle = 2 * np.pi * phase
    poses = np.stack([np.sin(angle), np.cos(angle), np.zeros_like(angle)], -1)[:, None]
    ones = np.ones((len(phase), 1))
    parameters = PhaseParameters(phase[:, None], rate * ones, ones, 0 * ones)
    return parameters, poses, Frames(clip, index)


def test_a_feature_that_is_the_pose_aligns_best():
    parameters, poses, frames = circling()
    by_phase = alignment_errors(parameters.manifold(), poses, frames, queries=200).mean()
    rng = np.random.default_rng(0)
    by_nothing = alignment_errors(rng.normal(size=(len(frames), 2)), poses, frames, queries=200)
    assert by_phase < 0.05
    assert by_nothing.mean() == pytest.approx(alignment_by_chance(poses), rel=0.15)
    assert alignment_by_chance(poses) == pytest.approx(4 / np.pi, rel=0.05)


def test_neighbours_in_time_do_not_count():
    """With time itself as feature, only the excluded neighbours would be near in pose."""
    index = np.arange(400)
    poses = np.stack([0.01 * index, 0 * index, 0 * index], -1)[:, None].astype(float)
    frames = Frames(np.zeros(400, int), index)
    errors = alignment_errors(index[:, None], poses, frames, queries=50, matches=1, exclude=60)
    assert errors.min() == pytest.approx(0.61)


def test_right_frequency_foresees_and_wrong_one_does_not():
    parameters, _, frames = circling(clips=1, length=50)
    assert future_ranks(parameters, frames, 60.0, ahead=10).max() == 1
    slow = PhaseParameters(
        parameters.phase, 0 * parameters.frequency, parameters.amplitude, parameters.offset
    )
    assert future_ranks(slow, frames, 60.0, ahead=10).mean() > 5


def test_future_stays_in_its_clip():
    parameters, _, frames = circling(clips=2, length=20)
    assert len(future_ranks(parameters, frames, 60.0, ahead=15)) == 2 * 5
    with pytest.raises(ParameterError, match="no clip goes on"):
        future_ranks(parameters, frames, 60.0, ahead=20)


def test_blocks_of_frames_find_the_same(monkeypatch):
    """Memory is bounded by blocks of frames, not by all of them."""
    parameters, poses, frames = circling()
    rng = np.random.default_rng(0)
    features = rng.normal(size=(len(frames), 3)).astype(np.float32)
    noisy = PhaseParameters(
        wrapped(parameters.phase + 0.1 * rng.normal(size=parameters.phase.shape)),
        parameters.frequency,
        parameters.amplitude,
        parameters.offset,
    )

    def measured():
        return (
            alignment_errors(features, poses, frames, queries=300, matches=7),
            future_ranks(noisy, frames, 60.0, queries=300),
        )

    errors, ranks = measured()
    largest = 0
    distances = matches._Candidates.distances

    def watched(self, queries):
        nonlocal largest
        found = distances(self, queries)
        largest = max(largest, found.size)
        return found

    monkeypatch.setattr(matches._Candidates, "distances", watched)
    monkeypatch.setattr(matches, "_FRAMES_AT_ONCE", 101)
    monkeypatch.setattr(matches, "_QUERIES_AT_ONCE", 13)
    in_blocks = measured()
    assert largest == 101 * 13
    np.testing.assert_allclose(in_blocks[0], errors)
    np.testing.assert_array_equal(in_blocks[1], ranks)
    assert ranks.max() > 2
