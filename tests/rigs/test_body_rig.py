"""Rigs of bodies: their rest, their limbs, their redundant controls, their derivatives."""

import numpy as np
import pytest

from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton
from deepphase.rigs.body_rig import BodyRig
from tests.rigs.conftest import BODIES, wild


def pose(rig, **values):
    row = rig.rest.copy()
    for name, value in values.items():
        row[rig.index(name.replace("__", "."))] = value
    return row[None]


def joint(rig, values, index):
    return rig.evaluate(values)[0, index]


@BODIES
def test_the_rest_pose_is_that_of_the_skeleton(body, rigs):
    rig = rigs[body]
    positions = rig.evaluate(rig.rest[None])[0]
    np.testing.assert_allclose(positions[: len(rig.skeleton)], rig.rest_joints, atol=1e-12)
    # IK is at rest where FK is, but for knees that it never stretches wholly.
    blends = [row for row, name in enumerate(rig.names) if name.endswith(".blend")]
    for share in (0.5, 1.0):
        values = rig.rest[None].copy()
        values[:, blends] = share
        np.testing.assert_allclose(rig.evaluate(values)[0], positions, atol=0.014)
    assert len(rig.limbs) == 4
    assert positions[:, 1].min() == pytest.approx(0.0, abs=1e-9)


@BODIES
def test_ik_brings_the_last_joint_to_its_handle(body, rigs):
    rig = rigs[body]
    for limb in rig.limbs:
        at_rest = rig.rest_joints[limb.last]
        way = 0.2 * (rig.rest_joints[limb.upper] - at_rest) + [0.02, 0.01, 0.03]
        moves = {f"{limb.name}__ik__t{axis}": way[row] for row, axis in enumerate("xyz")}
        moved = joint(rig, pose(rig, **{f"{limb.name}__blend": 1.0}, **moves), limb.last)
        np.testing.assert_allclose(moved, at_rest + way, atol=1e-6)


def test_the_handle_holds_while_the_body_moves(person):
    last = person.limbs[0].last
    values = pose(person, left_leg__blend=1.0, body__ty=-0.1, body__rz=0.1)
    np.testing.assert_allclose(joint(person, values, last), person.rest_joints[last], atol=1e-6)
    forward = pose(person, left_leg__blend=0.0, body__ty=-0.1)
    assert joint(person, forward, last)[1] < person.rest_joints[last][1] - 0.09


def test_the_pole_turns_the_knee(person):
    middle = person.limbs[0].middle
    base = {"left_leg__blend": 1.0, "left_leg__ik__ty": 0.15}
    inwards, outwards = (
        joint(person, pose(person, **base, left_leg__pole__tx=x), middle) for x in (-0.5, 0.5)
    )
    assert outwards[0] > inwards[0] + 0.1
    ahead = joint(person, pose(person, **base), middle)
    assert ahead[2] > person.rest_joints[middle][2] + 0.05


def test_a_pole_that_goes_behind_a_knee_is_mirrored_without_a_jump(person):
    middle = person.limbs[0].middle
    base = {"left_leg__blend": 1.0, "left_leg__ik__ty": 0.15, "left_leg__pole__tx": 0.3}
    ways = [pose(person, **base, left_leg__pole__tz=z) for z in np.linspace(0.5, -3.0, 101)]
    knees = np.array([joint(person, values, middle) for values in ways])
    assert (knees[:, 2] > person.rest_joints[middle][2]).all()
    assert np.abs(np.diff(knees, axis=0)).max() < 0.03


def test_limbs_that_do_not_reach_stop_or_stretch(person):
    limb = person.limbs[0]
    far = {"left_leg__blend": 1.0, "left_leg__ik__ty": -0.3}
    target = person.rest_joints[limb.last] - [0, 0.3, 0]
    hip = person.rest_joints[limb.upper]
    length = np.linalg.norm(person.skeleton.offsets[list(limb.chain[1:])], axis=1).sum()
    short = joint(person, pose(person, **far), limb.last)
    assert np.linalg.norm(short - hip) == pytest.approx(length, rel=2e-3)
    grown = joint(person, pose(person, **far, left_leg__stretch=1.0), limb.last)
    np.testing.assert_allclose(grown, target, atol=1e-3)


def test_the_roll_lifts_the_heel_and_holds_the_toes(person):
    limb, rest = person.limbs[0], person.rest_joints
    values = pose(person, left_leg__blend=1.0, left_leg__roll=0.4)
    assert joint(person, values, limb.last)[1] > rest[limb.last][1] + 0.02
    np.testing.assert_allclose(joint(person, values, limb.toe), rest[limb.toe], atol=1e-6)


def test_several_controls_do_the_same(rigs):
    dog = rigs["dog"]
    assert {"spine", "tail"} <= set(dog.chains)
    names = [dog.skeleton.names[joint] for joint in dog.chains["tail"]]
    shared = pose(dog, tail__bend__rx=0.6)
    single = pose(dog, **{f"{name}__rx": 0.6 / len(names) for name in names})
    np.testing.assert_allclose(dog.evaluate(shared), dog.evaluate(single), atol=1e-12)


@BODIES
def test_poses_do_not_depend_on_their_batch(body, rigs):
    values = wild(rigs[body], 1030)
    whole = rigs[body].evaluate(values)
    assert np.isfinite(whole).all()
    single = rigs[body].evaluate(values[[3, 1029]])
    np.testing.assert_allclose(whole[[3, 1029]], single, atol=1e-12)


@BODIES
def test_jacobians_are_derivatives(body, rigs):
    rig = rigs[body]
    values, columns = wild(rig, 4), np.array([0, 5, 7, len(rig.names) - 3])
    jacobian = rig.jacobian(values, columns, positions=rig.evaluate(values))
    for row, column in enumerate(columns):
        move = 1e-6 * (np.arange(len(rig.names)) == column)
        exact = (rig.evaluate(values + move) - rig.evaluate(values - move)) / 2e-6
        np.testing.assert_allclose(jacobian[..., row], exact.reshape(4, -1), atol=2e-3)
    np.testing.assert_allclose(rig.jacobian(values)[..., columns], jacobian)


def test_what_does_not_fit_is_refused(person):
    with pytest.raises(ParameterError, match=r"\(poses, \d+ controls\)"):
        person.evaluate(np.zeros(2))
    with pytest.raises(ParameterError, match="no control"):
        person.index("twist")


def test_a_body_without_legs_is_refused():
    offsets = np.array([[0.0, 0, 0], [0, 1, 0], [0, 1, 0]])
    skeleton = Skeleton(("root", "a", "b"), np.array([-1, 0, 1]), offsets)
    clip = Clip(skeleton, np.tile([0.0, 0, 0, 1], (4, 3, 1)), np.zeros((4, 1, 3)), 60.0)
    with pytest.raises(SkeletonError, match="two legs"):
        BodyRig.from_clip(clip)
