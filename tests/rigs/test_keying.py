"""Controls by rule: they give the joints of their clip back, and clips of them are read again."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import SkeletonError
from deepphase.motion.kinematics import joint_positions
from deepphase.rigs.keying import BodyMotion, clip_of_controls, keyed


@pytest.mark.parametrize(("body", "motion"), [("person", "walk"), ("dog", "trot")])
def test_controls_give_the_joints_back(body, motion, request):
    rig, clip = request.getfixturevalue(body), request.getfixturevalue(motion)
    given = BodyMotion.of_clip(clip, rig)
    values = keyed(given, rig)
    errors = np.linalg.norm(rig.evaluate(values) - given.positions, axis=-1)
    assert errors.max() < 2e-3
    # The rule uses what is redundant.
    moved = {
        name
        for name, spread in zip(rig.names, np.ptp(values, axis=0), strict=True)
        if spread > 1e-4
    }
    assert {"body.ty", "pelvis.ry", "spine.bend.ry"} <= moved
    assert any(name.endswith("pole.tx") for name in moved)


@pytest.mark.parametrize(("body", "motion"), [("person", "walk"), ("dog", "trot")])
def test_controls_become_a_clip(body, motion, request):
    rig, clip = request.getfixturevalue(body), request.getfixturevalue(motion)
    given = BodyMotion.of_clip(clip, rig)
    made = clip_of_controls(keyed(given, rig), rig, given.placement, given.fps)
    rows = [clip.skeleton.index(name) for name in made.skeleton.names]
    assert np.abs(joint_positions(made) - joint_positions(clip)[:, rows]).max() < 2e-3
    assert made.translated_joints.tolist() == [0]
    # A rig of the made clip has the same controls.
    again = BodyMotion.of_clip(made, rig.for_own_rest())
    np.testing.assert_allclose(again.positions, given.positions, atol=2e-3)


def test_a_clip_without_a_joint_of_the_rig_is_refused(person, trot):
    with pytest.raises(SkeletonError, match="which the rig has"):
        BodyMotion.of_clip(trot, person)
    with pytest.raises(SkeletonError) as caught:
        BodyMotion.of_clip(trot, person)
    assert "retarget" in caught.value.hint


def test_placement_is_no_part_of_the_pose(person, walk):
    given = BodyMotion.of_clip(walk, person)
    moved = walk.translations.copy()
    moved[:, 0] += [3.0, 0.0, -2.0]
    other = BodyMotion.of_clip(replace(walk, translations=moved), person)
    np.testing.assert_allclose(other.positions, given.positions, atol=1e-5)
    assert np.abs(given.positions[:, 0, [0, 2]]).max() < 1e-5
