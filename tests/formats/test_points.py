"""Point track files: what is read, what is refused."""

import numpy as np
import pytest

from deepphase.corpus.motion_files import find_motion_files
from deepphase.errors import FormatError
from deepphase.formats.amass import BODY, smpl_skeleton
from deepphase.formats.load import holds_points, load
from deepphase.formats.points import load_point_bodies, load_points, save_points
from deepphase.formats.reading import warnings_of
from deepphase.motion.clip import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion
from tests.solving.point_bodies import points_of, walker


@pytest.fixture
def track():
    return points_of(walker(seconds=2.0)).track


def test_a_track_comes_back_as_it_was(tmp_path, track):
    path = tmp_path / "walk.npz"
    save_points(track, path)
    back = load_points(path)
    np.testing.assert_array_equal(back.positions, track.positions)
    assert (back.names, back.fps, back.name) == (track.names, track.fps, "walk")
    assert (back.source.unit_m, back.source.up) == (1.0, "y")
    assert holds_points(path)
    clip = load(path)
    assert not clip.has_rotations
    assert clip.skeleton.names[0] == "Hips"


@pytest.mark.parametrize(("unit", "metres"), [("m", 1.0), ("cm", 0.01), ("Millimeters", 0.001)])
@pytest.mark.parametrize("said", [True, False])
def test_units(tmp_path, track, unit, metres, said):
    path = tmp_path / "walk.npz"
    arrays = {"positions": track.positions / metres, "fps": 30}
    np.savez(path, **arrays, **({"units": unit} if said else {}))
    read = load_points(path)
    assert read.source.unit_m == metres
    np.testing.assert_allclose(read.positions, track.positions, atol=1e-9)


def test_a_unit_that_is_told_goes_first_and_an_unlikely_one_is_said(tmp_path, track):
    path = tmp_path / "walk.npz"
    np.savez(path, positions=track.positions * 100, fps=30, units="mm")
    assert any("check the unit" in note for note in load_points(path).source.notes)
    given = load_points(path, unit="cm")
    assert given.source.unit_m == 0.01
    assert not any("check the unit" in note for note in given.source.notes)


def test_another_up_axis(tmp_path, track):
    x, y, z = np.moveaxis(track.positions, -1, 0)
    path = tmp_path / "walk.npz"
    np.savez(path, positions=np.stack([x, -z, y], axis=-1), fps=30)
    for options in ({}, {"up": "z"}):
        read = load_points(path, **options)
        assert read.source.up == "z"
        np.testing.assert_allclose(read.positions, track.positions, atol=1e-9)


def test_joints_of_motion_from_text(tmp_path):
    rest = smpl_skeleton(BODY).rest_positions
    sway = np.stack([rest + np.array((0.1 * np.sin(0.2 * t), 0.9, 0.02 * t)) for t in range(30)])
    np.save(tmp_path / "walk.npy", sway.astype(np.float32))
    track = load_points(tmp_path / "walk.npy")
    assert (track.names, track.fps, track.source.up) == (BODY, 20.0, "y")
    assert any("20 frames a second are assumed" in note for note in track.source.notes)
    np.testing.assert_allclose(track.positions, sway, atol=1e-6)
    both = np.stack([sway, sway + 1.0])
    for other in (sway[None], sway.transpose(1, 2, 0), both, both.transpose(0, 2, 3, 1)):
        np.save(tmp_path / "results.npy", other)
        read = [each.positions for each in load_point_bodies(tmp_path / "results.npy")]
        np.testing.assert_allclose(read, both[: len(other) if other.ndim == 4 else 1], atol=1e-6)
    clip = load(tmp_path / "walk.npy", fps=30)
    assert clip.fps == 30.0
    assert find_roles(clip.skeleton, clip=clip).kind == "biped"
    # KIT-ML has 21 joints, as these of SMPL, in millimetres.
    chain = (0, 3, 9, 12, 15, 16, 18, 20, 17, 19, 21, 1, 4, 7, 7, 10, 2, 5, 8, 8, 11)
    kit = sway[:, chain] * 1000 + np.arange(21)[:, None] * (0, 0, 0.1)
    np.save(tmp_path / "kit.npy", kit)
    clip = load(tmp_path / "kit.npy")
    roles = find_roles(clip.skeleton, clip=clip)
    assert (clip.fps, clip.source.unit_m, roles.kind) == (12.5, 0.001, "biped")
    ends = joint_positions(clip)[0, [*roles.both("hand"), roles.head]]
    np.testing.assert_allclose(ends, kit[0, [7, 10, 3]] / 1000, atol=1e-3)
    # Angles of SMPL's joints have the same shape as their places.
    np.save(tmp_path / "turns.npy", np.sin(0.3 * np.arange(30 * 22 * 3)).reshape(30, 22, 3))
    assert any("not angles" in note for note in load(tmp_path / "turns.npy").source.notes)
    # Other arrays of a folder are not motion.
    for width in (263, 251):
        np.save(tmp_path / "vectors.npy", np.zeros((5, width)))
        with pytest.raises(FormatError, match="vectors of HumanML3D"):
            load(tmp_path / "vectors.npy")
    # Arrays of one length are filled up with zeros.
    np.save(tmp_path / "results.npy", np.concatenate([sway, 0 * sway]))
    np.testing.assert_allclose(load_points(tmp_path / "results.npy").positions, sway, atol=1e-6)
    for name, other in (("heights", (5, 5)), ("turns", (24, 3, 3)), ("matrices", (9, 24, 3, 3))):
        np.save(tmp_path / f"{name}.npy", np.zeros(other))
    # Results of MDM are named with the way out.
    np.save(tmp_path / "mdm.npy", np.array({"motion": sway}), allow_pickle=True)
    found = [each.path.name for each in find_motion_files(tmp_path)]
    assert found == ["kit.npy", "mdm.npy", "results.npy", "walk.npy"]
    with pytest.raises(FormatError) as caught:
        load(tmp_path / "mdm.npy")
    assert "'motion'" in caught.value.hint
    for wrong in (np.zeros((5, 5)), np.zeros((0, 22, 3)), np.full((5, 22, 3), np.nan), np.zeros(3)):
        np.save(tmp_path / "bad.npy", wrong)
        with pytest.raises(FormatError):
            load(tmp_path / "bad.npy")


def test_points_of_video_stand_upright_and_have_sides(tmp_path):
    walk = locomotion(0, 2.0).clip
    roles = find_roles(walk.skeleton)
    parts = {"hip": "hip", "knee": "knee", "foot": "ankle", "toe": "foot_index"}
    parts |= {"shoulder": "shoulder", "elbow": "elbow", "hand": "wrist"}
    names = [f"{side}_{part}" for part in parts.values() for side in ("left", "right")]
    # Y is down, and no point is between the hips.
    world = joint_positions(walk)[:, [joint for part in parts for joint in roles.both(part)]]
    world = (world - world[:, :2].mean(axis=1, keepdims=True)) * (1, -1, -1)
    np.savez(tmp_path / "world.npz", positions=world, fps=60.0, names=names)
    clip = load(tmp_path / "world.npz")
    found = find_roles(clip.skeleton, clip=clip)
    assert clip.source.up == "-y"
    for role, part in parts.items():
        pair = [clip.skeleton.names[joint] for joint in found.both(role)]
        assert pair == [f"left_{part}", f"right_{part}"]
    assert not warnings_of(clip)
    # Pixels with a confidence, and shares of a picture.
    pixels = world * 300 * (1, 1, 0) + 0.7
    for picture in (pixels, 0.5 + 0.1 * np.sin(np.ones((5, 33, 3)))):
        np.savez(tmp_path / "picture.npz", positions=picture, fps=30.0)
        track = load_points(tmp_path / "picture.npz")
        assert any("places in a picture" in note for note in track.source.notes)
    assert track.names[11:13] == ("left_shoulder", "right_shoulder")


def test_points_at_zero_were_not_seen(tmp_path):
    points = points_of(walker(seconds=2.0)).track.positions
    edges = [[0, 1], [2, 3], [3, 4]]
    gaps = points.copy()
    gaps[10:14, 3], gaps[:, 0] = 0.0, 0.0
    seen = np.ones(points.shape[:2], bool)
    seen[20, 5] = False
    np.savez(tmp_path / "gaps.npz", positions=gaps, fps=30.0, edges=edges, present=seen)
    track = load_points(tmp_path / "gaps.npz")
    assert track.edges.tolist() == [[1, 2], [2, 3]]
    share = np.linspace(0, 1, 6)[1:-1, None]
    line = points[9, 3] + (points[14, 3] - points[9, 3]) * share
    np.testing.assert_allclose(track.positions[10:14, 2], line, atol=1e-9)
    np.testing.assert_array_equal(track.positions[20], points[20, 1:])
    assert np.argwhere(~track.present).tolist() == [[10, 2], [11, 2], [12, 2], [13, 2], [20, 4]]
    # Around the hips, as of pose estimation, these are the origin.
    middle = points.mean(axis=1, keepdims=True)
    centred = np.concatenate([middle, points], axis=1) - middle
    np.savez(tmp_path / "centred.npz", positions=centred, fps=30.0)
    assert load_points(tmp_path / "centred.npz").positions.shape == centred.shape


def refused(tmp_path, **changes):
    arrays = {"positions": np.random.default_rng(0).standard_normal((5, 4, 3)), "fps": 30.0}
    arrays |= changes
    path = tmp_path / "bad.npz"
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    with pytest.raises(FormatError) as caught:
        load_points(path)
    assert caught.value.path == path
    return str(caught.value)


def test_bad_files_get_one_clear_error(tmp_path):
    bad = np.zeros((5, 4, 3))
    bad[3, 1, 2] = np.nan
    assert "[3, 1, 2]" in refused(tmp_path, positions=bad)
    assert "0 frames" in refused(tmp_path, positions=np.zeros((0, 4, 3)))
    assert "positions have 5 frames of 0 points" in refused(tmp_path, positions=np.zeros((5, 0, 3)))
    assert "expected (any, any, 3)" in refused(tmp_path, positions=np.zeros((5, 12)))
    assert "fps" in refused(tmp_path, fps=None)
    assert "there are 3 names for 4 points" in refused(tmp_path, names=np.array(["a", "b", "c"]))
    assert "two points are named 'a'" in refused(tmp_path, names=np.array(["a", "b", "c", "a"]))
    assert "from point 0 to point 4" in refused(tmp_path, edges=np.array([[0, 1], [0, 4]]))
    assert "units of 'parsec'" in refused(tmp_path, units="parsec")
    assert "5,000 points" in refused(tmp_path, positions=np.zeros((1, 5000, 3)))
    assert "from the origin" in refused(tmp_path, positions=np.full((5, 4, 3), (9e6, 0, 1)))
    assert "not a point track" in refused(tmp_path, positions=None)
    assert "center" in refused(tmp_path, positions=None, joints_rel=np.zeros((5, 4, 3)))
