"""Damaged and foreign files: one clear error each, at its line, and no warning."""

import os
import warnings

import pytest

from deepphase.errors import FormatError
from deepphase.formats.bvh import load_bvh, read_bvh
from tests.formats.bvh_text import two_joints, written

GOOD = two_joints()
HEAD, TABLE = GOOD.split("0.0333333\n")
HEAD += "0.0333333\n"
CHEST = "CHANNELS 3 Zrotation Xrotation Yrotation"


def swapped(old: str, new: str, count: int = -1) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, count)


# text, a part of the message, line (None: no line is asked for)
HOSTILE = {
    "empty": ("", "empty file", None),
    "blank": (" \n\n\t\n", "empty file", None),
    "other text": ("solid cube\nfacet normal\n", "HIERARCHY", 1),
    "keyword only": ("HIERARCHY", "without a ROOT", 1),
    "long blank start": (" " * 500 + "x", "HIERARCHY", 1),
    "no motion": (GOOD[: GOOD.index("MOTION")], "rest pose", None),
    "no brace to open": (swapped("{\n", "", 1), "'{' is missing after ROOT 'Hips'", 3),
    "no brace to close": (swapped("}\nMOTION", "MOTION"), "never closed", 2),
    "brace too many": (swapped("}\nMOTION", "}\n}\nMOTION"), "closes nothing", 16),
    "brace of nothing": (swapped("HIERARCHY", "HIERARCHY\n{"), "without ROOT", 2),
    "two roots": (swapped("}\nMOTION", "}\nROOT B\n{\nOFFSET 0 0 0\n}\nMOTION"), "second root", 16),
    "root in a root": (swapped("JOINT Chest", "ROOT Chest"), "second root", 6),
    "joint without root": (swapped("ROOT", "JOINT"), "outside the ROOT", 2),
    "no name": (swapped("JOINT Chest", "JOINT"), "without a name", 6),
    "joint in an end": (
        swapped("OFFSET 0 1 0", "OFFSET 0 1 0\nJOINT X"),
        "inside an End Site",
        13,
    ),
    "channels of an end": (swapped("OFFSET 0 1 0", f"OFFSET 0 1 0\n{CHEST}"), "End Site with", 13),
    "no offset": (swapped("OFFSET 0.0 10.0 0.0\n", ""), "no OFFSET", 6),
    "no offset of an end": (swapped("OFFSET 0 1 0\n", ""), "no OFFSET", 10),
    "two offsets": (swapped("OFFSET 0 1 0", "OFFSET 0 1 0\nOFFSET 0 1 0"), "two OFFSETs", 13),
    "offset of two": (swapped("OFFSET 0 1 0", "OFFSET 0 1"), "2 numbers", 12),
    "offset nan": (swapped("OFFSET 0 1 0", "OFFSET 0 nan 0"), "'nan'", 12),
    "offset infinite": (swapped("OFFSET 0 1 0", "OFFSET 0 1e999 0"), "'1e999'", 12),
    "no channels": (swapped(f"{CHEST}\n", ""), "no CHANNELS", 6),
    "channel count": (swapped(CHEST, CHEST.replace("3", "4")), "declares '4' but names 3", 9),
    "channel count huge": (swapped(CHEST, CHEST.replace("3", "9" * 5000)), "but names 3", 9),
    "unknown channel": (swapped(CHEST, "CHANNELS 1 Wrotation"), "unknown channel", 9),
    "scale channels": (
        swapped(CHEST, "CHANNELS 6 Zrotation Xrotation Yrotation Xscale Yscale Zscale"),
        "scale",
        9,
    ),
    "channel twice": (swapped(CHEST, "CHANNELS 2 Xrotation Xrotation"), "named twice", 9),
    "unknown keyword": (swapped(CHEST, f"ROTORDER xyz\n{CHEST}"), "'ROTORDER'", 9),
    "no frames line": (swapped("Frames: 3\n", ""), "'Frames:'", None),
    "frames of words": (swapped("Frames: 3", "Frames: many"), "'many'", 17),
    "frames negative": (swapped("Frames: 3", "Frames: -3"), "'-3'", 17),
    "frames huge": (
        swapped("Frames: 3", "Frames: 99999999999999"),
        "3 of 99,999,999,999,999",
        None,
    ),
    "frames of 5000 digits": (swapped("Frames: 3", "Frames: " + "9" * 5000), "count", 17),
    "no frame time": (swapped("Frame Time: 0.0333333\n", ""), "'Frame Time:'", None),
    "frame time zero": (swapped("0.0333333", "0"), "Frame Time", 18),
    "frame time negative": (swapped("0.0333333", "-0.03"), "Frame Time", 18),
    "frame time nan": (swapped("0.0333333", "nan"), "Frame Time", 18),
    "frame time absurd": (swapped("0.0333333", "1e9"), "Frame Time", 18),
    "frame time tiny": (swapped("0.0333333", "1e-300"), "Frame Time", 18),
    "rest pose": (HEAD.replace("Frames: 3", "Frames: 0"), "only a rest pose", None),
    "no rows": (HEAD, "before the first of 3 frames", None),
    "one frame too many": (GOOD + TABLE.splitlines()[0], "4 frames, but", 22),
    "one frame too few": ("\n".join(GOOD.splitlines()[:-1]), "after 2 of 3", 20),
    "short row": (swapped(" 17.0\n", "\n"), "8 numbers, but the hierarchy declares 9", 20),
    "long row": (swapped(" 17.0\n", " 17.0 18.0\n"), "10 numbers, but the hierarchy", 20),
    "short and long row": (swapped(" 17.0\n18.0", "\n17.0 18.0"), "8 numbers", 20),
    "wrong hierarchy": (swapped(CHEST, "CHANNELS 1 Zrotation"), "9 numbers, but", 19),
    "nan": (swapped(" 13.0 ", " NaN "), "'NaN'", 20),
    "infinite": (swapped(" 13.0 ", " -inf "), "'-inf'", 20),
    "too large": (swapped(" 13.0 ", " 1e400 "), "'1e400'", 20),
    "hexadecimal": (swapped(" 13.0 ", " 0x1p3 "), "'0x1p3'", 20),
    "underscore": (swapped(" 13.0 ", " 1_3 "), "column 20: '1_3'", 20),
    "decimal comma": (swapped(" 13.0 ", " 13,0 "), "'13,0'", 20),
    "microsoft nan": (swapped(" 13.0 ", " -1.#IND00 "), "'-1.#IND00'", 20),
    "other digits": (swapped(" 13.0 ", " \u0661\u0663 "), "not a finite", 20),
    "comment": (swapped(" 17.0\n", " 17.0 # end\n"), "'#'", 20),
    "word of a megabyte": (swapped(" 13.0 ", f" {'1' * 1_000_000} "), "not a finite", 20),
    "zero byte": (swapped(" 13.0 ", " 1\x003 "), "not a finite", 20),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_damage_is_one_clear_error(tmp_path, name):
    text, message, line = HOSTILE[name]
    path = written(tmp_path, text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FormatError) as caught:
            read_bvh(path)
    assert message in caught.value.fact
    assert caught.value.path == path
    assert len(str(caught.value)) < 400
    if line is not None:
        assert caught.value.line == line


@pytest.mark.parametrize("seed", range(5))
def test_binary_garbage(tmp_path, seed):
    noise = bytes((i * i * (seed + 7) + i * 31) % 256 for i in range(5000))
    for content in (noise, b"HIERARCHY\n" + noise, HEAD.encode() + noise, b"\xff\xfe" + noise):
        with pytest.raises(FormatError):
            read_bvh(written(tmp_path, content))


def test_every_prefix_is_refused_or_read(tmp_path):
    for stop in range(len(GOOD) - 10):
        with pytest.raises(FormatError):
            load_bvh(written(tmp_path, GOOD[:stop]), unit="m", up="y")


def test_paths_that_are_no_files(tmp_path):
    for path in (tmp_path, tmp_path / "absent.bvh", "nul\0byte.bvh"):
        with pytest.raises(FormatError, match="cannot be read"):
            read_bvh(path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(tmp_path):
    path = written(tmp_path, GOOD)
    path.chmod(0)
    with pytest.raises(FormatError, match="cannot be read"):
        read_bvh(path)


def test_truncation_does_not_excuse_a_file_without_a_frame(tmp_path):
    path = written(tmp_path, HEAD + "0 1 2")
    with pytest.raises(FormatError, match="3 numbers"):
        read_bvh(path, allow_truncated=True)
