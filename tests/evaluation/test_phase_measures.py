"""Measures of `deepphase evaluate`."""

import numpy as np
import pytest

from deepphase.evaluation.phase_measures import MEASURES, MeasuredPhases, measured
from deepphase.phase.matches import Frames
from deepphase.phase.parameters import PhaseParameters


def circling(clips=3, frames=300, fps=60.0):
    """Clips of a point on a circle of 1 m, once a second, with the phase of its angle."""
    cycles = np.tile(np.arange(frames) / fps, clips)
    phase = ((cycles + 0.5) % 1.0 - 0.5)[:, None]
    ones = np.ones_like(phase)
    poses = np.stack([np.cos(2 * np.pi * cycles), np.sin(2 * np.pi * cycles), 0 * cycles], -1)
    at = Frames(np.repeat(np.arange(clips), frames), np.tile(np.arange(frames), clips))
    parameters = PhaseParameters(phase, ones, ones, 0 * ones)
    return MeasuredPhases(parameters, poses[:, None], at, fps, 61, queries=200)


def test_matches_by_a_true_phase_are_as_good_as_by_the_pose():
    found = {each.name: each for each in measured(circling())}
    assert found["alignment error"].value < 1e-6
    assert abs(found["alignment error, normalised"].value) < 1e-6
    assert found["alignment error"].unit == "m"
    assert found["alignment error"].n == 200
    # Other clips have the same frame, and no frame is nearer.
    assert found["rank of the frame 15 frames ahead"].value < 20
    # The manifold is a circle, gone round at one speed.
    assert found["unevenness of the steadiest cycle"].value < 1e-4
    # Nothing is measured of a model.
    assert len(found) == len(MEASURES) - 3


def test_too_few_clips_have_no_alignment():
    names = [each.name for each in measured(circling(clips=1, frames=40))]
    assert names == ["rank of the frame 15 frames ahead"]


@pytest.mark.parametrize("shift", [0.0, 0.25])
def test_a_phase_that_says_nothing_matches_by_chance(shift):
    phases = circling()
    still = phases.parameters
    still = PhaseParameters(0 * still.phase + shift, still.frequency, still.amplitude, still.offset)
    lost = MeasuredPhases(still, phases.poses, phases.frames, phases.fps, 61, queries=200)
    found = {each.name: each.value for each in measured(lost)}
    assert found["alignment error, normalised"] > 0.8
