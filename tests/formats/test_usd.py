"""USD files: the text says the motion, and the reference library reads it."""

import importlib.util
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.joint_matrices import clip_of_matrices
from deepphase.formats.load import load, save
from deepphase.formats.usd.writer import joint_paths
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.skeleton import Skeleton
from deepphase.synthetic.gait_motion import locomotion

WALK = locomotion(3, 0.5, turn_rate=1.0).clip
NAMES = tuple(f'rig:{name}."1"' for name in WALK.skeleton.names)
NAMED = replace(WALK, skeleton=replace(WALK.skeleton, names=NAMES))
needs_usd = pytest.mark.skipif(
    importlib.util.find_spec("pxr") is None, reason="usd-core is not installed"
)


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


@needs_usd
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


@needs_usd
@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usd"])
def test_what_is_written_is_read(tmp_path, suffix):
    from pxr import Sdf

    save(NAMED, tmp_path / "walk.usda")
    path = tmp_path / f"again{suffix}"
    Sdf.Layer.FindOrOpen(str(tmp_path / "walk.usda")).Export(str(path))
    again = load(path)
    assert again.skeleton.names == NAMES
    assert again.fps == WALK.fps
    assert again.source.unit_m == 1.0
    np.testing.assert_allclose(again.skeleton.offsets, WALK.skeleton.offsets, atol=1e-5)
    np.testing.assert_allclose(joint_positions(again), joint_positions(WALK), atol=1e-4)


def stage_of(tmp_path):
    """A stage in centimetres with Z up, at 24 time codes a second, its skeleton below a turn."""
    from pxr import Gf, Sdf, Usd, UsdGeom

    path = tmp_path / "walk.usda"
    save(WALK, path)
    stage = Usd.Stage.CreateNew(str(tmp_path / "scene.usdc"))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    stage.SetTimeCodesPerSecond(WALK.fps)
    stage.SetFramesPerSecond(WALK.fps)
    above = UsdGeom.Xform.Define(stage, "/Scene")
    above.AddTranslateOp().Set(Gf.Vec3d(100.0, 0.0, 0.0))
    above.AddRotateXOp().Set(90.0)
    above.AddScaleOp().Set(Gf.Vec3f(100.0))
    stage.DefinePrim("/Scene/Body").GetReferences().AddReference(str(path), Sdf.Path("/Motion"))
    stage.Save()
    return tmp_path / "scene.usdc"


@needs_usd
def test_axes_units_and_transforms_above_are_folded_in(tmp_path):
    again = load(stage_of(tmp_path))
    assert (again.source.up, again.source.unit_m) == ("z", 0.01)
    moved = joint_positions(WALK) + np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(joint_positions(again), moved, atol=1e-4)


@needs_usd
def test_a_file_without_an_animated_skeleton_says_what_to_export(tmp_path):
    path = tmp_path / "empty.usda"
    path.write_text("#usda 1.0\n")
    with pytest.raises(FormatError, match="no skeleton with an animation") as caught:
        load(path)
    assert "SkelAnimation" in caught.value.hint


@needs_usd
@pytest.mark.parametrize("content", [b"#usda 1.0\ndef {", b"PXR-USDC" + bytes(80)])
def test_damage_is_a_format_error(tmp_path, content):
    path = tmp_path / "walk.usd"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="usd-core cannot read it"):
        load(path)


@needs_usd
def test_of_several_roots_the_largest_tree_is_read(tmp_path):
    path = tmp_path / "walk.usda"
    save(WALK, path)
    path.write_text(path.read_text().replace("Hips/LeftUpLeg", "LeftUpLeg"))
    again = load(path)
    leg = {"LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase"}
    assert set(again.skeleton.names) == set(WALK.skeleton.names) - leg
    assert "2 joints have no parent" in " ".join(again.source.notes)
    order = [WALK.skeleton.index(name) for name in again.skeleton.names]
    np.testing.assert_allclose(joint_positions(again), joint_positions(WALK)[:, order], atol=1e-4)


@needs_usd
@pytest.mark.parametrize(
    ("rate", "match"), [("0", "timeCodesPerSecond is 0"), ("1e-300", "beyond any motion")]
)
def test_time_codes_that_do_not_pass_are_refused(rate, match, tmp_path):
    path = tmp_path / "walk.usda"
    save(WALK, path)
    path.write_text(
        re.sub("timeCodesPerSecond = .*", f"timeCodesPerSecond = {rate}", path.read_text())
    )
    with pytest.raises(FormatError, match=match) as caught:
        load(path)
    assert caught.value.path == path


@needs_usd
def test_names_of_another_type_are_those_of_the_paths(tmp_path):
    path = tmp_path / "walk.usda"
    save(WALK, path)
    path.write_text(path.read_text().replace("token[] jointNames", "names jointNames"))
    assert load(path).skeleton.names == WALK.skeleton.names


@needs_usd
def test_names_that_are_not_utf_8_are_refused(tmp_path):
    from pxr import Sdf

    path = tmp_path / "walk.usda"
    save(WALK, path)
    Sdf.Layer.FindOrOpen(str(path)).Export(str(tmp_path / "walk.usdc"))
    content = (tmp_path / "walk.usdc").read_bytes()
    path = tmp_path / "changed.usdc"
    path.write_bytes(content.replace(b"Spine", b"Spin\xff", 1))
    assert path.read_bytes() != content
    with pytest.raises(FormatError, match="usd-core cannot read it"):
        load(path)


# Its determinant is above zero by rounding.
_FLAT = [[0.6759871, -0.6759871, 0.7], [0.0951503, -0.0951503, 1e-9], [-0.7307, 0.7307, 0.6705]]


@pytest.mark.parametrize(
    ("turn", "match"),
    [(_FLAT, "flat or mirrored"), (1e200 * np.eye(3), "than any body"), (np.zeros((3, 3)), "flat")],
)
def test_transforms_without_a_rotation_are_refused(turn, match, tmp_path):
    matrices = np.tile(np.eye(4), (1, 2, 1, 1))
    matrices[0, 1, :3, :3] = turn
    with pytest.raises(FormatError, match=match):
        clip_of_matrices(("a", "b"), np.array([-1, 0]), matrices[0], matrices, 60.0, tmp_path)


def test_other_content_is_named(tmp_path):
    path = tmp_path / "walk.usdc"
    path.write_bytes(b"Kaydara FBX Binary  ")
    with pytest.raises(FormatError, match="not a USD file: an FBX file"):
        load(path)


def test_without_usd_core_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pxr", None)
    save(WALK, tmp_path / "walk.usda")
    with pytest.raises(ParameterError, match=r"pxr is needed for USD files") as caught:
        load(tmp_path / "walk.usda")
    assert "deepphase[usd]" in caught.value.hint
