"""Phases near the ends of clips and of clips shorter than a window."""

import numpy as np
import pytest

from deepphase.apps.demo import PHASES
from deepphase.phase.encoding import advanced_to_ends
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import PhaseParameters
from deepphase.synthetic.gait_motion import locomotion

FPS = 60.0


@pytest.fixture(scope="module")
def model():
    return PhaseModel.load(PHASES)


@pytest.fixture(scope="module")
def walk():
    return locomotion(7, 6).clip


def test_sinusoids_of_the_nearest_window_are_advanced_both_ways():
    columns = (np.array([[0.4], [0.1]]), np.array([[6.0], [3.0]]))
    whole = PhaseParameters(*columns, np.array([[1.0], [2.0]]), np.array([[0.5], [0.7]]))
    every = advanced_to_ends(whole, 6, 2, FPS)
    assert every.phase[:, 0] == pytest.approx([0.2, 0.3, 0.4, 0.1, 0.15, 0.2])
    assert every.amplitude[:, 0].tolist() == [1, 1, 1, 2, 2, 2]
    assert every.frequency[:, 0].tolist() == [6, 6, 6, 3, 3, 3]


def manifold_error(found, truth, frames):
    apart = found.manifold()[frames] - truth.manifold()[frames]
    return np.sqrt(np.square(apart).sum() / np.square(truth.manifold()[frames]).sum())


def test_ends_of_a_clip_are_as_in_a_longer_one(model, walk):
    longer, start, stop = model.encode(walk), 60, 300
    cut = model.encode(walk.sliced(start, stop))
    truth = longer.parameters[start:stop]
    assert not cut.interior[[0, 15, -1]].any()
    # Filled up with repeated poses, windows err by more than .6 there.
    assert manifold_error(cut.parameters, truth, [15, -16]) < 0.1
    assert manifold_error(cut.parameters, truth, [0, -1]) < 0.15
    most = cut.parameters.amplitude[cut.interior].max(axis=0)
    assert (cut.parameters.amplitude <= most).all()


@pytest.mark.parametrize(("frames", "error"), [(60, 0.3), (90, 0.2)])
def test_clips_shorter_than_a_window_have_phases(model, walk, frames, error):
    start = 150
    truth = model.encode(walk).parameters[start : start + frames]
    short = model.encode(walk.sliced(start, start + frames))
    assert not short.interior.any()
    # Filled up with repeated poses, they err by .8 and more.
    assert manifold_error(short.parameters, truth, slice(None)) < error
    assert short.parameters.amplitude.max() < 1.2 * truth.amplitude.max()
