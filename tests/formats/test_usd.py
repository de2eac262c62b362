"""USD files: the text says the motion, and the reference library reads it."""

import importlib.util
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.errors import FormatError
from deepphase.formats.load import load, save
from deepphase.formats.usd import joint_paths
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.skeleton import Skeleton
from deepphase.synthetic.gait_motion import locomotion

WALK = locomotion(3, 0.5, turn_rate=1.0).clip
NAMES = tuple(f'rig:{name}."1"' for name in WALK.skeleton.names)
NAMED = replace(WALK, skeleton=replace(WALK.skeleton, names=NAMES))


def samples(text: str, name: str) -> np.ndarray:
    """(frames, joints, values) of a time-sampled array."""
    block = re.search(rf"{name}\.timeSamples = {{\n(.*?)\n            }}", text, re.DOTALL)[1]
    rows = [line.strip().rstrip(",").partition(": ")[2] for line in block.splitlines()]
    return np.array([json.loads(row.replace("(", "[").replace(")", "]")) for row in rows])


def test_the_text_holds_the_motion(tmp_path):
    path = tmp_path / "walk.usda"
    save(NAMED, path)
    text = path.read_text()
    rotations = np.roll(samples(text, "rotations"), -1, axis=-1)
    again = Clip(
        WALK.skeleton,
        quaternions.normalized(rotations),
        samples(text, "translations"),
        WALK.fps,
        np.arange(len(WALK.skeleton)),
    )
    np.testing.assert_allclose(joint_positions(again), joint_positions(WALK), atol=1e-5)
    assert 'upAxis = "Y"' in text
    assert f"endTimeCode = {len(WALK) - 1}" in text


def test_paths_of_joints_are_identifiers_and_unique():
    skeleton = Skeleton(("1 a", "b:c", "b.c"), [-1, 0, 0], np.zeros((3, 3)))
    paths = joint_paths(skeleton)
    assert paths == ("_1_a", "_1_a/b_c", "_1_a/b_c_2")


def test_convert_writes_it_and_nothing_reads_it(tmp_path, capsys):
    save(WALK, tmp_path / "walk.bvh")
    path = tmp_path / "walk.usda"
    assert main(["convert", str(tmp_path / "walk.bvh"), "-o", str(path)]) == 0
    with pytest.raises(FormatError, match="written only"):
        load(path)


@pytest.mark.skipif(importlib.util.find_spec("pxr") is None, reason="usd-core is not installed")
def test_the_reference_library_reads_it(tmp_path):
    from pxr import Usd, UsdGeom, UsdSkel

    path = tmp_path / "walk.usda"
    save(NAMED, path)
    stage = Usd.Stage.Open(str(path))
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    skeleton = UsdSkel.Skeleton.Get(stage, "/Motion/Skeleton")
    assert tuple(skeleton.GetJointNamesAttr().Get()) == NAMES
    cache = UsdSkel.Cache()
    query = cache.GetSkelQuery(skeleton)
    assert query
    assert query.HasBindPose()
    expected = joint_positions(WALK)
    for frame in (0, 7, len(WALK) - 1):
        matrices = np.array(query.ComputeJointSkelTransforms(Usd.TimeCode(frame)))
        np.testing.assert_allclose(matrices[:, 3, :3], expected[frame], atol=1e-5)
    rest = np.array(query.ComputeJointSkelTransforms(Usd.TimeCode(0), atRest=True))
    bind = np.array(skeleton.GetBindTransformsAttr().Get())
    np.testing.assert_allclose(rest, bind, atol=1e-6)
