"""Variation and error of runs whose differences are made."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from tests.studies.controllers.variation import (
    Steps,
    inter_pose,
    inter_step,
    intra_pose,
    variation,
)

FPS = 60.0


def walk(strides: list[float], seconds: float = 0.5) -> Steps:
    """Feet that strike in turn, each so far from the other's last place."""
    length = round(seconds * FPS)
    frames = length * (len(strides) + 2)
    contacts, feet = np.zeros((frames, 2), bool), np.zeros((frames, 2, 3))
    place = 0.0
    for index in range(len(strides) + 1):
        begin, foot = length * (index + 1), index % 2
        if index:
            place += strides[index - 1]
        contacts[begin : begin + length, foot] = True
        feet[begin:, foot, 2] = place
    return Steps.of_contacts(contacts, feet, FPS)


def test_steps_have_the_lengths_and_times_that_were_walked():
    steps = walk([0.6, 0.7, 0.8])
    np.testing.assert_allclose(steps.distances, [0.6, 0.7, 0.8])
    np.testing.assert_allclose(steps.durations, 0.5)
    np.testing.assert_allclose(steps.speeds, [1.2, 1.4, 1.6])
    assert steps.feet.tolist() == [1, 0, 1]
    with pytest.raises(ParameterError, match="contacts"):
        Steps.of_contacts(np.zeros((5, 4), bool), np.zeros((5, 4, 3)), FPS)


def test_a_hop_on_one_foot_is_no_step():
    contacts = np.zeros((100, 2), bool)
    contacts[10:20, 0] = contacts[40:50, 0] = contacts[70:80, 1] = True
    steps = Steps.of_contacts(contacts, np.zeros((100, 2, 3)), FPS)
    assert steps.frames.tolist() == [70]
    np.testing.assert_allclose(steps.durations, [0.5])


def test_equal_runs_do_not_vary_and_others_by_their_distance():
    rng = np.random.default_rng(0)
    pose = rng.standard_normal((1, 50, 3, 3)).astype(np.float32)
    assert inter_pose(np.repeat(pose, 7, axis=0)) == 0.0
    apart = np.array([[0.0, 0.1, 0.0]], np.float32)
    assert inter_pose(np.concatenate([pose - apart, pose + apart])) == pytest.approx(0.1, rel=1e-5)


def test_variation_in_a_run_is_of_one_phase():
    phases = (np.arange(200) + 0.25) / 50.0
    cycle = np.zeros((200, 1, 3))
    cycle[:, 0, 0] = np.sin(2 * np.pi * phases)
    assert intra_pose(cycle, phases) == pytest.approx(0.0, abs=1e-9)
    wider = cycle.copy()
    wider[100:, 0, 1] = 0.2
    assert intra_pose(wider, phases) == pytest.approx(0.1)
    assert intra_pose(cycle[:50], phases[:50]) is None


def test_steps_vary_between_runs_at_the_same_number():
    runs = [walk([0.6, 0.6, 0.6]), walk([0.8, 0.8])]
    assert inter_step(runs) == pytest.approx(0.2)
    assert inter_step([runs[0]] * 3) == 0.0


def test_all_components_are_told():
    poses = np.zeros((2, 120, 2, 3))
    speeds = np.full((2, 120, 2), 0.5)
    runs = [walk([0.6, 0.7, 0.6, 0.7]), walk([0.6, 0.7, 0.6, 0.7])]
    slides = [np.array([0.1, 0.3]), np.array([0.4])]
    found = variation(poses, np.zeros((2, 120)), runs, speeds, slides)
    assert found.inter_pose == found.inter_step == found.intra_pose == 0.0
    assert found.intra_step == pytest.approx(0.1)
    assert found.smooth == pytest.approx(0.5)
    assert found.drift == pytest.approx(0.3)
    assert found.distance == pytest.approx(np.std([0.1, -0.1, 0.1]))
    assert found.duration == pytest.approx(0.0, abs=1e-12)
    assert found.steps == 4
    alone = variation(
        poses[:1, :50], np.arange(50)[None] / 50, [walk([])], speeds[:1], [slides[0][:0]]
    )
    assert alone.inter_pose is alone.inter_step is alone.intra_pose is alone.intra_step is None
    assert alone.drift is alone.distance is alone.duration is None
    with pytest.raises(ParameterError, match="2 runs, 1 steps"):
        variation(poses, np.zeros((2, 120)), runs[:1], speeds, slides)
