"""Autoregressive searches on motion whose continuation is known."""

import numpy as np
import pytest

from deepphase.arrays import wrapped
from deepphase.phase.matches import Frames
from deepphase.phase.parameters import PhaseParameters
from tests.studies.phase_features.autoregressive_search import searched_paths
from tests.studies.phase_features.frame_features import FrameFeatures

FPS = 60.0


def circling(clips=3, length=150, rate=1.1):
    index = np.tile(np.arange(length), clips)
    clip = np.repeat(np.arange(clips), length)
    phase = wrapped(index * rate / FPS + 0.37 * clip)[:, None]
    angle = 2 * np.pi * phase
    poses = np.stack([np.sin(angle), np.cos(angle), np.zeros_like(angle)], -1)
    ones = np.ones_like(phase)
    return PhaseParameters(phase, rate * ones, ones, 0 * ones), poses, Frames(clip, index)


def test_phases_play_on_and_poses_are_stuck():
    parameters, poses, frames = circling()
    options = {"steps": 60, "starts": 20}
    phase = FrameFeatures.of_phases("phase", parameters)
    pose = FrameFeatures("pose", poses.reshape(len(poses), -1))
    assert phase.advances
    assert not pose.advances
    on = searched_paths(phase, poses, frames, FPS, **options)
    stuck = searched_paths(pose, poses, frames, FPS, **options)
    assert on.paths.shape == (20, 61)
    assert on.forward.min() == 1
    assert on.distances[:, -1].max() < 0.1
    assert stuck.distinct.mean() < 0.3 < on.distinct.min()
    # After a second, a circle of radius 1 m is all around the start.
    assert stuck.distances.mean() > 0.5


def test_a_phase_without_frequency_does_not_advance():
    parameters = circling()[0]
    still = PhaseParameters(
        parameters.phase, 0 * parameters.frequency, parameters.amplitude, parameters.offset
    )
    features = FrameFeatures.of_phases("embedding", still)
    assert not features.advances
    chosen = np.arange(5)
    np.testing.assert_array_equal(features.advanced(chosen, 0.5), features.values[chosen])


def test_distances_begin_at_zero_and_are_those_of_the_poses():
    parameters, poses, frames = circling(clips=1)
    found = searched_paths(
        FrameFeatures.of_phases("phase", parameters), poses, frames, FPS, steps=3, starts=4
    )
    assert found.distances[:, 0] == pytest.approx(0.0)
    last = found.paths[:, -1]
    true = found.paths[:, 0] + 3
    expected = np.linalg.norm(poses[last] - poses[true], axis=-1).mean(-1)
    np.testing.assert_allclose(found.distances[:, -1], expected)
