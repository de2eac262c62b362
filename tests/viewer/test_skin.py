"""What a mannequin in the player follows: joints, roles and packed rotations."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deepphase.motion.clip import global_transforms
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion
from deepphase.viewer.actor import Actor
from deepphase.viewer.page import PackedArrays, describe_take
from deepphase.viewer.take import Take
from tests.viewer.player_pages import made_actor

# Radians. Three parts are wrong by up to half a step e of 1 / (511 sqrt(2)); of equal parts, the
# fourth, which follows from them, by 3 e; an angle is twice the length of the difference.
TURN_BOUND = 2 * np.sqrt(12) * 0.5 / (511 * np.sqrt(2)) * 1.01

# Name -> first frame and the one after the last.
HALVES = {"first": (0, 30), "second": (30, 60)}


def unpacked(content: bytes, shape: list[int]) -> np.ndarray:
    """(..., 4) quaternions, written down from the description of the format."""
    bits = np.frombuffer(content, "<u4").reshape(shape)
    parts = np.stack([bits >> shift & 1023 for shift in (20, 10, 0)], -1).astype(float)
    parts = (parts - 511) / (511 * np.sqrt(2))
    rest = np.sqrt(np.maximum(0, 1 - (parts**2).sum(-1)))
    turns = np.empty((*shape, 4))
    for index in np.ndindex(*shape):
        turns[index] = np.insert(parts[index], bits[index] >> 30, rest[index])
    return turns


def angles_between(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Radians; of the same rotation, signs of quaternions may differ."""
    return 2 * np.arccos(np.minimum(1, np.abs((one * other).sum(-1))))


@given(st.integers(0, 2**31))
def test_rotations_are_exact_to_less_than_a_third_of_a_degree(seed):
    turns = np.random.default_rng(seed).normal(size=(3, 5, 4))
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    packed = PackedArrays()
    stated = packed.add_rotations(turns)
    again = unpacked(packed.contents[stated["id"]], stated["shape"])
    assert angles_between(again, turns).max() < TURN_BOUND


def test_a_cut_actor_joins_to_the_whole_with_its_skin():
    whole = Actor.from_motion(locomotion(0, 1.0).clip)
    parts = [whole.sliced(0, 20), whole.sliced(20, len(whole))]
    assert [len(part.skin.rotations) for part in parts] == [20, len(whole) - 20]
    again = Actor.joined(parts, name="again")
    assert again.name == "again"
    for name in ("positions", "contacts", "root_positions", "root_directions"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    np.testing.assert_array_equal(again.skin.rotations, whole.skin.rotations)
    bare = Actor(
        "bare", whole.positions, whole.links, whole.fps, contacts=whole.contacts, feet=whole.feet
    )
    mixed = Actor.joined([whole, bare])
    assert mixed.skin is None
    assert mixed.root_positions is None
    assert len(mixed.contacts) == 2 * len(whole)


def test_a_take_of_motions_names_its_bodies_and_draws_the_first_faint():
    clip = locomotion(0, 1.0).clip
    take = Take.from_motions({"before": clip, "after": clip}, "edit", ghost=True)
    assert (take.name, [each.name for each in take.actors]) == ("edit", ["before", "after"])
    assert [each.ghost for each in take.actors] == [True, False]
    alone = Take.from_motions(clip, note="alone")
    assert (alone.name, alone.note, alone.actors[0].name) == (clip.name, "alone", clip.name)


def test_motions_in_sequence_are_one_body_where_their_joints_agree():
    clip = locomotion(0, 1.0).clip
    halves = [Actor.from_motion(clip, name=name).sliced(*cut) for name, cut in HALVES.items()]
    take = Take.from_motions(halves, "both", sequence=True)
    (body,) = take.actors
    assert (body.name, len(body)) == ("both", len(clip))
    spans = [(each.label, each.start_s, each.stop_s) for each in take.markers]
    half = 30 / clip.fps
    assert spans == [("first", 0.0, half), ("second", half, len(clip) / clip.fps)]
    mixed = Take.from_motions([halves[0], made_actor(12)], "mixed", sequence=True)
    assert [each.start_s for each in mixed.actors] == [0.0, half]


def test_the_skin_of_a_clip_has_the_joints_of_the_actor():
    clip = locomotion(0, 1.0).clip
    actor = Actor.from_clip(clip)
    skin = actor.skin
    rotations, _ = global_transforms(clip)
    roles = find_roles(clip.skeleton, clip=clip)
    for role in ("hips", "left_knee", "right_hand", "head"):
        name = clip.skeleton.names[getattr(roles, role)]
        assert actor.joint_names[skin.roles[role]] == name
        expected = rotations[:, clip.skeleton.index(name)]
        np.testing.assert_array_equal(skin.rotations[:, skin.roles[role]], expected)
    assert skin.kind == "biped"
    assert skin.parents[0] == -1
    above = {joint: parent for parent, joint in actor.links.tolist()}
    assert all(above[joint] == parent for joint, parent in enumerate(skin.parents) if parent >= 0)
    packed = PackedArrays()
    stated = describe_take(Take("walk", [actor]), packed)["actors"][0]["skin"]
    again = unpacked(packed.contents[stated["rotations"]["id"]], stated["rotations"]["shape"])
    assert angles_between(again, skin.rotations).max() < TURN_BOUND
    assert stated["roles"] == dict(skin.roles)
