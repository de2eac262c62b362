"""What is written is read again, over random skeletons, channel layouts and motions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from deepphase.errors import FormatError
from deepphase.formats.bvh.hierarchy import EULER_ORDERS
from deepphase.formats.bvh.reader import load_bvh
from deepphase.formats.bvh.writer import save_bvh
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.skeleton import Skeleton
from tests.formats.bvh_text import bvh_text, raw_bvh, written

AXES = ("x", "y", "z", "-x", "-y", "-z")


def turn_degrees(first, second):
    one, other = (Rotation.from_quat(np.reshape(q, (-1, 4))) for q in (first, second))
    return np.rad2deg((one.inv() * other).magnitude()).max()


def random_clip(seed=0, joints=8, frames=40, translated=(0,), depth_first=True):
    random = np.random.default_rng(seed)
    parents = [-1]
    while len(parents) < joints:
        low = len(parents) - 1 if depth_first else 0
        parents.append(int(random.integers(low, len(parents))))
    skeleton = Skeleton(
        [f"J{i}" for i in range(joints)],
        parents,
        random.uniform(-0.5, 0.5, (joints, 3)),
        [joints - 1, 0],
        random.uniform(-0.1, 0.1, (2, 3)),
    )
    rotations = Rotation.random(frames * joints, random_state=seed).as_quat()
    return Clip(
        skeleton,
        rotations.reshape(frames, joints, 4),
        random.uniform(-1, 1, (frames, len(translated), 3)),
        60.0,
        np.array(translated),
    )


@st.composite
def bvh_files(draw):
    """A file in millimetres, 20 m of travel, angles at and near the poles, any channels."""
    count = draw(st.integers(1, 6))
    joints = []
    for index in range(count):
        parent = -1 if index == 0 else draw(st.sampled_from(sorted({0, index - 1})))
        order = draw(st.sampled_from(sorted(EULER_ORDERS)))[: draw(st.integers(1, 3))]
        channels = [f"{axis}rotation" for axis in order]
        if index == 0 or draw(st.booleans()):
            channels += ["Xposition", "Yposition", "Zposition"]
        offset = draw(st.tuples(*[st.integers(-900, 900).map(float)] * 3))
        joints.append((f"J{index}", parent, offset, draw(st.permutations(channels))))
    # Depth first: what hangs from joint 0 behind a chain closes that chain.
    seed, pole = draw(st.integers(0, 10_000)), draw(st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 5.0]))
    random = np.random.default_rng(seed)
    names = [name for _, _, _, channels in joints for name in channels]
    rows = np.empty((25, len(names)))
    for column, name in enumerate(names):
        if name.endswith("position"):
            rows[:, column] = random.uniform(-20_000, 20_000, 25)
        else:
            near = random.choice([-90.0, 90.0, 270.0], 25) + pole * random.standard_normal(25)
            anywhere = random.uniform(-400, 400, 25)
            rows[:, column] = np.where(random.random(25) < 0.5, near, anywhere)
    return bvh_text(joints, rows)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(text=bvh_files(), up=st.sampled_from(AXES))
def test_read_write_read(tmp_path_factory, text, up):
    folder = tmp_path_factory.mktemp("round_trip")
    first = written(folder, text)
    save_bvh(load_bvh(first, unit="mm", up=up), folder / "again.bvh")
    raw, again = raw_bvh(first), raw_bvh(folder / "again.bvh")
    assert again.skeleton.names == raw.skeleton.names
    assert again.skeleton.parents.tolist() == raw.skeleton.parents.tolist()
    assert again.fps == raw.fps
    assert again.translated_joints.tolist() == raw.translated_joints.tolist()
    assert np.abs(again.translations - raw.translations).max() < 1e-4
    # The place at rest of a joint that travels is not written.
    still = np.setdiff1d(np.arange(len(raw.skeleton)), raw.translated_joints)
    apart = np.abs(again.skeleton.offsets - raw.skeleton.offsets)[still]
    assert apart.max(initial=0.0) < 1e-4
    assert np.abs(again.skeleton.end_offsets - raw.skeleton.end_offsets).max() < 1e-4
    assert turn_degrees(raw.rotations, again.rotations) < 1e-3


@pytest.mark.parametrize("order", EULER_ORDERS)
@pytest.mark.parametrize("up", AXES)
def test_units_axes_and_orders(tmp_path, order, up):
    clip = random_clip(translated=(0, 3))
    save_bvh(clip, tmp_path / "clip.bvh", unit="inch", up=up, rotation_order=order)
    again = load_bvh(tmp_path / "clip.bvh", unit="inch", up=up)
    assert set(again.source.rotation_orders) == {order}
    np.testing.assert_allclose(joint_positions(again), joint_positions(clip), atol=1e-6)
    raw = raw_bvh(tmp_path / "clip.bvh")
    still = [1, 2, 4, 5, 6, 7]
    np.testing.assert_allclose(
        raw.skeleton.offsets[still] * 0.0254, clip.skeleton.offsets[still], atol=1e-7
    )


def test_joints_are_written_depth_first(tmp_path):
    clip = random_clip(seed=5, joints=12, translated=(0, 4), depth_first=False)
    orders = [sorted(EULER_ORDERS)[joint % 6] for joint in range(12)]
    save_bvh(clip, tmp_path / "clip.bvh", rotation_order=orders)
    again = load_bvh(tmp_path / "clip.bvh", unit="m", up="y")
    assert again.skeleton.names != clip.skeleton.names
    sorted_again = again.in_order_of(clip.skeleton)
    np.testing.assert_allclose(joint_positions(sorted_again), joint_positions(clip), atol=1e-5)
    assert list(sorted_again.source.rotation_orders) == orders


def test_float32_and_a_still_joint(tmp_path):
    clip = random_clip(translated=(0, 2))
    translations = clip.translations.astype(np.float32)
    translations[:, 1] = [0.25, 0.5, 0.75]
    clip = replace(clip, rotations=clip.rotations.astype(np.float32), translations=translations)
    save_bvh(clip, tmp_path / "clip.bvh")
    again = load_bvh(tmp_path / "clip.bvh", unit="m", up="y")
    assert again.translated_joints.tolist() == [0]
    assert again.skeleton.offsets[2].tolist() == [0.25, 0.5, 0.75]
    np.testing.assert_allclose(joint_positions(again), joint_positions(clip), atol=1e-5)


def test_deep_chain(tmp_path):
    depth = 3000
    skeleton = Skeleton(
        [f"J{i}" for i in range(depth)], np.arange(-1, depth - 1), np.ones((depth, 3))
    )
    clip = Clip(skeleton, np.full((2, depth, 4), 0.5), np.zeros((2, 1, 3)), 30.0)
    save_bvh(clip, tmp_path / "clip.bvh")
    again = raw_bvh(tmp_path / "clip.bvh")
    assert (again.skeleton.parents == skeleton.parents).all()
    assert (tmp_path / "clip.bvh").stat().st_size < 2_000_000


@pytest.mark.parametrize("name", ["a{b", "}", "two\nlines", "a\nb", " blank", "blank ", "\ud800"])
def test_names_that_bvh_cannot_hold(tmp_path, name):
    clip = random_clip(joints=2)
    skeleton = replace(clip.skeleton, names=("Hips", name))
    with pytest.raises(FormatError, match="name"):
        save_bvh(replace(clip, skeleton=skeleton), tmp_path / "clip.bvh", keep_names=True)
    assert list(tmp_path.iterdir()) == []
    save_bvh(replace(clip, skeleton=skeleton), tmp_path / "clip.bvh")
    assert raw_bvh(tmp_path / "clip.bvh").skeleton.names[1] in ("a_b", "_", "two_lines", "blank")


def test_names_are_written_as_every_program_reads_them(tmp_path, caplog):
    caplog.set_level("INFO", logger="deepphase")
    names = ("mixamorig:Hips", "Bip01 Neck", "Bip01_Neck", "Fuß.L#2", "a[0]")
    clip = random_clip(joints=5)
    clip = replace(clip, skeleton=replace(clip.skeleton, names=names))
    save_bvh(clip, tmp_path / "clip.bvh")
    plain = ("mixamorig_Hips", "Bip01_Neck", "Bip01_Neck#2", "Fuß.L#2", "a_0_")
    assert raw_bvh(tmp_path / "clip.bvh").skeleton.names == plain
    [note] = caplog.messages
    assert "'mixamorig:Hips' is written to BVH as 'mixamorig_Hips', and 3 more" in note
    save_bvh(clip, tmp_path / "clip.bvh", keep_names=True)
    assert len(caplog.messages) == 1
    assert raw_bvh(tmp_path / "clip.bvh").skeleton.names == names


@pytest.mark.parametrize("translated", [(0,), (0, 3, 5)])
def test_programs_that_add_offsets_and_those_that_do_not_agree(tmp_path, translated):
    path, clip = tmp_path / "clip.bvh", random_clip(7, translated=translated)
    save_bvh(clip, path, unit="m", up="y")
    names, places = clip.skeleton.names, joint_positions(clip)
    again = load_bvh(path, unit="m", up="y")
    np.testing.assert_allclose(joint_positions(again), places, atol=1e-5)
    if translated == (0,):
        # It takes no positions of other joints.
        pybvh = pytest.importorskip("pybvh").read_bvh_file(path, world_up="+y")
        order = [list(pybvh.joint_names).index(name) for name in names]
        np.testing.assert_allclose(pybvh.joint_positions()[:, order], places, atol=1e-5)
    hierarchy = pytest.importorskip("bvhio").readAsHierarchy(str(path))
    for frame in (0, 30):
        hierarchy.loadPose(frame)
        found = {joint.Name: list(joint.PositionWorld) for joint, _, _ in hierarchy.layout()}
        np.testing.assert_allclose([found[name] for name in names], places[frame], atol=1e-4)
