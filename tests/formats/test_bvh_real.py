"""Real files, against pybvh where it reads them."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.formats.bvh.reader import load_bvh
from deepphase.formats.bvh.writer import save_bvh
from tests.formats.bvh_text import raw_bvh
from tests.real_data import real_clips

pytestmark = pytest.mark.real_data

SETS = ["bandai1", "bandai2_locomotion", "dog_mann", "cmu_dance"]


def some_files(name, count):
    files = sorted(real_clips(name).rglob("*.bvh"), key=lambda path: path.stat().st_size)
    return files[: count // 2] + files[len(files) // 2 :][: count - count // 2]


@pytest.mark.parametrize("name", SETS)
def test_round_trip(tmp_path, name):
    for path in some_files(name, 4):
        clip = load_bvh(path)
        save_bvh(clip, tmp_path / "again.bvh")
        raw, again = raw_bvh(path), raw_bvh(tmp_path / "again.bvh")
        assert again.skeleton.names == raw.skeleton.names
        assert again.translated_joints.tolist() == raw.translated_joints.tolist()
        assert np.abs(again.translations - raw.translations).max() < 1e-4
        turn = Rotation.from_quat(raw.rotations.reshape(-1, 4)).inv() * Rotation.from_quat(
            again.rotations.reshape(-1, 4)
        )
        assert np.rad2deg(turn.magnitude().max()) < 1e-3


@pytest.mark.parametrize("name", ["dog_mann", "cmu_dance"])
def test_same_rotations_as_pybvh(name):
    pybvh = pytest.importorskip("pybvh")
    for path in some_files(name, 2):
        raw = raw_bvh(path)
        other = pybvh.read_bvh_file(path, world_up="+y")
        np.testing.assert_allclose(raw.translations[:, 0], other.root_pos, atol=1e-12)
        for joint, order in enumerate(raw.source.rotation_orders):
            expected = Rotation.from_euler(order, other.joint_angles[:, joint])
            turn = Rotation.from_quat(raw.rotations[:, joint]).inv() * expected
            assert turn.magnitude().max() < 1e-7


@pytest.mark.parametrize("name", ["bandai1", "bandai2_locomotion"])
def test_hips_travel_under_the_root(name):
    for path in some_files(name, 4):
        raw = raw_bvh(path)
        assert [raw.skeleton.names[joint] for joint in raw.translated_joints] == [
            "joint_Root",
            "Hips",
        ]
        assert np.ptp(raw.translations[:, 1], axis=0).max() > 1
        assert raw.fps == 30
