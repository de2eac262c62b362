"""Parts of bodies in words."""

from deepphase.motion.roles import body_parts, find_roles
from tests.formula_motion import NAMES, body
from tests.synthetic.poses import constant_pose


def test_a_biped():
    parts = dict(zip(NAMES, body_parts(body(), find_roles(body())), strict=True))
    assert parts["Hips"] == parts["Chest"] == "trunk"
    assert parts["Head"] == "head"
    assert {parts[name] for name in ("LeftUpLeg", "LeftLeg", "LeftFoot")} == {"left leg"}
    assert parts["RightHand"] == "right arm"


def test_a_quadruped_has_front_and_hind_legs_and_a_tail():
    clip = constant_pose(1.0, body="quadruped")
    parts = body_parts(clip.skeleton, find_roles(clip.skeleton, clip=clip))
    assert {"left front leg", "right front leg", "left hind leg", "right hind leg"} <= set(parts)
    assert "tail" in parts
