"""Files of the SMPL family: where the joints are, spellings, and what is missing."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.apps.cli import main
from deepphase.errors import FormatError
from deepphase.formats.amass import BODY, LAYOUTS, STATURE_M, save_amass, smpl_skeleton
from deepphase.formats.load import load, save
from deepphase.motion.clip import Clip, end_positions, joint_positions
from deepphase.motion.retarget import retarget
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion
from tests.formats.smpl_files import walk_poses, walk_translations, written_smpl, z_up_positions

COUNTS = (22, 24, 52, 53, 55)


def y_up(positions):
    """Z up to Y up as the docstrings have it: what faced -Y faces +Z."""
    return np.stack([positions[..., 0], positions[..., 2], -positions[..., 1]], axis=-1)


@pytest.mark.parametrize("joints", COUNTS)
def test_joints_are_where_plain_matrices_put_them(tmp_path, joints):
    poses, translations = walk_poses(40, joints), walk_translations(40)
    clip = load(written_smpl(tmp_path / "walk.npz", joints=joints))
    assert len(clip.skeleton) == joints
    positions = y_up(z_up_positions(clip.skeleton, poses, translations))
    np.testing.assert_allclose(joint_positions(clip), positions, atol=1e-12)
    assert (clip.fps, clip.source.up, clip.source.unit_m) == (60.0, "z", 1.0)


def test_poses_as_matrices(tmp_path):
    """As programs write them that estimate people from video: (frames, joints, 3, 3)."""
    poses = walk_poses(40, 22).reshape(40, 22, 3)
    matrices = Rotation.from_rotvec(poses.reshape(-1, 3)).as_matrix().reshape(40, 22, 3, 3)
    path, trans = tmp_path / "walk.npz", walk_translations(40)
    arrays = {"global_orient": matrices[:, :1], "transl": trans, "fps": 60.0}
    np.savez(path, body_pose=matrices[:, 1:], **arrays)
    clip, whole = load(path), load(written_smpl(tmp_path / "whole.npz", joints=22))
    np.testing.assert_allclose(joint_positions(clip), joint_positions(whole), atol=1e-9)
    np.savez(path, body_pose=-matrices[:, 1:], **arrays)
    with pytest.raises(FormatError, match="no rotations"):
        load(path)


@pytest.mark.parametrize("joints", COUNTS)
def test_the_rest_skeleton_is_an_average_adult_in_a_t_pose(joints):
    names = LAYOUTS[joints]
    skeleton = smpl_skeleton(names)
    rest = Clip(skeleton, np.tile([0.0, 0, 0, 1], (1, joints, 1)), np.zeros((1, 1, 3)), 30.0)
    positions = joint_positions(rest)[0]
    everything = np.concatenate([positions, end_positions(rest)[0]])
    width, height, _ = np.ptp(everything, axis=0)
    assert height == pytest.approx(STATURE_M, rel=0.02)
    # The span of the arms is 1.03 statures at most in most people, more with the shoulders raised.
    assert 0.98 < width / STATURE_M < 1.15
    place = dict(zip(names, positions, strict=True))
    assert place["L_Wrist"][0] > 0 > place["R_Wrist"][0]
    assert place["L_Foot"][2] > place["L_Ankle"][2]
    roles = find_roles(skeleton)
    assert roles.kind == "biped"
    found = {
        "hips": "Pelvis",
        "head": "Head",
        "left_foot": "L_Ankle",
        "right_hand": "R_Wrist",
        "left_toe": "L_Foot",
        "right_shoulder": "R_Shoulder",
    }
    assert {role: names[getattr(roles, role)] for role in found} == found


@pytest.mark.parametrize(
    ("rates", "fps"),
    [
        ({"mocap_framerate": 120.0}, 120.0),
        ({"mocap_frame_rate": np.array([100])}, 100.0),
        ({"mocap_frame_rate": np.float32(59.94006)}, 60 / 1.001),
        ({"mocap_framerate": 119.99999}, 120.0),
        ({"fps": 25}, 25.0),
        ({"mocap_framerate": 120.0, "mocap_frame_rate": 120}, 120.0),
    ],
)
def test_spellings_of_the_rate(tmp_path, rates, fps):
    path = written_smpl(tmp_path / "walk.npz", **{"mocap_framerate": None, **rates})
    assert load(path).fps == pytest.approx(fps, rel=1e-12)


def test_a_missing_rate_is_asked_for_and_can_be_told(tmp_path):
    path = written_smpl(tmp_path / "walk.npz", mocap_framerate=None)
    with pytest.raises(FormatError, match="no frame rate") as caught:
        load(path)
    assert "--file-fps" in caught.value.hint
    assert load(path, fps=50).fps == 50.0
    given = load(written_smpl(tmp_path / "walk.npz"), fps=30)
    assert given.fps == 30.0
    assert "instead of the file's mocap_framerate 60" in " ".join(given.source.notes)


def split(poses, joints):
    frames = len(poses)
    flat = poses.reshape(frames, -1)
    parts = {"poses": None, "root_orient": flat[:, :3], "pose_body": flat[:, 3:66]}
    if joints == 55:
        parts |= {"pose_jaw": flat[:, 66:69], "pose_eye": flat[:, 69:75], "pose_hand": flat[:, 75:]}
    if joints == 52:
        parts |= {"left_hand_pose": flat[:, 66:111], "right_hand_pose": poses[:, 37:]}
    return parts


@pytest.mark.parametrize("joints", [22, 52, 55])
def test_poses_in_parts_are_the_poses_in_one(tmp_path, joints):
    poses = walk_poses(40, joints)
    whole = load(written_smpl(tmp_path / "whole.npz", joints=joints))
    parts = load(written_smpl(tmp_path / "parts.npz", **split(poses, joints)))
    assert parts.skeleton.names == whole.skeleton.names
    np.testing.assert_array_equal(parts.rotations, whole.rotations)


def test_a_first_or_second_axis_of_one_is_left_out(tmp_path):
    poses = walk_poses(40, 22)
    plain = load(written_smpl(tmp_path / "plain.npz", joints=22))
    trans = np.load(tmp_path / "plain.npz")["trans"]
    matrices = Rotation.from_rotvec(poses.reshape(-1, 3)).as_matrix().reshape(40, 22, 3, 3)
    for pose, path in ((poses, trans[None]), (poses.reshape(40, 66), trans[:, None]),
                       (matrices, trans)):  # fmt: skip
        read = load(written_smpl(tmp_path / "batch.npz", poses=pose[None], trans=path))
        np.testing.assert_allclose(joint_positions(read), joint_positions(plain), atol=1e-6)
    one = load(written_smpl(tmp_path / "one.npz", poses=matrices[:1], trans=trans[:1]))
    assert len(one) == 1


def test_hands_in_components_are_left_out_aloud(tmp_path):
    parts = split(walk_poses(40, 22), 22) | {"left_hand_pose": np.zeros((40, 12))}
    clip = load(written_smpl(tmp_path / "parts.npz", **parts))
    assert clip.skeleton.names == BODY
    assert any("left_hand_pose" in note and "ignored" in note for note in clip.source.notes)


def test_a_body_that_stands_along_y_is_seen_and_can_be_told(tmp_path):
    poses, translations = walk_poses(40, 22), walk_translations(40)
    whole = load(written_smpl(tmp_path / "walk.npz", joints=22))
    down = Rotation.from_euler("x", -90, degrees=True)
    poses[:, 0] = (down * Rotation.from_rotvec(poses[:, 0])).as_rotvec()
    path = written_smpl(
        tmp_path / "y.npz", poses=poses.reshape(40, -1), trans=down.apply(translations)
    )
    for clip in (load(path), load(path, up="y")):
        np.testing.assert_allclose(joint_positions(clip), joint_positions(whole), atol=1e-9)
    assert load(path).source.up == "y"
    assert load(path, up="z").source.up == "z"


def test_poses_in_degrees_are_doubted(tmp_path):
    poses = np.rad2deg(walk_poses(40, 22)).reshape(40, -1)
    clip = load(written_smpl(tmp_path / "walk.npz", poses=poses, trans=walk_translations(40)))
    assert any("save poses in radians" in note for note in clip.source.notes)


@pytest.mark.parametrize(
    ("axis", "angle", "up"), [("x", 90, "-y"), ("x", 180, "-z"), ("y", 90, "x")]
)
def test_files_of_cameras_have_any_axis_up(tmp_path, axis, angle, up):
    poses, translations = walk_poses(40, 22), walk_translations(40)
    whole = load(written_smpl(tmp_path / "walk.npz", joints=22))
    turn = Rotation.from_euler(axis, angle, degrees=True)
    poses[:, 0] = (turn * Rotation.from_rotvec(poses[:, 0])).as_rotvec()
    path = written_smpl(
        tmp_path / "camera.npz", poses=poses.reshape(40, -1), trans=turn.apply(translations)
    )
    clip = load(path)
    assert clip.source.up == up
    heights = joint_positions(clip)[..., 1], joint_positions(whole)[..., 1]
    np.testing.assert_allclose(*heights, atol=1e-9)


def test_keys_and_scale_of_aist(tmp_path):
    poses, translations = walk_poses(40, 24), walk_translations(40)
    whole = load(written_smpl(tmp_path / "walk.npz", joints=24))
    np.savez(
        tmp_path / "dance.npz",
        smpl_poses=poses.reshape(40, -1),
        smpl_trans=90 * translations,
        smpl_scaling=[90.0],
    )
    clip = load(tmp_path / "dance.npz", up="z")
    assert clip.fps == 60.0
    np.testing.assert_allclose(joint_positions(clip), joint_positions(whole), atol=1e-9)


@pytest.mark.parametrize("joints", COUNTS)
def test_what_is_written_is_read(tmp_path, joints):
    clip = load(written_smpl(tmp_path / "walk.npz", joints=joints))
    save_amass(clip, tmp_path / "again.npz")
    again = load(tmp_path / "again.npz")
    assert len(again.skeleton) == {22: 52}.get(joints, joints)
    assert again.fps == clip.fps
    order = [again.skeleton.names.index(name) for name in clip.skeleton.names]
    np.testing.assert_allclose(joint_positions(again)[:, order], joint_positions(clip), atol=1e-9)


def test_any_biped_is_written_on_the_skeleton_of_smpl(tmp_path):
    walk = locomotion(2, 1.0, turn_rate=1.0).clip
    save(walk, tmp_path / "walk.bvh")
    path = tmp_path / "walk.npz"
    assert main(["convert", str(tmp_path / "walk.bvh"), "-o", str(path), "--format", "amass"]) == 0
    expected = retarget(walk, smpl_skeleton(BODY)).clip
    again = load(path)
    assert again.source.up == "z"
    np.testing.assert_allclose(
        joint_positions(again)[:, : len(BODY)], joint_positions(expected), atol=1e-4
    )
    with np.load(path) as arrays:
        assert arrays["poses"].shape == (len(walk), 156)
        assert arrays["mocap_framerate"] == walk.fps
