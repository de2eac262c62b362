"""Rigs of bodies: their rest, their limbs, their redundant controls, their speed."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import SkeletonError
from deepphase.motion.skeleton import Skeleton
from deepphase.rigs.body_rig import BodyRig
from tests.rigs.conftest import wild

BODIES = pytest.mark.parametrize("body", ["person", "dog"])


def pose(rig, **values):
    row = rig.rest.copy()
    for name, value in values.items():
        row[rig.index(name.replace("__", "."))] = value
    return row[None]


def joint(rig, values, index):
    return rig.evaluate(values)[0, index]


@BODIES
def test_the_rest_pose_is_that_of_the_skeleton(body, request):
    rig = request.getfixturevalue(body)
    positions = rig.evaluate(rig.rest[None])[0]
    np.testing.assert_allclose(positions[: len(rig.skeleton)], rig.rest_joints, atol=1e-12)
    # IK is at rest where FK is, but for knees that it never stretches wholly.
    blends = [row for row, name in enumerate(rig.names) if name.endswith(".blend")]
    for share in (0.0, 0.5, 1.0):
        values = rig.rest[None].copy()
        values[:, blends] = share
        np.testing.assert_allclose(rig.evaluate(values)[0], positions, atol=0.014)
    assert len(rig.limbs) == 4
    assert positions[:, 1].min() == pytest.approx(0.0, abs=1e-9)


@BODIES
def test_ik_brings_the_last_joint_to_its_handle(body, request):
    rig = request.getfixturevalue(body)
    for limb in rig.limbs:
        name = limb.name
        at_rest = rig.rest_joints[limb.last]
        way = 0.2 * (rig.rest_joints[limb.upper] - at_rest) + [0.02, 0.01, 0.03]
        moves = {f"{name}__ik__t{axis}": way[row] for row, axis in enumerate("xyz")}
        moved = joint(rig, pose(rig, **{f"{name}__blend": 1.0}, **moves), limb.last)
        np.testing.assert_allclose(moved, at_rest + way, atol=1e-6)


def test_the_handle_holds_while_the_body_moves(person):
    limb = person.limbs[0]
    values = pose(person, **{f"{limb.name}__blend": 1.0, "body__ty": -0.1, "body__rz": 0.1})
    np.testing.assert_allclose(
        joint(person, values, limb.last), person.rest_joints[limb.last], atol=1e-6
    )
    forward = pose(person, **{f"{limb.name}__blend": 0.0, "body__ty": -0.1})
    assert joint(person, forward, limb.last)[1] < person.rest_joints[limb.last][1] - 0.09


def test_the_pole_turns_the_knee(person):
    limb = person.limbs[0]
    base = {f"{limb.name}__blend": 1.0, f"{limb.name}__ik__ty": 0.15}
    inwards = joint(person, pose(person, **base, **{f"{limb.name}__pole__tx": -0.5}), limb.middle)
    outwards = joint(person, pose(person, **base, **{f"{limb.name}__pole__tx": 0.5}), limb.middle)
    assert outwards[0] > inwards[0] + 0.1
    ahead = joint(person, pose(person, **base), limb.middle)
    assert ahead[2] > person.rest_joints[limb.middle][2] + 0.05


def test_limbs_that_do_not_reach_stop_or_stretch(person):
    limb = person.limbs[0]
    far = {f"{limb.name}__blend": 1.0, f"{limb.name}__ik__ty": -0.3}
    target = person.rest_joints[limb.last] - [0, 0.3, 0]
    hip = person.rest_joints[limb.upper]
    offsets = np.linalg.norm(person.skeleton.offsets[list(limb.chain[1:])], axis=1).sum()
    short = joint(person, pose(person, **far), limb.last)
    assert np.linalg.norm(short - hip) == pytest.approx(offsets, rel=2e-3)
    grown = joint(person, pose(person, **far, **{f"{limb.name}__stretch": 1.0}), limb.last)
    np.testing.assert_allclose(grown, target, atol=1e-3)


def test_the_roll_lifts_the_heel_and_holds_the_toes(person):
    limb = next(limb for limb in person.limbs if limb.toe is not None)
    values = pose(person, **{f"{limb.name}__blend": 1.0, f"{limb.name}__roll": 0.4})
    rest = person.rest_joints
    assert joint(person, values, limb.last)[1] > rest[limb.last][1] + 0.02
    np.testing.assert_allclose(joint(person, values, limb.toe), rest[limb.toe], atol=1e-6)


def test_several_controls_do_the_same(dog):
    assert {"spine", "tail"} <= set(dog.chains)
    names = [dog.skeleton.names[each] for each in dog.chains["tail"]]
    shared = pose(dog, tail__bend__rx=0.6)
    single = pose(dog, **{f"{name}__rx": 0.6 / len(names) for name in names})
    np.testing.assert_allclose(dog.evaluate(shared), dog.evaluate(single), atol=1e-12)


@BODIES
def test_poses_do_not_depend_on_their_batch(body, request):
    rig = request.getfixturevalue(body)
    values = wild(rig, 1030)
    whole = rig.evaluate(values)
    assert np.isfinite(whole).all()
    np.testing.assert_allclose(whole[[3, 1029]], rig.evaluate(values[[3, 1029]]), atol=1e-12)


def test_a_body_without_legs_is_refused(walk):
    names, parents = ("root", "a", "b"), np.array([-1, 0, 1])
    skeleton = Skeleton(names, parents, np.array([[0, 0, 0], [0, 1, 0], [0, 1, 0]]))
    clip = replace(
        walk,
        skeleton=skeleton,
        rotations=walk.rotations[:, :3],
        translations=walk.translations[:, :1],
        translated_joints=np.array([0]),
    )
    with pytest.raises(SkeletonError, match="two legs"):
        BodyRig.from_clip(clip)
