"""Recorded runs: what frames say, in order."""

from __future__ import annotations

import numpy as np

from controllers.character import Character
from controllers.rollout import rollout
from deepphase.motion.kinematics import joint_positions
from deepphase.steering.followers import PathFollower
from deepphase.steering.made_paths import circle
from deepphase.synthetic.locomotion import locomotion
from tests.controllers.made_controllers import FormulaPhases
from tests.controllers.replaying import replay_of


def made(name="experts", phases=None):
    clip = locomotion(4, 5.0, turn_rate=2.5).clip
    controller, starts, _ = replay_of(clip, name, [70, 90], phases)
    return Character(controller, starts, positions=np.array([[0.0, 0], [3, 1]]))


def test_a_run_holds_what_its_frames_say():
    follower, again = (
        PathFollower(circle(1.3, 5.0, 10.0), np.array([[0.0, 0.0], [3.0, 1.0]])) for _ in range(2)
    )
    told = []
    run = rollout(made(phases=FormulaPhases()), follower, 0.5, lambda *each: told.append(each))
    assert (run.characters, len(run), run.fps) == (2, 30, 60)
    assert told[-1] == ("running", 30, 30, "")
    assert run.gating is None  # a replay has no gate
    character = made(phases=FormulaPhases())
    for index in range(30):
        frame = character.step(again)
        for name in ("rotations", "translations", "positions", "angles", "contacts", "alive"):
            np.testing.assert_array_equal(getattr(run, name)[:, index], getattr(frame, name))
        np.testing.assert_allclose(run.trajectory[:, index], frame.trajectory, atol=1e-5)
        np.testing.assert_array_equal(run.phases.phase[:, index], frame.phases.phase)
        np.testing.assert_array_equal(run.wished_positions[:, index], again.point()[0])
        np.testing.assert_array_equal(run.wished_angles[:, index], again.point()[1])
    np.testing.assert_allclose(run.offsets_s, np.arange(1, 7) / 6, atol=1e-6)
    np.testing.assert_array_equal(run.survived_s, 0.5)


def test_a_run_without_wish_or_phases_says_so():
    run = rollout(made("mann"), None, 0.2)
    assert run.wished_positions is None
    assert run.wished_angles is None
    assert run.phases is None


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
