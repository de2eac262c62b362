"""AMC with ASF: joints against the formula of the format, CMU's clips against their BVH, errors."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.errors import FormatError
from deepphase.formats.load import load
from deepphase.motion.clip import end_positions, joint_positions
from tests.real_data import real_clips

ASF = """# a hip, a thigh and a shin
:version 1.10
:units
  mass 1.0
  length 0.5
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
     id 1
     name hip
     direction 0 2 0
     length 4
     axis 0 0 0 XYZ
  end
  begin
     id 2
     name thigh
     direction 0 -1 0
     length 9
     axis 10 20 30 XYZ
     dof rx ry rz
     limits (-160 20)
            (-70 70)
            (-60 70)
  end
  begin
     id 3
     name shin
     direction 0 -0.6 0.8
     length 8
     axis -90 7.6e-016 20 XYZ
     dof rx rz
  end
:hierarchy
  begin
    root hip
    hip thigh
    thigh shin
  end
"""
AMC = """#!OML:ASF somewhere
:FULLY-SPECIFIED
:DEGREES
7
root 1 20 3 10 20 30
thigh 30 -20 10
shin 40 5
8
root 2 20 4 0 0 0
thigh 0 0 0
shin 0 0
"""
INCH = 0.0254 / 0.5


def written(folder: Path, asf: str = ASF, amc: str = AMC, skeleton: str = "02.asf") -> Path:
    (folder / skeleton).write_text(asf)
    (folder / "02_01.amc").write_text(amc)
    return folder / "02_01.amc"


def test_joints_are_where_the_format_puts_them(tmp_path):
    clip = load(written(tmp_path), up="y")
    assert clip.skeleton.names == ("root", "hip", "thigh", "shin")
    assert (clip.fps, len(clip), clip.name) == (120.0, 2, "02_01")
    turn = [Rotation.from_euler("xyz", angles, degrees=True) for angles in (
        (10, 20, 30), (10, 20, 30), (30, -20, 10), (-90, 7.6e-16, 20), (40, 0, 5)
    )]  # fmt: skip
    root = turn[0]
    thigh = root * turn[1] * turn[2] * turn[1].inv()
    shin = thigh * turn[3] * turn[4] * turn[3].inv()
    hip = np.array([1, 20, 3]) + root.apply([0, 4, 0])
    knee = hip + thigh.apply([0, -9, 0])
    expected = INCH * np.array([[1, 20, 3], [1, 20, 3], hip, knee])
    np.testing.assert_allclose(joint_positions(clip)[0], expected, atol=1e-6)
    tip = INCH * (knee + shin.apply([0, -4.8, 6.4]))
    np.testing.assert_allclose(end_positions(clip)[0, 0], tip, atol=1e-6)
    # Without angles the pose is that of the offsets.
    np.testing.assert_allclose(np.abs(clip.rotations[1, :, 3]), 1.0, atol=1e-9)


def test_frames_that_are_missing_are_on_straight_lines(tmp_path):
    rows = AMC + "10\nroot 4 20 6 0 0 0\n"
    clip = load(written(tmp_path, amc=rows), up="y")
    moved = INCH * np.array([[1, 20, 3], [2, 20, 4], [3, 20, 5], [4, 20, 6]])
    np.testing.assert_allclose(clip.translations[:, 0], moved, atol=1e-9)
    assert any("1 frames are missing" in note for note in clip.source.notes)
    assert any("bones that rest" in note and "thigh, shin" in note for note in clip.source.notes)
    third = "9\nroot 3 20 5 0 0 0\nthigh 5 0 0\nshin 0 0\n"
    clip = load(written(tmp_path, amc=f"{AMC}{third}10\nroot 4 20 6 0 0 0\nthigh 5 0 0\n"), up="y")
    assert len(clip) == 3
    assert any("last frame was left out" in note for note in clip.source.notes)
    every = AMC.replace("\n8\n", "\n9\n").replace("7\n", "5\n")
    assert load(written(tmp_path, amc=every), up="y").fps == 30.0


def test_the_skeleton_of_the_clip_the_subject_or_the_folder_is_read(tmp_path):
    for name in ("any.asf", "02.ASF", "02_01.asf"):
        clip = load(written(tmp_path, skeleton=name), fps=60)
        assert f"the skeleton of {name}" in clip.source.notes
        assert clip.fps == 60.0
    (tmp_path / "02_01.asf").unlink()
    (tmp_path / "02.ASF").unlink()
    (tmp_path / "other.asf").write_text(ASF)
    with pytest.raises(FormatError, match="skeleton is missing") as caught:
        load(tmp_path / "02_01.amc")
    assert "02_01.asf" in caught.value.hint


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (lambda asf, amc: (asf, amc.replace("thigh 30 -20 10", "thigh 30 -20")), "2 numbers, but"),
        (lambda asf, amc: (asf, amc.replace("shin 40", "shin nan")), "numbers are expected"),
        (lambda asf, amc: (asf, amc.replace("shin 40 5", "toe 40 5")), "'toe' is not a bone"),
        (lambda asf, amc: (asf, amc.replace("shin 40 5", "thigh 1 2 3")), "a second line"),
        (lambda asf, amc: (asf, amc.replace("root 1 20", "root 1e300 20")), "numbers are expected"),
        (lambda asf, amc: (asf, amc.replace("shin 40 5", "shin 40,5 5")), "in place of the commas"),
        (lambda asf, amc: (asf, amc.partition("7")[0]), "no frames"),
        (lambda asf, amc: (asf, amc.replace("7\n", "")), "no number of a frame"),
        (lambda asf, amc: (asf, "\0" + amc), "not an AMC file"),
        (lambda asf, amc: (asf.partition(":hierarchy")[0], amc), "lacks :root"),
        (lambda asf, amc: (asf.replace("hip thigh", "toe thigh"), amc), "do not exist"),
        (lambda asf, amc: (asf.replace("hip thigh", "shin thigh"), amc), "in a circle"),
        (lambda asf, amc: (asf.replace("dof rx rz", "dof rx l"), amc), "more than its angles"),
        (lambda asf, amc: (asf.replace("name shin", "name hip"), amc), "a second bone"),
        (lambda asf, amc: (asf.replace("length 8", "length inf"), amc), "numbers are expected"),
        (lambda asf, amc: (asf.replace("direction 0 2 0", "direction 0 0 0"), amc), "no direction"),
        (lambda asf, amc: (asf.replace("10 20 30 XYZ", "10 20 30 XYY"), amc), "order of axes"),
        (lambda asf, amc: (asf.replace("length 0.5", "length 0"), amc), "for an inch"),
    ],
)
def test_damaged_files_are_one_error(tmp_path, change, fact):
    with pytest.raises(FormatError) as caught:
        load(written(tmp_path, *change(ASF, AMC)))
    assert fact in f"{caught.value.fact} {caught.value.hint}"
    assert caught.value.path.suffix in (".asf", ".amc")


def test_frames_of_bones_that_rest_are_bounded(tmp_path):
    (tmp_path / "a.asf").write_text(ASF)
    (tmp_path / "a.amc").write_text("".join(f"{frame}\n" for frame in range(500_001)))
    with pytest.raises(FormatError, match="500,001 frames of 4 joints"):
        load(tmp_path / "a.amc")


# Joints of the ASF and of the BVH conversion. Its upper body is lower by a bone of the chest, which
# it leaves out, so that arms and head are compared from the shoulder.
LEGS = {"root": "Hips", "lfemur": "LeftUpLeg", "ltibia": "LeftLeg", "ltoes": "LeftToeBase",
        "rfoot": "RightFoot", "upperback": "Spine", "thorax": "Spine1"}  # fmt: skip
ARMS = {"lhumerus": "LeftArm", "lwrist": "LeftHand", "rradius": "RightForeArm", "head": "Head"}


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "first"), [("02_01", 1), ("07_03", 10), ("08_01", 1)])
def test_clips_of_cmu_are_their_bvh_conversions(name, first):
    amc = load(real_clips("cmu_amc") / name[:2] / f"{name}.amc")
    bvh = load(real_clips("cmu_locomotion_dance") / name[:2] / f"{name}.bvh", unit=0.0254 / 0.45)
    here, there = joint_positions(amc), joint_positions(bvh)[first:]
    count = min(len(here), len(there))
    own, other = amc.skeleton.index, bvh.skeleton.index
    shoulder = here[:count, own("lclavicle")], there[:count, other("LeftShoulder")]
    for pairs, origin in ((LEGS, (0.0, 0.0)), (ARMS, shoulder)):
        for mine, theirs in pairs.items():
            apart = (here[:count, own(mine)] - origin[0]) - (
                there[:count, other(theirs)] - origin[1]
            )
            assert np.linalg.norm(apart, axis=-1).max() < 1e-4
