"""Measures of gaits on synthetic bodies with known footfalls, lags, sliding and depths."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from deepphase.evaluation.motion_measures import MeasuredMotion
from deepphase.motion import quaternions
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion
from tests.studies.gait_measures import Footfalls, GaitReference

FEET = {
    "quadruped": ("left_foot", "right_foot", "left_hand", "right_hand"),
    "biped": ("left_foot", "right_foot"),
}


@dataclass(frozen=True)
class Body:
    joints: tuple[str, ...]
    feet: tuple[str, ...]
    body: dict[str, str]


def body_of(clip, kind):
    roles = find_roles(clip.skeleton, clip=clip)
    names = clip.skeleton.names
    feet = tuple(names[getattr(roles, each)] for each in FEET[kind])
    return Body(tuple(names), feet, {})


def motion_of(gait, kind="quadruped", speed=None, seconds=6.0):
    synthetic = locomotion(2, seconds, body=kind, gait=gait, speed=speed, variety=0.0)
    body = body_of(synthetic.clip, kind)
    return synthetic, body, MeasuredMotion(synthetic.clip, body)


@pytest.mark.parametrize(
    ("gait", "lag", "name"),
    [("walk", 0.25, "walk"), ("pace", 0.0, "pace"), ("trot", 0.5, "trot")],
)
def test_symmetrical_gaits_have_their_lag_and_name(gait, lag, name):
    synthetic, _, motion = motion_of(gait)
    found = Footfalls.of_motions([motion])
    apart = (found.mean_fore_lag - lag + 0.5) % 1.0 - 0.5
    assert abs(apart) < 0.06
    assert found.gait_shares() == {name: 1.0}
    assert found.side_lags == pytest.approx(0.5, abs=0.02)
    assert np.median(found.frequencies) == pytest.approx(synthetic.frequency.mean(), rel=0.03)


@pytest.mark.parametrize("gait", ["canter", "gallop"])
def test_gaits_with_feet_together_are_not_symmetrical(gait):
    _, _, motion = motion_of(gait)
    assert Footfalls.of_motions([motion]).gait_shares() == {"canter or gallop": 1.0}


def test_bipeds_walk_and_bodies_that_stand_have_no_strides():
    _, _, walk = motion_of("walk", "biped")
    found = Footfalls.of_motions([walk])
    assert found.gait_shares() == {"walk": 1.0}
    assert np.isnan(found.fore_lags).all()
    assert len(Footfalls.of_motions([motion_of("idle")[2]])) == 0


def test_a_body_that_slides_slides_by_a_known_ratio():
    synthetic, body, motion = motion_of("walk")
    clip = synthetic.clip
    reference = GaitReference.of_clips([clip], body)
    assert reference.sliding(motion) == pytest.approx(1.0, abs=0.02)
    own = motion.contact_speeds().mean()
    # Sideways, so that the speed along the way stays.
    translations = clip.translations.copy()
    translations[:, 0, 0] += 0.3 * np.arange(len(clip)) / clip.fps
    slid = MeasuredMotion(replace(clip, translations=translations), body)
    expected = np.hypot(own, 0.3) / own
    assert reference.sliding(slid, motion.contacts) == pytest.approx(expected, rel=0.15)


def nodding(clip, hertz, radians=0.15):
    turns = quaternions.about_axis(
        np.array([1.0, 0.0, 0.0]),
        radians * np.sin(2.0 * np.pi * hertz * np.arange(len(clip)) / clip.fps),
    )
    neck = find_roles(clip.skeleton, clip=clip).neck
    rotations = clip.rotations.copy()
    rotations[:, neck] = quaternions.multiply(rotations[:, neck], turns)
    return replace(clip, rotations=rotations)


def test_life_of_the_head_is_what_lies_below_8_hertz():
    synthetic, body, _ = motion_of("walk")
    clip = synthetic.clip
    reference = GaitReference.of_clips([clip], body)
    ratios = reference.liveliness(clip, body)
    assert ratios == pytest.approx(dict.fromkeys(("head", "trunk", "tail"), 1.0), abs=0.02)
    assert reference.liveliness(nodding(clip, 20.0), body)["head"] == pytest.approx(1.0, abs=0.1)
    assert reference.liveliness(nodding(clip, 4.0), body)["head"] > 1.5
    still = np.broadcast_to(clip.rotations[:1], clip.rotations.shape).copy()
    assert max(reference.liveliness(replace(clip, rotations=still), body).values()) < 0.6


def test_a_lowered_body_is_below_the_floor_by_as_much():
    synthetic, body, _ = motion_of("walk")
    clip = synthetic.clip
    reference = GaitReference.of_clips([clip], body)
    translations = clip.translations.copy()
    translations[:, 0, 1] -= 0.1
    lowered = replace(clip, translations=translations)
    assert reference.depths(clip, body).max() < 0.01
    assert reference.depths(lowered, body) == pytest.approx(np.full(4, 0.1), abs=0.01)
