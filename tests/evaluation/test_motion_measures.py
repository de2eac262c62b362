"""Measures of training clips, on motion whose speeds and turns are made."""

import json

import numpy as np
import pytest

from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import ParameterError, SkeletonError
from deepphase.evaluation.captured_data import measured_data
from deepphase.evaluation.motion_measures import MeasuredMotion
from deepphase.synthetic.gait_motion import locomotion
from tests.formula_motion import swinging
from tests.synthetic.motion_checks import constant_pose


@pytest.fixture(scope="module")
def walks():
    clips = [locomotion(1, 6.0, speed=1.3).clip, locomotion(1, 6.0, turn_rate=0.8).clip]
    return clips, ControllerSchema.from_clip(clips[0], "none")


def test_the_values_are_those_of_the_motion_that_was_made(walks):
    clips, schema = walks
    straight = measured_data(clips[:1], schema)
    assert straight["travelling_speed"] == pytest.approx(1.3, rel=0.05)
    assert straight["turning_rate"] < 0.1
    assert measured_data(clips[1:], schema)["turning_rate"] == pytest.approx(0.8, rel=0.1)
    slides = straight["mean_contact_speed"]
    assert slides < 0.05
    assert straight["skating"] * straight["largest_contact_speed"] == pytest.approx(slides)
    assert straight["limb_lengths"]["LeftLeg"] == pytest.approx(0.42)


def test_spreads_are_in_order_and_the_header_can_hold_them(walks):
    clips, schema = walks
    data = measured_data(clips, schema)
    for spread in (data["joint_rotation"], data["jerk"]):
        assert spread["low"] <= spread["median"] <= spread["high"]
    assert data == json.loads(json.dumps(data))
    assert (data["clips"], data["frames"]) == (2, 720)


def test_a_body_that_stands_does_not_travel(walks):
    _, schema = walks
    data = measured_data([constant_pose(2.0)], schema)
    assert data["travelling_speed"] == data["still_speed"] == 0.0
    assert data["joint_rotation"]["high"] == pytest.approx(0.0, abs=1e-6)
    assert data["skating"] == 0.0


def test_feet_that_slide_are_fast_in_contact(walks):
    clips, schema = walks
    motion = MeasuredMotion(clips[0], schema)
    assert motion.contact_speeds().mean() < 0.05
    always = np.ones_like(motion.contacts)
    assert motion.contact_speeds(always).mean() > 0.5


def test_other_bodies_and_too_little_motion_are_refused(walks):
    clips, schema = walks
    with pytest.raises(SkeletonError, match="another skeleton"):
        measured_data([swinging(1.0)[0]], schema)
    with pytest.raises(ParameterError, match="no clip has 5 frames, which measures need"):
        measured_data([clips[0].sliced(0, 3)], schema)
