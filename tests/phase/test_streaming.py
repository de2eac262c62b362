"""Phases of frames as they arrive against those of the whole clip."""

import numpy as np
import pytest

from deepphase.apps.demo import PHASES
from deepphase.arrays import wrapped
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.clip import joint_positions
from deepphase.phase.extractor import shipped_model
from deepphase.phase.model import PhaseModel
from deepphase.phase.streaming import PhaseStream
from deepphase.synthetic.gait_motion import locomotion

HALF = 60


@pytest.fixture(scope="module")
def model():
    return PhaseModel.load(PHASES)


@pytest.fixture(scope="module")
def walk():
    return locomotion(7, 6, turn_rate=0.6).clip


def streamed(model, clip, lag_s):
    """Frames that phases came for, and the phases."""
    encoder = PhaseStream(model, clip.skeleton.names, lag_s=lag_s)
    found = [encoder.push(frame) for frame in joint_positions(clip)]
    first = next(index for index, each in enumerate(found) if each is not None)
    assert all(each is not None for each in found[first:])
    return first, found[first:]


def test_far_enough_behind_they_are_those_of_the_whole_clip(model, walk):
    # Half a window, and the reach of the smoothing of the facing.
    behind = HALF + 45
    first, found = streamed(model, walk, behind / 60)
    assert first == 120 + 1 + 45
    whole = model.encode(walk).parameters[first - behind : len(walk) - behind]
    for name, allowed in (("frequency", 2e-3), ("amplitude", 1e-4), ("offset", 1e-4)):
        own = np.stack([getattr(each, name) for each in found])
        # The facing of the first frames is smoothed over fewer frames.
        np.testing.assert_allclose(own[45:], getattr(whole, name)[45:], atol=allowed)
    apart = wrapped(np.stack([each.phase for each in found]) - whole.phase)[45:]
    assert np.percentile(np.abs(apart), 95) < 1e-4


def test_errors_fall_with_the_lag(model, walk):
    whole = model.encode(walk).parameters
    errors = []
    for behind in (0, 15, 30, 60):
        first, found = streamed(model, walk, behind / 60)
        truth = whole[first - behind : len(walk) - behind].manifold()
        own = np.stack([each.manifold() for each in found])
        # The last frames of the clip have no whole window themselves.
        inside = slice(None, -HALF)
        apart = np.square(own - truth)[inside].sum() / np.square(truth)[inside].sum()
        errors.append(float(np.sqrt(apart)))
    assert errors == sorted(errors, reverse=True)
    assert errors[0] < 0.15
    assert errors[-1] < 0.05


def test_phases_do_not_depend_on_how_long_it_runs(model, walk):
    places = joint_positions(walk)
    fresh = PhaseStream(model, walk.skeleton.names)
    for frame in places[:180]:
        expected = fresh.push(frame)
    encoder = PhaseStream(model, walk.skeleton.names)
    for frame in (*places, *places[:180]):
        found = encoder.push(frame)
    np.testing.assert_allclose(found.manifold(), expected.manifold(), atol=1e-5)


def test_after_a_reset_a_window_has_to_arrive_again(model, walk):
    encoder, places = PhaseStream(model, walk.skeleton.names), joint_positions(walk)
    assert [encoder.push(frame) is None for frame in places[:124]] == [True] * 121 + [False] * 3
    encoder.reset()
    assert encoder.push(places[0]) is None


def test_what_cannot_be_streamed_is_refused(model, walk):
    names = walk.skeleton.names
    with pytest.raises(ParameterError, match="cannot be streamed"):
        PhaseStream(shipped_model(), names)
    with pytest.raises(SkeletonError, match="it has no joint"):
        PhaseStream(model, names[:3])
    with pytest.raises(ParameterError, match="lag_s"):
        PhaseStream(model, names, lag_s=-1.0)
    encoder = PhaseStream(model, names)
    with pytest.raises(ParameterError, match="expected"):
        encoder.push(np.zeros((2, 3)))
    for value in (np.nan, 1e200):
        with pytest.raises(ParameterError, match="not finite"):
            encoder.push(np.full((len(names), 3), value))
