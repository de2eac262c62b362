"""What the BVH reader makes of well-formed files of many kinds."""

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.errors import FormatError
from deepphase.formats.bvh.reader import load_bvh
from deepphase.motion.clip import end_positions, global_transforms, joint_positions
from tests.formats.bvh_text import (
    JOINT_CHANNELS,
    ROOT_CHANNELS,
    bvh_text,
    raw_bvh,
    two_joints,
    written,
)

OFFSET_BY_AXIS = (("x", 4), ("y", 5), ("z", 6))


def assert_same_rotations(found, expected):
    turn = (Rotation.from_quat(found) * Rotation.from_quat(expected).inv()).magnitude()
    assert turn.max() < 1e-12


@pytest.mark.parametrize(
    "channels",
    [
        "Zrotation Xrotation Yrotation",
        "Xrotation Yrotation Zrotation",
        "Yrotation Zrotation Xrotation",
        "Xrotation Zrotation",
        "Yrotation",
        "Xposition Zrotation Yposition Xrotation Zposition Yrotation",
        "Zposition Yrotation",
        "Yrotation Xrotation Zrotation Zposition Yposition Xposition",
        "XROTATION yrotation ZRotation",
        "Yposition Zposition",
        "",
    ],
)
def test_channels_of_any_kind_and_order(tmp_path, channels):
    names = channels.split()
    rows = np.random.default_rng(3).uniform(-170, 170, (20, 6 + len(names) + 3))
    joints = [
        ("Hips", -1, (1, 2, 3), ROOT_CHANNELS),
        ("Odd", 0, (4, 5, 6), names),
        ("Last", 1, (0, 7, 0), ["Yrotation", "Xrotation", "Zrotation"]),
    ]
    raw = raw_bvh(written(tmp_path, bvh_text(joints, rows)))
    own = {name.lower(): rows[:, 6 + column] for column, name in enumerate(names)}
    order = "".join(name[0].upper() for name in names if name.lower().endswith("rotation"))
    if order:
        angles = np.stack([own[f"{axis.lower()}rotation"] for axis in order], axis=1)
        expected = Rotation.from_euler(order, angles, degrees=True)
        assert_same_rotations(raw.rotations[:, 1], expected.as_quat())
    else:
        assert (raw.rotations[:, 1] == [0, 0, 0, 1]).all()
    assert raw.source.rotation_orders == ("ZXY", order, "YXZ")
    last = Rotation.from_euler("YXZ", rows[:, -3:], degrees=True).as_quat()
    assert_same_rotations(raw.rotations[:, 2], last)
    np.testing.assert_array_equal(raw.translations[:, 0], rows[:, :3])
    if "position" in channels.lower():
        assert raw.translated_joints.tolist() == [0, 1]
        place = [own.get(f"{axis}position", offset) for axis, offset in OFFSET_BY_AXIS]
        np.testing.assert_array_equal(
            raw.translations[:, 1], np.stack(np.broadcast_arrays(*place, rows[:, 0])[:3], axis=1)
        )
    else:
        assert raw.translated_joints.tolist() == [0]
    assert raw.skeleton.offsets.tolist()[1:] == [[4, 5, 6], [0, 7, 0]]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "  \t\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace(" ", "\xa0"),
        lambda text: text.replace("\n{", " {"),
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n \n\x1a",
        lambda text: text.replace("ROOT", "root").replace("CHANNELS", "Channels"),
        lambda text: text.replace("HIERARCHY", "hierarchy").replace("MOTION", "motion"),
        lambda text: text.replace("End Site", "End Site of Chest"),
        lambda text: text.replace("End Site", "END SITE"),
        lambda text: text.replace("Frames: 3", "FRAMES:\t3").replace("Time: ", "Time:"),
        lambda text: (
            text[: text.index("MOTION")].replace("\n", " ") + "\n" + text[text.index("MOTION") :]
        ),
        lambda text: text.replace("20.0", "2.0e+1").replace(" 3.0", " +3."),
    ],
)
def test_ways_of_writing_the_same(tmp_path, change):
    plain = raw_bvh(written(tmp_path, two_joints()))
    other = raw_bvh(written(tmp_path, change(two_joints()), "other.bvh"))
    np.testing.assert_array_equal(other.rotations, plain.rotations)
    np.testing.assert_array_equal(other.translations, plain.translations)
    np.testing.assert_array_equal(other.skeleton.end_offsets, plain.skeleton.end_offsets)
    assert (other.skeleton.names, other.fps) == (("Hips", "Chest"), 30.0)


def test_utf_16_and_latin_1(tmp_path):
    text = two_joints().replace("Chest", "Brust größer")
    assert raw_bvh(written(tmp_path, text.encode("utf-16"))).skeleton.names[1] == "Brust größer"
    raw = raw_bvh(written(tmp_path, text.encode("latin-1")))
    assert raw.skeleton.names[1] == "Brust größer"
    assert "Latin-1" in raw.source.notes[0]


def test_names_that_occur_twice_are_numbered(tmp_path):
    joints = [("A", -1, (0, 0, 0), ROOT_CHANNELS)]
    joints += [(name, 0, (1, 0, 0), JOINT_CHANNELS) for name in ("A", "A#2", "A")]
    raw = raw_bvh(written(tmp_path, bvh_text(joints, np.zeros((2, 15)))))
    assert raw.skeleton.names == ("A", "A#3", "A#2", "A#4")
    assert "A#3" in raw.source.notes[0]


def test_ten_thousand_joints_deep(tmp_path):
    depth = 10_000
    joints = [(f"J{i}", i - 1, (0, 1, 0), ["Zrotation"]) for i in range(depth)]
    raw = raw_bvh(written(tmp_path, bvh_text(joints, np.zeros((2, depth)))))
    assert (raw.skeleton.parents == np.arange(-1, depth - 1)).all()


def test_positions_of_joints_besides_the_root(tmp_path):
    """They take the place of the OFFSET, unless they stay near zero."""
    joints = [("Root", -1, (0, 0, 0), ROOT_CHANNELS), ("Hips", 0, (0, 90, 0), ROOT_CHANNELS)]
    path = np.linspace([0, 88, 0], [10, 91, 300], 30)
    for positions, words in (
        (path, "travel besides the root: Hips"), (0.03 * path, "near zero"),
        (np.full((30, 3), [1.0, 85, 2]), "took the place"), (np.zeros((30, 3)), "near zero"),
    ):  # fmt: skip
        rows = np.zeros((30, 12))
        rows[:, 6:9] = positions
        raw = raw_bvh(written(tmp_path, bvh_text(joints, rows)))
        places = positions + np.array([0, 90, 0]) * (words == "near zero")
        np.testing.assert_allclose(joint_positions(raw)[:, 1], places, atol=1e-12)
        moves = (positions != positions[0]).any()
        assert raw.translated_joints.tolist() == ([0, 1] if moves else [0])
        assert any(words in note for note in raw.source.notes), words


@pytest.mark.parametrize("widths", [(5, 4), (1,) * 9, (9, 0)])
def test_wrapped_frames(tmp_path, widths):
    head, table = two_joints().split("0.0333333\n")
    words = table.split()
    lines = []
    while words:
        for width in widths:
            lines.append(" ".join(words[:width]))
            words = words[width:]
    raw = raw_bvh(written(tmp_path, head + "0.0333333\n" + "\n".join(lines)))
    plain = raw_bvh(written(tmp_path, two_joints()))
    np.testing.assert_array_equal(raw.rotations, plain.rotations)
    assert any("wrapped" in note for note in raw.source.notes) == (widths != (9, 0))


def test_first_motion_line_and_lines_of_faults(tmp_path):
    text = two_joints(np.zeros((50, 9)))
    raw = raw_bvh(written(tmp_path, text))
    lines = text.splitlines()
    assert lines[raw.source.first_line - 1].startswith("0.0 ")
    assert lines[raw.source.first_line - 2].startswith("Frame Time")
    lines[raw.source.first_line - 1 + 20] = "0 1 nan 3 4 5 6 7 8"
    with pytest.raises(FormatError, match="column 5: 'nan'") as caught:
        raw_bvh(written(tmp_path, "\n".join(lines)))
    assert caught.value.line == raw.source.first_line + 20
    assert "20 of 50" in caught.value.hint


@pytest.mark.parametrize("cut", [1, 30, 100, 200])
def test_truncated_files(tmp_path, cut):
    text = two_joints(np.random.default_rng(4).uniform(-1, 1, (50, 9)))
    whole = raw_bvh(written(tmp_path, text))
    path = written(tmp_path, text[: -cut - 1])
    frames = 50 - text[-cut - 1 :].strip().count("\n") - 1
    if cut == 1:
        # A cut within the last number cannot be told.
        assert len(raw_bvh(path).rotations) == 50
        return
    with pytest.raises(FormatError, match="allow_truncated"):
        raw_bvh(path)
    raw = raw_bvh(path, allow_truncated=True)
    assert len(raw.rotations) == frames
    np.testing.assert_array_equal(raw.rotations, whole.rotations[:frames])
    assert f"first {frames} of 50" in raw.source.notes[0]


def test_units_and_axes_are_put_right(tmp_path):
    path = written(tmp_path, two_joints())
    raw, clip = raw_bvh(path), load_bvh(path, unit="cm", up="z", fps=50)
    # Z up to Y up: (x, y, z) becomes (x, z, -y).
    expected = raw.translations[:, 0][:, [0, 2, 1]] * [0.01, 0.01, -0.01]
    np.testing.assert_allclose(clip.translations[:, 0], expected, atol=1e-12)
    assert clip.skeleton.offsets[1].tolist() == pytest.approx([0, 0.1, 0])
    assert clip.skeleton.end_offsets[0].tolist() == pytest.approx([0, 0.01, 0])
    assert (clip.fps, clip.source.fps, clip.source.unit_m, clip.source.up) == (50, 50, 0.01, "z")
    assert any("50 frames a second" in note for note in clip.source.notes)
    turn = Rotation.from_euler("X", -90, degrees=True)
    expected = turn * Rotation.from_quat(raw.rotations[:, 0])
    assert_same_rotations(clip.rotations[:, 0], expected.as_quat())


def test_one_row_more_than_declared_and_decimal_commas_are_read_with_a_note(tmp_path):
    text = two_joints(np.arange(27.0).reshape(3, 9) + 0.25)
    whole = raw_bvh(written(tmp_path, text))
    more = raw_bvh(written(tmp_path, text.replace("Frames: 3", "Frames: 2")))
    assert "declares 2, but 3 frames follow" in more.source.notes[0]
    commas = text.replace(".", ",")
    # Beside decimal points, and between semicolons.
    beside = text.partition("MOTION")[0] + commas[commas.index("MOTION") :]
    others = [more]
    for each in (commas, beside, re.sub(r"(?<=\d) (?=\d)", ";", commas)):
        others.append(raw_bvh(written(tmp_path, each)))
        assert "decimal commas" in others[-1].source.notes[0]
    for other in others:
        np.testing.assert_array_equal(other.rotations, whole.rotations)
        np.testing.assert_array_equal(other.translations, whole.translations)
    with pytest.raises(FormatError, match="3 frames, but 'Frames:' declares 1"):
        raw_bvh(written(tmp_path, text.replace("Frames: 3", "Frames: 1")))


_SOMA = """HIERARCHY
ROOT Root
{
OFFSET 0 0 0 0 0 0
CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
JOINT Hips
{
OFFSET 0 101 0 90 0.19 80
CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
JOINT Spine1
{
OFFSET 50.1 0.3 -2 -20 10 5.5
CHANNELS 3 Zrotation Yrotation Xrotation
End Site
{
OFFSET 20 3 1
}
}
}
}
MOTION
Frames: 2
Frame Time: 0.008333
0 0 0 0 0 0 0 101 0 80 0.19 90 5.5 10 -20
3 0 5 0 30 0 1 99 2 70 20 60 15 -40 35
"""


def test_rest_rotations_behind_offsets_are_folded_in(tmp_path):
    """Joints are where their absolute channels put them, and the rest pose has no rotations."""
    clip = load_bvh(written(tmp_path, _SOMA), unit="cm", up="y")
    assert clip.fps == 120.0
    np.testing.assert_allclose(np.abs(clip.rotations[0, :, 3]), 1.0, atol=1e-6)
    positions = joint_positions(clip)
    tips = end_positions(clip, global_transforms(clip))
    for frame, row in enumerate(_SOMA.splitlines()[-2:]):
        values = np.array(row.split(), float)
        turns = [Rotation.from_euler("ZYX", values[at : at + 3], True) for at in (3, 9, 12)]
        hips = values[:3] + turns[0].apply(values[6:9])
        spine = hips + (turns[0] * turns[1]).apply([50.1, 0.3, -2])
        tip = spine + (turns[0] * turns[1] * turns[2]).apply([20, 3, 1])
        expected = 0.01 * np.array([values[:3], hips, spine])
        np.testing.assert_allclose(positions[frame], expected, atol=1e-6)
        np.testing.assert_allclose(tips[frame, 0], 0.01 * tip, atol=1e-6)
    assert any("rest rotations" in note for note in clip.source.notes)
    with pytest.raises(FormatError, match="4 numbers, expected 3 or 6") as caught:
        load_bvh(written(tmp_path, _SOMA.replace("-20 10 5.5", "-20")))
    assert caught.value.line == 12
    with pytest.raises(FormatError, match="6 numbers, expected 3"):
        load_bvh(written(tmp_path, _SOMA.replace("20 3 1", "20 3 1 0 0 0")))
