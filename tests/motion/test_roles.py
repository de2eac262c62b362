"""What each joint of a body is: by names, by structure, by motion, and as told."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.glitches import find_glitches
from deepphase.motion.orientation import AXES, infer_unit, infer_up
from deepphase.motion.roles import BODY_TYPES, body_parts, find_roles, load_description
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.motion.skeleton import Skeleton, path_length
from tests.motion.bodies import (
    CONVENTIONS,
    DOG,
    HUMAN,
    PAIRED,
    ROLE_PARTS,
    body,
    random_clip,
    standing,
    walking,
)


def roles_of(roles):
    names = ["hips", "chest", "head"]
    names += [f"{side}_{part}" for side in ("left", "right") for part in ROLE_PARTS]
    return {name: getattr(roles, name) for name in names}


def expected(index):
    paired = [f"{side}_{part}" for side in ("left", "right") for part in ROLE_PARTS]
    return {name: index[name] for name in ("hips", "chest", "head", *paired)}


def partners(index):
    pairs = np.arange(len(index))
    for part in PAIRED:
        left, right = index[f"left_{part}"], index[f"right_{part}"]
        pairs[left], pairs[right] = right, left
    return pairs


@pytest.mark.parametrize("right_first", [False, True])
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_names_of_every_convention_are_understood(convention, right_first):
    skeleton, index = body(HUMAN, CONVENTIONS[convention], right_first=right_first)
    roles = find_roles(skeleton)
    assert roles_of(roles) == expected(index)
    assert roles.neck == index["neck"]
    assert roles.spine == index["spine"]
    np.testing.assert_array_equal(roles.pairs, partners(index))
    assert roles.kind == "biped"


def nameless(geometry, *, right_first=False):
    skeleton, index = body(geometry, right_first=right_first)
    return replace(skeleton, names=tuple(f"joint_{i}" for i in range(len(skeleton)))), index


@pytest.mark.parametrize("heading", [0.0, 1.9, -2.6])
@pytest.mark.parametrize("right_first", [False, True])
@pytest.mark.parametrize("geometry", [HUMAN, DOG], ids=["human", "dog"])
def test_structure_and_motion_replace_names(geometry, right_first, heading):
    skeleton, index = nameless(geometry, right_first=right_first)
    roles = find_roles(skeleton, clip=walking(skeleton, index, heading=heading))
    assert roles_of(roles) == expected(index)
    np.testing.assert_array_equal(roles.pairs, partners(index))
    assert roles.kind == ("biped" if geometry is HUMAN else "quadruped")
    if geometry is DOG:
        assert roles.tail == (index["tail"], index["tail1"])
    assert any("structure" in note for note in roles.notes)
    assert any("left and right" in note for note in roles.notes)


def test_walking_backwards_does_not_swap_left_and_right():
    skeleton, index = nameless(HUMAN)
    roles = find_roles(skeleton, clip=walking(skeleton, index, speed=-1.2))
    assert roles.left_hip == index["left_hip"]


def test_without_feet_the_way_travelled_tells_left_from_right():
    geometry = {part: value for part, value in HUMAN.items() if part != "toe"}
    geometry["foot"] = ("knee", (0.0, -0.4, 0.0))
    skeleton, index = nameless(geometry)
    turned = walking(skeleton, index, heading=np.pi)
    roles = find_roles(skeleton, clip=turned)
    assert roles.left_hip == index["left_hip"]
    assert roles.left_hand == index["left_hand"]
    assert any("travel" in note for note in roles.notes)


# As in skeletons whose arms hang from the neck: long along the joints.
HIGH_COLLARS = HUMAN | {
    "collar": ("neck", (0.03, 0.1, 0.0)),
    "shoulder": ("collar", (0.15, -0.2, 0)),
}


@pytest.mark.parametrize("names", [None, "numbers", "high collars"])
def test_a_crawling_human_is_a_biped(names):
    skeleton, index = nameless(HIGH_COLLARS if names == "high collars" else HUMAN)
    if names is None:
        skeleton, index = body(HUMAN, CONVENTIONS["smpl"])
    clip = standing(skeleton)
    rotations = clip.rotations.copy()
    rotations[:, 0] = Rotation.from_euler("x", 90, degrees=True).as_quat()
    for side, sign in (("left", 1), ("right", -1)):
        rotations[:, index[f"{side}_shoulder"]] = Rotation.from_euler(
            "y", -90 * sign, True
        ).as_quat()
    roles = find_roles(skeleton, clip=replace(clip, rotations=rotations))
    assert roles.kind == "biped"


def test_a_dog_that_sits_is_a_quadruped():
    skeleton, index = body(DOG)
    clip = standing(skeleton)
    rotations = clip.rotations.copy()
    turns = {"hips": -35, "left_hip": -50, "right_hip": -50}
    turns |= {"left_shoulder": 35, "right_shoulder": 35}
    for part, angle in turns.items():
        rotations[:, index[part]] = Rotation.from_euler("x", angle, degrees=True).as_quat()
    assert find_roles(skeleton, clip=replace(clip, rotations=rotations)).kind == "quadruped"


FORE_AND_HIND = (
    ("scapula", "upper", "lower", "foot"),
    ("upper", "lower", "foot", "toe"),
)


@pytest.mark.parametrize(
    ("fore", "hind"),
    [
        ("leg_front_<l>_{}", "leg_back_<l>_{}"),
        ("<side>_fore_leg_{}", "<side>_hind_leg_{}"),
        ("F<L>_leg_{}", "R<L>_leg_{}"),
        ("Front_{}_Leg.<L>", "Rear_{}_Leg.<L>"),
        ("{}_foreleg_<l>", "{}_hindleg_<l>"),
    ],
)
def test_legs_named_fore_and_hind(fore, hind):
    names = {part: part for part in body(DOG)[1]}
    for side in ("left", "right"):
        for index, part in enumerate(PAIRED):
            pattern, words = (fore, FORE_AND_HIND[0]) if index < 4 else (hind, FORE_AND_HIND[1])
            name = pattern.format(words[index % 4])
            name = name.replace("<l>", side[0]).replace("<L>", side[0].upper())
            names[f"{side}_{part}"] = name.replace("<side>", side)
    skeleton, index = body(DOG, names)
    roles = find_roles(skeleton)
    assert roles_of(roles) == expected(index)
    assert roles.kind == "quadruped"


def test_feet_of_ik_roots_beside_the_body_are_those_of_the_legs_at_rest():
    rows = [
        ("Armature", -1, (0, 0, 0)),
        ("Back", 0, (0, 1.8, -0.7)),
        ("Torso", 1, (0, -0.1, 1.0)),
        ("Neck", 2, (0, 0.2, 1.0)),
        ("Head", 3, (0, 0.7, 0.5)),
    ]
    for side, x in (("L", 0.3), ("R", -0.3)):
        start = len(rows)
        rows += [
            (f"BackUpperLeg.{side}", 1, (x, -0.6, 0.4)),
            (f"BackLowerLeg.{side}", start, (0, -0.6, -0.9)),
            (f"FrontUpperLeg.{side}", 2, (x, -0.3, 0.7)),
            (f"FrontLowerLeg.{side}", start + 2, (0, -0.4, -0.1)),
            (f"PoleTargetBack.{side}", 0, (x, 0.3, 4.0)),
            (f"IKBackLeg.{side}", 0, (x, 0.2, -1.0)),
            (f"FFB.{side}", start + 5, (0, -0.15, 0.15)),
            (f"IKFrontLeg.{side}", 0, (x, 0.2, 1.0)),
        ]
    names, parents, offsets = zip(*rows, strict=True)
    skeleton = Skeleton(names, np.array(parents), np.array(offsets, float))
    roles = find_roles(skeleton)
    found = [names[getattr(roles, f"left_{part}")] for part in ("foot", "toe", "hand")]
    assert found == ["IKBackLeg.L", "FFB.L", "IKFrontLeg.L"]
    assert names[roles.right_foot] == "IKBackLeg.R"
    parts = dict(zip(names, body_parts(skeleton, roles), strict=True))
    leg = parts["BackUpperLeg.L"]
    assert (parts["FFB.L"], parts["PoleTargetBack.L"]) == (leg, "trunk")
    # Along both bones, and over the gap from the end of the lower one.
    gap = np.linalg.norm([0, 0.6 - 0.2, -1.2 + 1.0])
    length = path_length(skeleton, roles.left_hip, roles.left_foot)
    assert length == pytest.approx(np.hypot(0.6, 0.9) + gap)


def test_a_body_without_limbs_has_hips_and_no_more():
    skeleton = Skeleton(("a", "b", "c"), [-1, 0, 1], [(0, 0, 0), (0, 0, 1), (0, 0, 1)])
    roles = find_roles(skeleton)
    assert roles.kind == "other"
    assert roles.hips == 0
    assert roles.both("hip") is None
    np.testing.assert_array_equal(roles.pairs, [0, 1, 2])
    assert find_roles(Skeleton(("one",), [-1], [(0, 0, 0)])).hips == 0


WORDS = (
    "left",
    "Right",
    "L",
    "r",
    "Hand",
    "hip",
    "UpLeg",
    "spine",
    "foot",
    "12",
    "_",
    ":",
    "Bip01 ",
)


@settings(max_examples=150)
@given(st.integers(1, 14), st.integers(0, 2**31), st.booleans())
def test_any_tree_with_any_names_gets_roles_that_fit_together(joints, seed, moves):
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(0, joint)) for joint in range(1, joints))]
    names = ["".join(rng.choice(WORDS, rng.integers(0, 4))) for _ in range(joints)]
    names = [name if names.count(name) == 1 else f"{name}{i}" for i, name in enumerate(names)]
    offsets = rng.choice([0.0, 0.1, -0.1, 0.4], (joints, 3))
    skeleton = Skeleton(tuple(f"{name}{i}" for i, name in enumerate(names)), parents, offsets)
    clip = random_clip(skeleton, rng, frames=3) if moves else None
    roles = find_roles(skeleton, clip=clip)
    pairs = roles.pairs
    np.testing.assert_array_equal(pairs[pairs], np.arange(joints))
    for joint in range(1, joints):
        if pairs[joint] != joint:
            assert pairs[skeleton.parents[joint]] == skeleton.parents[pairs[joint]]
    assert 0 <= roles.hips < joints
    assert roles.kind in BODY_TYPES
    assert infer_unit(skeleton)[0] > 0
    assert infer_up(clip or standing(skeleton))[0] in AXES
    if clip is not None:
        root = root_trajectory(clip, roles)
        assert np.isfinite(root.angles).all()
        find_glitches(clip)


def test_end_sites_that_stand_off_their_joint_are_tips():
    skeleton, index = body(HUMAN)
    toes = [index["left_toe"], index["right_toe"], index["left_hand"]]
    skeleton = replace(
        skeleton, end_parents=toes, end_offsets=[(0, 0, 0.05), (0, 0, 0.05), (0, 0, 0)]
    )
    roles = find_roles(skeleton)
    assert (roles.left_foot_end, roles.right_foot_end) == (0, 1)
    assert roles.left_hand_end is None


def test_a_description_overrules_names(tmp_path):
    skeleton, index = body(HUMAN)
    path = tmp_path / "own.yaml"
    path.write_text(
        "left_hand: left_elbow\nkind: other\ntail: [head]\npairs: [[spine, chest]]\n", "utf-8"
    )
    roles = find_roles(skeleton, load_description(path))
    assert roles.left_hand == index["left_elbow"]
    assert roles.kind == "other"
    assert roles.tail == (index["head"],)
    assert roles.pairs[index["spine"]] == index["chest"]
    assert roles.left_knee == index["left_knee"]
    with pytest.raises(SkeletonError, match="no joint 'nose'"):
        find_roles(skeleton, {"head": "nose"})


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("nose: Head", "no role 'nose'"),
        ("head: 3", "head cannot be 3"),
        ("kind: bird", "kind cannot be 'bird'"),
        ("pairs: [[a]]", "pairs cannot be"),
        ("tail: Tail", "tail cannot be"),
        ("- head", "not a mapping"),
        ("head: [", "not valid YAML"),
    ],
)
def test_a_bad_description_gets_one_clear_error(tmp_path, text, fact):
    path = tmp_path / "own.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ParameterError, match=fact.replace("[", r"\[")) as caught:
        load_description(path)
    assert caught.value.path == path
