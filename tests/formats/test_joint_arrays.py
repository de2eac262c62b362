"""Archives of joints under other programs' names: what is read, inferred and refused."""

import numpy as np
import pytest

from deepphase.errors import FormatError
from deepphase.formats.load import holds_points, load
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms, joint_positions
from deepphase.motion.mirror import is_left_handed, reflected
from deepphase.motion.orientation import rotate_from_y_up, scaled
from deepphase.motion.roles import find_roles
from deepphase.solving.solve import track_of
from deepphase.synthetic.gait_motion import locomotion

DOG = locomotion(1, 2.0, body="quadruped", gait="trot", turn_rate=0.5).clip
PERSON = locomotion(1, 2.0, turn_rate=0.5).clip


def arrays_of(clip: Clip, space: str = "local", order: str = "xyzw") -> dict:
    """What a program writes that knows names, parents' names, quaternions and positions."""
    skeleton = clip.skeleton
    world, positions = global_transforms(clip)
    stored = clip.rotations if space == "local" else world
    above = ["" if p < 0 else skeleton.names[p] for p in skeleton.parents]
    return {
        "bone_names": np.array(skeleton.names),
        "parent_names": np.array(above),
        "framerate": np.float64(clip.fps),
        "quaternions": stored if order == "xyzw" else np.roll(stored, 1, axis=-1),
        "positions": positions,
    }


def read(tmp_path, arrays, **options):
    path = tmp_path / "dog.npz"
    np.savez(path, **arrays)
    return load(path, **options)


def assert_same_motion(clip, truth, atol=1e-5):
    order = [clip.skeleton.names.index(name) for name in truth.skeleton.names]
    np.testing.assert_allclose(joint_positions(clip)[:, order], joint_positions(truth), atol=atol)


@pytest.mark.parametrize("space", ["local", "global"])
@pytest.mark.parametrize("order", ["xyzw", "wxyz"])
@pytest.mark.parametrize("truth", [DOG, PERSON], ids=["dog", "person"])
def test_joints_come_back_whatever_the_order_and_space_of_quaternions(
    tmp_path, truth, space, order
):
    clip = read(tmp_path, arrays_of(truth, space, order))
    assert clip.skeleton.names == truth.skeleton.names
    assert (clip.fps, clip.has_rotations) == (truth.fps, True)
    assert_same_motion(clip, truth)
    turned = quaternions.angle_between(clip.rotations, truth.rotations)
    assert turned.max() < 1e-3
    # As captured: bones are constant, the root alone moves.
    assert clip.translated_joints.tolist() == [0]
    assert find_roles(clip.skeleton, clip=clip).kind == find_roles(truth.skeleton, clip=truth).kind
    assert any(f"{space}, in the order {' '.join(order)}" in note for note in clip.source.notes)


def test_other_names_of_the_arrays(tmp_path):
    arrays = arrays_of(DOG)
    renamed = {
        "joint_names": arrays["bone_names"],
        "parents": DOG.skeleton.parents,
        "mocap_framerate": arrays["framerate"],
        "rotations": arrays["quaternions"],
        "global_positions": arrays["positions"],
    }
    assert_same_motion(read(tmp_path, renamed), DOG)


@pytest.mark.parametrize("up", ["y", "z", "-z", "x"])
@pytest.mark.parametrize("unit", ["m", "cm"])
def test_up_axis_and_unit_of_a_dog_are_found(tmp_path, up, unit):
    stored = scaled(rotate_from_y_up(DOG, up), {"m": 1.0, "cm": 100.0}[unit])
    clip = read(tmp_path, arrays_of(stored))
    assert clip.source.up == up
    assert clip.source.unit_m == {"m": 1.0, "cm": 0.01}[unit]
    assert_same_motion(clip, DOG)
    given = read(tmp_path, arrays_of(stored), up=up, unit=unit)
    assert_same_motion(given, DOG)


def test_joints_in_any_order_and_several_roots(tmp_path):
    order = np.random.default_rng(0).permutation(len(DOG.skeleton))
    arrays = arrays_of(DOG)
    for key in ("bone_names", "parent_names"):
        arrays[key] = arrays[key][order]
    for key in ("quaternions", "positions"):
        arrays[key] = arrays[key][:, order]
    assert_same_motion(read(tmp_path, arrays), DOG)
    tail = DOG.skeleton.names[-1]
    arrays["parent_names"][arrays["bone_names"] == tail] = "world"
    clip = read(tmp_path, arrays)
    assert_same_motion(clip, DOG)
    assert any(f"attached to {DOG.skeleton.names[0]!r}: {tail}" in n for n in clip.source.notes)
    assert clip.skeleton.index(tail) in clip.translated_joints
    arrays = {**arrays_of(DOG), "parent_names": DOG.skeleton.parents + 1}
    assert_same_motion(read(tmp_path, arrays), DOG)


def test_left_handed_coordinates_are_mirrored_and_said(tmp_path):
    for truth in (DOG, PERSON):
        assert not is_left_handed(truth)
        assert is_left_handed(reflected(truth))
        clip = read(tmp_path, arrays_of(reflected(truth)))
        assert_same_motion(clip, truth)
        assert any("left-handed" in note for note in clip.source.notes)


def test_rest_offsets_and_the_path_of_the_root(tmp_path):
    arrays = arrays_of(DOG, order="wxyz")
    del arrays["positions"]
    arrays |= {"offsets": DOG.skeleton.offsets, "root_positions": DOG.translations[:, 0]}
    clip = read(tmp_path, arrays)
    assert_same_motion(clip, DOG)
    assert any("assumed to be local, in the order w x y z" in note for note in clip.source.notes)


def test_local_positions(tmp_path):
    arrays = arrays_of(DOG)
    arrays["positions"] = DOG.local_positions()
    assert_same_motion(read(tmp_path, arrays), DOG)


def test_positions_and_parents_without_rotations(tmp_path):
    arrays = arrays_of(rotate_from_y_up(DOG, "z"))
    del arrays["quaternions"]
    clip = read(tmp_path, arrays)
    assert not clip.has_rotations
    assert clip.skeleton.names == DOG.skeleton.names
    np.testing.assert_array_equal(clip.skeleton.parents, DOG.skeleton.parents)
    assert clip.source.up == "z"
    assert_same_motion(clip, DOG)
    assert not holds_points(tmp_path / "dog.npz")
    assert track_of(clip).names == DOG.skeleton.names


def test_quaternions_of_another_motion_are_left_out_and_said(tmp_path):
    arrays = arrays_of(DOG)
    noise = np.random.default_rng(0).standard_normal(arrays["quaternions"].shape)
    arrays["quaternions"] = quaternions.normalized(noise)
    clip = read(tmp_path, arrays)
    assert not clip.has_rotations
    assert_same_motion(clip, DOG)
    assert any("contradict the positions" in note for note in clip.source.notes)


def test_named_points_without_parents(tmp_path):
    arrays = arrays_of(PERSON)
    clip = read(tmp_path, {k: arrays[k] for k in ("bone_names", "framerate", "positions")})
    assert set(PERSON.skeleton.names) <= set(clip.skeleton.names)
    assert holds_points(tmp_path / "dog.npz")


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"bone_names": np.array(["a"])}, "1 names"),
        ({"parent_names": np.array(["x"] * len(DOG.skeleton))}, "which is not a joint"),
        ({"parent_names": np.roll(DOG.skeleton.names, 1)}, "no root"),
        ({"parent_names": DOG.skeleton.parents + 99}, "no root, or a parent"),
        ({"quaternions": np.zeros((len(DOG), len(DOG.skeleton), 4))}, "quaternion of length 0"),
        ({"quaternions": DOG.rotations[:-1]}, "frames of rotations"),
        ({"quaternions": DOG.rotations[:, :-1]}, "joints"),
        ({"quaternions": DOG.rotations[..., :3]}, "expected (any, any, 4)"),
        ({"positions": np.full((len(DOG), len(DOG.skeleton), 3), 1e300)}, "from the origin"),
        ({"positions": np.zeros((0, len(DOG.skeleton), 3))}, "no joint moves"),
        ({"positions": None, "offsets": DOG.skeleton.offsets}, "no path of the root"),
        ({"framerate": np.float64(0)}, "framerate 0"),
        ({"framerate": None}, "no frame rate"),
    ],
)
def test_bad_files_get_one_clear_error(tmp_path, changes, fact):
    arrays = {key: each for key, each in (arrays_of(DOG) | changes).items() if each is not None}
    with pytest.raises(FormatError) as caught:
        read(tmp_path, arrays)
    assert fact in str(caught.value)
    assert caught.value.path == tmp_path / "dog.npz"
