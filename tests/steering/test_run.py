"""Recorded runs of any runner: the values of its frames, in order."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.controllers.runtime.characters import Characters
from deepphase.errors import ParameterError
from deepphase.motion.clip import joint_positions
from deepphase.steering.goal_sources import PathGoals, RootStates
from deepphase.steering.path import circle
from deepphase.steering.run import Frame, RunnerSpec, rollout
from deepphase.synthetic.gait_motion import locomotion
from tests.controllers.made_controllers import FormulaPhases
from tests.controllers.replaying import replay_of


def made(name="experts", phases=None):
    clip = locomotion(4, 5.0, turn_rate=2.5).clip
    controller, starts, _ = replay_of(clip, name, [70, 90], phases)
    return Characters(controller, starts, positions=np.array([[0.0, 0], [3, 1]]))


def test_a_run_holds_what_its_frames_say():
    goal_source, again = (
        PathGoals(circle(1.3, 5.0, 10.0), np.array([[0.0, 0.0], [3.0, 1.0]])) for _ in range(2)
    )
    given = []
    run = rollout(made(phases=FormulaPhases()), goal_source, 0.5, lambda *each: given.append(each))
    assert (run.characters, len(run), run.fps) == (2, 30, 60)
    assert given[-1] == ("running", 30, 30, "")
    assert run.gating is None  # a replay has no gate
    character = made(phases=FormulaPhases())
    for index in range(30):
        frame = character.step(again)
        for name in ("rotations", "translations", "positions", "angles", "contacts", "alive"):
            np.testing.assert_array_equal(getattr(run, name)[:, index], getattr(frame, name))
        np.testing.assert_allclose(run.trajectory[:, index], frame.trajectory, atol=1e-5)
        np.testing.assert_array_equal(run.phases.phase[:, index], frame.phases.phase)
        np.testing.assert_array_equal(run.desired_positions[:, index], again.target()[0])
        np.testing.assert_array_equal(run.desired_angles[:, index], again.target()[1])
        np.testing.assert_allclose(run.commanded_velocities[:, index], again.command()[0])
        np.testing.assert_array_equal(run.commanded_angles[:, index], again.command()[1])
        np.testing.assert_array_equal(run.unlocked[:, index], frame.unlocked)
    own, joints = run.without_foot_lock(), run.spec.locked_joints
    np.testing.assert_array_equal(own.rotations[:, :, joints], run.unlocked)
    assert not np.array_equal(own.rotations, run.rotations)
    np.testing.assert_allclose(run.spec.offsets_s, np.arange(1, 7) / 6, atol=1e-6)
    np.testing.assert_array_equal(run.survived_s, 0.5)


class Standing:
    """A runner that stands where it is, with the fewest values a frame can have."""

    def __init__(self, count):
        skeleton = locomotion(4, 1.0).clip.skeleton
        self.spec = RunnerSpec(
            50.0, skeleton, np.array([0]), skeleton.names, (), {}, np.array([0.5, 1.0]), "stands"
        )
        self.root_states = RootStates.at_rest(np.zeros((count, 2)))
        self.steps = 0

    def __len__(self):
        return len(self.root_states.angles)

    def step(self, goal_source=None):
        count, joints = len(self), len(self.spec.skeleton)
        if goal_source is not None:
            goal_source.advance(self.root_states, 1.0 / self.spec.fps)
        self.steps += 1
        rotations = np.tile(np.array([0, 0, 0, 1], np.float32), (count, joints, 1))
        places = np.zeros((count, 1, 3), np.float32)
        tracks = {"steps": np.full(count, self.steps)}
        states = self.root_states
        alive, contacts = np.ones(count, bool), np.zeros((count, 0))
        return Frame(
            rotations, places, states.positions, states.angles, contacts, alive, tracks=tracks
        )


def test_any_runner_is_recorded_with_its_tracks_and_the_trajectory_ahead():
    goal_source = PathGoals(circle(1.3, 5.0, 10.0), np.zeros((3, 2)))
    run = rollout(Standing(3), goal_source, 0.4)
    assert (run.characters, len(run), run.fps) == (3, 20, 50)
    np.testing.assert_array_equal(run.tracks["steps"], np.tile(np.arange(1, 21), (3, 1)))
    assert run.tracks["steps"].dtype.kind == "i"
    assert run.alive.all()
    assert run.trajectory.shape == (3, 20, 2, 2)
    ahead, _ = goal_source.trajectory(Standing(3).root_states, np.arange(3), np.array([0.5, 1.0]))
    np.testing.assert_allclose(run.trajectory[:, -1], ahead, atol=1e-5)
    clip = run.clip(2, "third")
    assert (clip.fps, clip.source.notes) == (50.0, ("stands",))
    assert (len(run.part(5, 15)), run.part(5, 15).tracks) == (10, {})
    with pytest.raises(ParameterError, match="a run has no frame"):
        rollout(Standing(1), None, 0.0)


def test_a_clip_of_a_run_is_continuous_and_says_where_it_comes_from():
    run = rollout(made("mann"), None, 2.0)
    clip = run.clip(1, name="second")
    assert clip.name == "second"
    assert clip.source.notes == ("made by a controller",)
    np.testing.assert_array_equal(clip.translated_joints, [0])
    # More than half a turn: the hips' quaternion passes where signs would jump.
    assert np.ptp(run.angles[1]) > np.pi
    assert (np.vecdot(clip.rotations[1:], clip.rotations[:-1]) > 0.9).all()
    away = joint_positions(clip)[:, 0, ::2] - run.positions[1]
    assert np.abs(away).max() < 0.01
