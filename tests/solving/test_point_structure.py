"""What points over time tell of a body: hierarchy, limbs, sides, front."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepphase.errors import SkeletonError
from deepphase.motion.clip import joint_positions
from deepphase.motion.orientation import AXES, turn_to_y
from deepphase.motion.point_track import PointTrack
from deepphase.motion.quaternions import conjugate, rotate
from deepphase.motion.resample import resample
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.solving.point_limbs import infer_points_up
from deepphase.solving.point_structure import clip_of_points, find_structure, plain_names
from tests.solving.point_bodies import points_of, walker

# Our name -> the made body's, which says what it is.
TRUE_NAMES = {
    **{
        f"{side}{ours}": f"{side}{theirs}"
        for side in ("Left", "Right")
        for ours, theirs in (
            ("Hip", "UpLeg"),
            ("Knee", "Leg"),
            ("Ankle", "Foot"),
            ("Toe", "ToeBase"),
            ("Shoulder", "Arm"),
            ("Elbow", "ForeArm"),
            ("Wrist", "Hand"),
        )
    }
}


@pytest.mark.parametrize("gait", ["walk", "run"])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_limbs_sides_and_front_of_shuffled_points(gait, noise):
    for seed in (1, 2):
        true = points_of(walker(seed, gait), seed, noise=noise)
        structure = find_structure(true.track)
        found = true.truth_of(structure)
        assert TRUE_NAMES.items() <= found.items()
        assert found["Hips"] == "Hips"
        assert structure.confidence > 0.5


def test_the_hierarchy_leads_outwards_from_the_hips():
    structure = find_structure(points_of(walker()).track)
    above = {
        name: structure.names[parent]
        for name, parent in zip(structure.names, structure.parents, strict=True)
        if parent >= 0
    }
    assert structure.parents[0] == -1
    for side in ("Left", "Right"):
        assert above[f"{side}Hip"] == "Hips"
        assert above[f"{side}Toe"] == f"{side}Ankle"
        assert above[f"{side}Wrist"] == f"{side}Elbow"
        assert above[f"{side}Shoulder"] == above["RightShoulder"]


def test_without_a_point_at_the_hips_their_middle_is_the_root():
    true = points_of(walker(), noise=0.0, left_out=("Hips",))
    clip = clip_of_points(true.track)
    assert clip.skeleton.names[0] == "Hips"
    hips = [true.joints.index(f"{side}UpLeg") for side in ("Left", "Right")]
    np.testing.assert_allclose(
        joint_positions(clip)[:, 0], true.track.positions[:, hips].mean(axis=1), atol=1e-9
    )
    assert any("middle between both hips" in note for note in clip.source.notes)


def test_a_mirrored_motion_has_mirrored_sides():
    true = points_of(walker())
    image = replace(true.track, positions=true.track.positions * [-1.0, 1.0, 1.0])
    found = true.truth_of(find_structure(image))
    assert found["LeftKnee"] == "RightLeg"
    assert found["RightWrist"] == "LeftHand"


def test_names_and_edges_of_the_file_are_kept():
    true = points_of(walker(), noise=0.0)
    skeleton = walker().skeleton
    order = [skeleton.names.index(name) for name in true.joints]
    edges = [
        (order.index(joint), order.index(parent))
        for joint, parent in enumerate(skeleton.parents.tolist())
        if parent >= 0
    ]
    track = replace(true.track, names=true.joints, edges=np.array(edges))
    structure = find_structure(track)
    assert set(structure.names) == set(true.joints)
    assert structure.names[0] == "Hips"
    leg = structure.names.index("LeftFoot")
    assert structure.names[structure.parents[leg]] == "LeftLeg"
    assert any("distinguished by names" in note for note in structure.notes)


def test_names_of_joints_are_their_hierarchy_even_where_few_frames_show_no_constant_distances():
    clip = walker().sliced(0, 3)
    track = PointTrack(clip.skeleton.names, joint_positions(clip), clip.fps)
    structure = find_structure(track)
    assert any("follows the names of the points" in note for note in structure.notes)
    above = dict(zip(structure.names, structure.parents, strict=True))
    for upper, lower in (("UpLeg", "Leg"), ("Leg", "Foot"), ("Arm", "ForeArm")):
        assert structure.names[above[f"Left{lower}"]] == f"Left{upper}"


def test_a_description_names_points_and_edges():
    track = points_of(walker()).track
    names = [f"p{point}" for point in range(len(track.names))]
    stated = {"names": names, "hips": "p0", "edges": [["p0", "p1"]]}
    structure = find_structure(track, stated)
    assert set(structure.names) == set(names)
    assert structure.names[0] == "p0"
    with pytest.raises(SkeletonError, match="names 1 points, but the track has"):
        find_structure(track, {"names": ["one"]})
    with pytest.raises(SkeletonError, match="no point 'nose'"):
        find_structure(track, {"names": names, "edges": [["p0", "nose"]]})


def test_the_clip_stands_where_the_points_are():
    true = points_of(walker())
    clip = clip_of_points(true.track)
    structure = find_structure(true.track)
    positions = joint_positions(clip)
    for joint, points in enumerate(structure.points):
        np.testing.assert_allclose(
            positions[:, joint], true.track.positions[:, list(points)].mean(axis=1), atol=1e-9
        )
    assert not clip.has_rotations
    assert walker().has_rotations
    assert not resample(clip, 60.0).has_rotations


def test_a_clip_of_points_has_roles_rest_pose_and_facing():
    made = walker()
    true = points_of(made, noise=0.005)
    clip = clip_of_points(true.track)
    roles = find_roles(clip.skeleton, clip=clip)
    assert roles.kind == "biped"
    assert clip.skeleton.names[roles.left_toe] == "LeftToe"
    rest = joint_positions(clip_at_rest(clip))
    assert rest[0, roles.left_hip, 0] > 0.02
    assert rest[0, roles.left_foot, 1] < 0.4 * rest[0, roles.hips, 1]
    assert rest[0, roles.left_toe, 2] > rest[0, roles.left_foot, 2]
    ours = root_trajectory(clip, roles)
    theirs = root_trajectory(made, find_roles(made.skeleton, clip=made))
    assert np.einsum("fc,fc->f", ours.directions, theirs.directions).min() > 0.9


def clip_at_rest(clip):
    offsets = clip.skeleton.offsets[None]
    return replace(clip, rotations=clip.rotations[:1], translations=offsets)


@pytest.mark.parametrize("up", AXES)
def test_the_up_axis_is_found(up):
    track = points_of(walker()).track
    turn = conjugate(turn_to_y(up))
    turned = rotate(np.broadcast_to(turn, (*track.positions.shape[:2], 4)), track.positions)
    assert infer_points_up(turned, track.edges)[0] == up


@settings(max_examples=40)
@given(
    st.integers(1, 9),
    st.integers(1, 5),
    st.sampled_from(["random", "one place", "still", "line"]),
    st.integers(0, 1000),
)
def test_any_points_become_a_clip(points, frames, kind, seed):
    rng = np.random.default_rng(seed)
    positions = rng.standard_normal((frames, points, 3))
    if kind == "one place":
        positions[:] = 0.0
    elif kind == "still":
        positions[:] = positions[:1]
    elif kind == "line":
        positions[..., ::2] = 0.0
    track = PointTrack(plain_names(points), positions, 30.0)
    clip = clip_of_points(track)
    assert np.isfinite(clip.skeleton.offsets).all()
    assert len(clip) == frames
    structure = find_structure(track)
    assert {point for each in structure.points for point in each} == set(range(points))
    assert infer_points_up(positions, track.edges)[0] in AXES
    find_roles(clip.skeleton, clip=clip)
