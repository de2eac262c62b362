"""Segments that clips share, found in clips that were cut from known captures."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.evaluation.dance_repeats import clip_segments, segment_groups
from tests.studies.dances.rows import shared_share

FPS = 60.0


def capture(seed, seconds):
    """(frames, 8, 3) metres: points that wander smoothly and never in the same way twice."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * FPS)) / FPS
    hertz, phase = rng.uniform(0.3, 1.5, (2, 8, 3, 4)) * [[[[1.0]]], [[[6.0]]]]
    waves = np.sin(2 * np.pi * hertz * time[:, None, None, None] + phase)
    return rng.uniform(-0.6, 0.6, (8, 3)) + 0.1 * waves.sum(axis=-1)


def turned(positions, angle, place):
    sine, cosine = np.sin(angle), np.cos(angle)
    turn = np.array([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]])
    return positions @ turn.T + place


@pytest.fixture(scope="module")
def groups():
    a, b, c, d = (capture(seed, 4.0) for seed in range(4))
    first = np.concatenate([a, b, c])
    second = np.concatenate([turned(c, 1.0, [3, 0, 1]), d, turned(a, -2.0, [0, 0, 2])])
    return segment_groups([first, second, capture(9, 6.0)], FPS)


def test_segments_that_two_clips_share_have_one_number(groups):
    first, second, alone = groups
    assert [len(each) for each in groups] == [720, 720, 360]
    middles = slice(60, 180)
    for mine, other in ((0, 480), (480, 0)):
        here, there = first[mine:][middles], second[other:][middles]
        assert (here == there).mean() > 0.95
    assert first[120] != first[600]
    # What nothing repeats is nobody else's.
    assert not np.isin(first[300:420], second).any()
    assert not np.isin(second[300:420], first).any()
    assert not np.isin(alone, np.concatenate([first, second])).any()


def test_the_share_that_others_have_too(groups):
    assert shared_share(groups) == pytest.approx(2 * 480 / 1800, abs=0.06)
    assert shared_share([np.zeros(5, int), np.ones(5, int)]) == 0.0


def test_a_dance_that_is_nearly_the_same_is_another_one():
    a = capture(1, 5.0)
    off = a + 0.02 * np.sin(np.arange(300)[:, None, None] / 20 + np.arange(8)[:, None])
    assert shared_share(segment_groups([a, off], FPS)) == 0.0


def test_clips_too_short_for_a_segment_are_refused():
    with pytest.raises(
        ParameterError, match=r"no clip is 0\.6 s long, the window in which repeated segments"
    ):
        segment_groups([np.zeros((10, 4, 3))], FPS)
    with pytest.raises(ParameterError, match="there must be at least one clip"):
        clip_segments([])
