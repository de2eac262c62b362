"""Hands and feet at targets, held feet and paths of the root."""

import numpy as np
import pytest

from deepphase.edit import constrain
from deepphase.edit.constrain import constrained
from deepphase.edit.targets import JointTarget, read_targets
from deepphase.errors import FormatError, ParameterError
from deepphase.motion.clip import joint_positions
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.steering.path import GroundPath
from deepphase.synthetic.gait_motion import locomotion


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """Searches of a network that knows little: inverse kinematics has to do the rest."""
    monkeypatch.setattr(constrain, "ITERATIONS", 60)


@pytest.fixture(scope="module")
def walk():
    return locomotion(seed=4, seconds=3.0).clip


def place_near(clip, joint, frame, away):
    return tuple((joint_positions(clip)[frame, clip.skeleton.index(joint)] + away).tolist())


@pytest.mark.slow
def test_a_hand_reaches_its_targets_and_far_frames_stay(walker, walk):
    targets = [
        JointTarget("RightHand", 60, 60, place_near(walk, "RightHand", 60, [0.0, 0.2, 0.05])),
        JointTarget("LeftHandMiddle1", 70, 74, place_near(walk, "LeftHand", 72, [0.1, 0.1, 0.0])),
    ]
    made = constrained(walk, walker, targets)
    assert made.distances.max() < 1e-3
    positions, given = joint_positions(made.clip), joint_positions(walk)
    for target in targets:
        at = positions[target.first : target.last + 1, walk.skeleton.index(target.joint)]
        np.testing.assert_allclose(at, np.broadcast_to(target.place, at.shape), atol=1e-3)
    # Bones, frames rate and length stay; the feet in contact stay at their places.
    np.testing.assert_allclose(
        made.clip.local_positions()[:, 1:], walk.local_positions()[:, 1:], atol=1e-9
    )
    roles = find_roles(walk.skeleton)
    flags = foot_contacts(walk, roles).flags
    tips = LegChains.from_skeleton(walk.skeleton, roles).tips
    assert np.abs(positions[:, tips] - given[:, tips])[flags].max() < 2e-3
    # The change is smooth: no step is much faster than in the clip.
    hand = walk.skeleton.index("RightHand")
    assert np.linalg.norm(np.diff(positions[:, hand], axis=0), axis=1).max() < 0.08


@pytest.mark.slow
def test_frames_beyond_the_networks_reach_do_not_change(walker):
    clip = locomotion(seed=4, seconds=5.0).clip
    target = JointTarget("RightHand", 40, 40, place_near(clip, "RightHand", 40, [0.0, 0.1, 0.0]))
    made = constrained(clip, walker, [target])
    apart = np.abs(joint_positions(made.clip) - joint_positions(clip))
    assert apart[40].max() > 0.09
    assert apart[220:].max() < 5e-6


@pytest.mark.slow
def test_the_root_follows_a_path_with_held_feet(walker, walk):
    roles = find_roles(walk.skeleton)
    own = root_trajectory(walk, roles).positions[:, ::2].astype(float)
    # The own way, turned by a quarter and elsewhere.
    turned = np.stack([own[:, 1], -own[:, 0]], axis=1) + np.array([2.0, 1.0])
    path = GroundPath(np.arange(len(walk)) / walk.fps, turned)
    made = constrained(walk, walker, path=path)
    root = root_trajectory(made.clip, roles)
    assert np.linalg.norm(root.positions[:, ::2] - turned, axis=1).max() < 1e-3
    turn = root.angles - root_trajectory(walk, roles).angles
    # The trunk of a network that knows little sways; on the whole the body turns with its path.
    assert turn.mean() == pytest.approx(np.pi / 2, abs=0.1)
    tips = LegChains.from_skeleton(walk.skeleton, roles).tips
    flags = foot_contacts(walk, roles).flags
    feet, given = joint_positions(made.clip)[:, tips], joint_positions(walk)[:, tips]
    both = flags[1:] & flags[:-1]
    assert np.median(np.linalg.norm(np.diff(feet[..., ::2], axis=0), axis=-1)[both]) < 1e-3
    # On the clip's floor.
    assert np.abs(feet - given)[..., 1][flags].max() < 2e-3


def test_a_body_that_rests_on_its_path_does_not_turn():
    ahead = np.stack([np.zeros(90), np.arange(90) / 60], axis=1)
    rest = np.broadcast_to(ahead[-1], (120, 2))
    sway = 0.002 * np.random.default_rng(0).normal(size=(120, 2)).cumsum(axis=0)
    own = np.concatenate([ahead, rest + sway, ahead[-1] + ahead])
    aside = own[:, ::-1] * [1.0, -1.0]
    np.testing.assert_allclose(constrain.turns_between(own, aside, 60.0), np.pi / 2, atol=0.02)
    assert not constrain.turns_between(rest + sway, rest, 60.0).any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([("Tail", 0, 0)], "no joint 'Tail'"),
        ([("Head", 0, 0)], "cannot have a target"),
        ([("LeftHand", 5, 900)], "the clip has frames 0-179"),
        ([("LeftHand", 5, 9), ("LeftHand", 9, 12)], "LeftHand has two targets"),
        ([("LeftHand", 5, 9), ("LeftHandMiddle1", 19, 22)], "on one limb"),
    ],
)
def test_impossible_targets_are_refused(walker, walk, targets, message):
    with pytest.raises(ParameterError, match=message):
        constrained(walk, walker, [JointTarget(*each, (0.0, 0.0, 0.0)) for each in targets])


def test_targets_are_read(tmp_path):
    path = tmp_path / "targets.csv"
    path.write_text("joint,frame,last,x,y,z\nRightHand,10,,0.1,1.2,0.3\n\nLeftFoot,3,8,0,0,1\n")
    assert read_targets(path) == [
        JointTarget("RightHand", 10, 10, (0.1, 1.2, 0.3)),
        JointTarget("LeftFoot", 3, 8, (0.0, 0.0, 1.0)),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("joint,frame,x,y\n", "targets.csv:1: there is no column 'z'"),
        ("joint,frame,x,y,z\nHand,1,0,0,0\nHand,x,0,0,0\n", "targets.csv:3: 'Hand,x,0,0,0' is no"),
        ("joint,frame,x,y,z\nHand,1,0,nan,0\n", "targets.csv:2: "),
        ("joint,frame,last,x,y,z\nHand,4,2,0,0,0\n", "targets.csv:2: "),
    ],
)
def test_mistakes_in_targets_have_their_line(tmp_path, text, message):
    path = tmp_path / "targets.csv"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        read_targets(path)
    assert message in str(caught.value)
