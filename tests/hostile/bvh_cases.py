"""BVH files of all kinds: two joints, three frames, and what goes wrong or differs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deepphase.motion.clip import Clip
from tests.formats.bvh_text import ROOT_CHANNELS, bvh_text, two_joints
from tests.hostile.case import Bad, Odd, names

GOOD = two_joints()
HEAD, TABLE = GOOD.split("0.0333333\n")
HEAD += "0.0333333\n"
CHEST = "CHANNELS 3 Zrotation Xrotation Yrotation"


def swapped(old: str, new: str, count: int = -1) -> str:
    """The good file with some of its text replaced."""
    assert old in GOOD
    return GOOD.replace(old, new, count)


# Text, a part of the error's fact, the line that it names (None: no line is asked for).
BAD: dict[str, tuple[str | bytes, str, int | None]] = {
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
    "frames huge": (
        swapped("Frames: 3", "Frames: 99999999999999"),
        "3 of 99,999,999,999,999",
        None,
    ),
    "frames of 5000 digits": (swapped("Frames: 3", "Frames: " + "9" * 5000), "count", 17),
    "no frame time": (swapped("Frame Time: 0.0333333\n", ""), "'Frame Time:'", None),
    "rest pose": (HEAD.replace("Frames: 3", "Frames: 0"), "only a rest pose", None),
    "no rows": (HEAD, "before the first of 3 frames", None),
    "two frames too many": (GOOD + "\n".join(TABLE.splitlines()[:2]), "5 frames, but", 22),
    "one frame too few": ("\n".join(GOOD.splitlines()[:-1]), "after 2 of 3", 20),
    "short row": (swapped(" 17.0\n", "\n"), "8 numbers, but the hierarchy declares 9", 20),
    "long row": (swapped(" 17.0\n", " 17.0 18.0\n"), "10 numbers, but the hierarchy", 20),
    "short and long row": (swapped(" 17.0\n18.0", "\n17.0 18.0"), "8 numbers", 20),
    "wrong hierarchy": (swapped(CHEST, "CHANNELS 1 Zrotation"), "9 numbers, but", 19),
    **{
        f"number {word}": (swapped(" 13.0 ", f" {word} "), f"column 20: {word!r}", 20)
        for word in (
            *("NaN", "-inf", "Infinity", "1e400", "0x1p3", "1_3", "-1.#IND00", "13j"),
            *("1.3D+01", "'13.0'", "--13.0", "13.0.0"),
        )
    },
    **{
        f"frames {word}": (swapped("Frames: 3", f"Frames: {word}"), repr(word), 17)
        for word in ("many", "-3", "3.5")
    },
    **{
        f"frame time {word}": (swapped("0.0333333", word), "Frame Time", 18)
        for word in ("0", "-0.03", "nan", "1e9", "1e-300", "thirty")
    },
    "word of a megabyte": (swapped(" 13.0 ", f" {'1' * 1_000_000} "), "not a finite", 20),
    "other digits": (swapped(" 13.0 ", " \u0661\u0663 "), "not a finite", 20),
    "comment": (swapped(" 17.0\n", " 17.0 # end\n"), "'#'", 20),
    "zero byte": (swapped(" 13.0 ", " 1\x003 "), "not a finite", 20),
    "markup": ("<html><body>404 Not Found</body></html>", "a web page", 1),
    "git lfs pointer": (
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        "a Git LFS pointer",
        1,
    ),
    "zip under this name": (b"PK\x03\x04" + bytes(200), "a zip archive", 1),
    "asf": ("# AST/ASF file\n:version 1.10\n:name VICON\n", "HIERARCHY", 1),
    "only zero bytes": (bytes(4096), "empty file", None),
    "two motions": (GOOD + "MOTION\n" + TABLE, "'MOTION'", 22),
    "two files in one": (GOOD + GOOD, "'HIERARCHY'", 22),
    "thousands": (swapped(" 13.0 ", " 13,000.0 "), "10 numbers, but the hierarchy", 20),
    "too many joints": (
        "HIERARCHY\nROOT a\n{\n" + "JOINT a\n{\n" * 12_000,
        "more than 10,000 joints",
        2 + 2 * 10_000,
    ),
    "negative channel count": (swapped(CHEST, CHEST.replace("3", "-3", 1)), "'-3'", 9),
}


def _same_values(clip: Clip) -> bool:
    return (
        clip.skeleton.names == ("Hips", "Chest")
        and clip.fps == 30.0
        and np.array_equal(clip.translations[:, 0], [[0, 1, 2], [9, 10, 11], [18, 19, 20]])
        and np.array_equal(clip.skeleton.offsets[1], [0, 10, 0])
    )


def _without_ends(clip: Clip) -> bool:
    return not len(clip.skeleton.end_offsets) and _same_values(clip)


def _fps(expected: float) -> Callable[[Clip], bool]:
    return lambda clip: abs(clip.fps - expected) < 1e-6 * expected


_METRES = {"unit": "m", "up": "y"}
_ODD: dict[str, Odd] = {
    "plain": Odd(GOOD, _same_values),
    "disk block": Odd(GOOD + "\0" * 500, _same_values),
    "no frames line": Odd(swapped("Frames: 3\n", ""), _same_values, "3 by the rows"),
    "no offset of an end": Odd(swapped("OFFSET 0 1 0\n", ""), _without_ends, "1 End Sites"),
    "commas and blanks": Odd(
        GOOD[: -len(TABLE)] + TABLE.replace(" ", ", "), _same_values, "commas"
    ),
    "commas for blanks": Odd(GOOD[: -len(TABLE)] + TABLE.replace(" ", ","), _same_values, "commas"),
    "a comma among points": Odd(swapped(" 10.0 ", " 10,0 "), _same_values, "decimal commas"),
    "frame time first": Odd(
        swapped("Frames: 3\nFrame Time: 0.0333333", "Frame Time: 0.0333333\nFrames: 3"),
        _same_values,
    ),
    "whole numbers": Odd(GOOD[: -len(TABLE)] + TABLE.replace(".0", ""), _same_values),
    "numbers without a leading zero": Odd(swapped(" 13.0 ", " .13e2 "), _same_values),
    "numbers below float64": Odd(swapped(" 13.0 ", " 13e-400 "), _same_values),
    "no end site": Odd(swapped("End Site\n{\nOFFSET 0 1 0\n}\n", ""), _without_ends),
    "names with blanks": Odd(
        swapped("JOINT Chest", "JOINT Upper Chest"), names("Hips", "Upper Chest")
    ),
    "joint named as a keyword": Odd(
        swapped("JOINT Chest", "JOINT MOTION"), names("Hips", "MOTION")
    ),
    "ntsc": Odd(swapped("0.0333333", "0.0333667"), _fps(30 / 1.001)),
    "rough frame time": Odd(swapped("0.0333333", "0.033"), _fps(30)),
    "frame time with an exponent": Odd(swapped("0.0333333", "8.33333e-3"), _fps(120)),
    "one frame": Odd(two_joints(np.zeros((1, 9))), lambda clip: len(clip) == 1),
    "large angles": Odd(
        swapped(" 13.0 ", " 36000013.0 "),
        lambda clip: bool(np.isclose(np.linalg.norm(clip.rotations, axis=-1), 1).all()),
    ),
    "zero offsets everywhere": Odd(
        swapped("OFFSET 0.0 10.0 0.0", "OFFSET 0 0 0"), lambda clip: not clip.skeleton.offsets.any()
    ),
    "root only": Odd(
        bvh_text([("Hips", -1, (0, 0, 0), ROOT_CHANNELS)], np.zeros((2, 6))), names("Hips")
    ),
    "a joint without channels": Odd(
        bvh_text(
            [("Hips", -1, (0, 0, 0), ROOT_CHANNELS), ("Fixed", 0, (0, 1, 0), [])], np.ones((2, 6))
        ),
        lambda clip: bool((clip.rotations[:, 1] == [0, 0, 0, 1]).all()),
    ),
}

CASES: dict[str, Bad | Odd] = {
    **{name: Bad(*case, options=_METRES) for name, case in BAD.items()},
    **{
        f"{name} (read)": Odd(case.content, case.right, case.note, {**_METRES, **case.options})
        for name, case in _ODD.items()
    },
}
