"""Zip archives of NumPy arrays of all kinds: AMASS, our own, points, and what is none of them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from functools import partial
from typing import Any

import numpy as np

from deepphase.motion.clip import Clip
from tests.formats.smpl_files import walk_poses, walk_translations
from tests.hostile.case import Bad, Odd

FRAMES = 12


def archive(arrays: dict[str, Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An .npz of arrays; bytes are taken for a member as they are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, array in arrays.items():
            # Without the time of writing: a case made again has the same bytes.
            info = zipfile.ZipInfo(f"{name}.npy")
            content = array if isinstance(array, bytes) else member(array)
            file.writestr(info, content, compression)
    return buffer.getvalue()


def member(array: Any, version: tuple[int, int] | None = None) -> bytes:
    """An array as NumPy writes it into a file, objects too."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array), version)
    return buffer.getvalue()


def header(text: str, data: bytes = b"", length: int | None = None, version: int = 1) -> bytes:
    """A .npy file of that header and that data."""
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text.encode("latin-1") + data


AMASS: dict[str, Any] = {
    "poses": walk_poses(FRAMES, 52).reshape(FRAMES, -1),
    "trans": walk_translations(FRAMES),
    "mocap_framerate": np.array(60.0),
    "gender": np.array("male"),
    "betas": np.zeros(16),
}
OWN: dict[str, Any] = {
    "names": np.array(["Hips", "Chest"]),
    "parents": np.array([-1, 0]),
    "offsets": np.array([[0.0, 1, 0], [0, 0.3, 0]]),
    "rotations": np.tile([0.0, 0, 0, 1], (FRAMES, 2, 1)),
    "translations": np.tile([0.0, 1, 0], (FRAMES, 1, 1)),
    "translated_joints": np.array([0]),
    "fps": np.array(60.0),
    "meta": np.array(json.dumps({"format": "deepphase.motion", "version": 1})),
}
# Four points of a body that sways.
POINTS: dict[str, Any] = {
    "positions": np.array([[0, 1, 0], [0.1, 0.5, 0], [0.1, 0, 0], [0, 1.7, 0]])
    + 0.05 * np.sin(np.arange(FRAMES))[:, None, None],
    "fps": np.array(25),
    "units": np.array("m"),
}

# Two joints under other programs' names.
JOINTS: dict[str, Any] = {
    "bone_names": np.array(["Hips", "Chest"]),
    "parent_names": np.array(["", "Hips"]),
    "quaternions": np.tile([0.0, 0, 0, 1], (FRAMES, 2, 1)),
    "positions": np.tile([[0.0, 1, 0], [0, 1.3, 0]], (FRAMES, 1, 1)),
    "framerate": np.array(60.0),
}


def changed(base: dict[str, Any], **arrays: Any) -> bytes:
    """An archive of a good file's arrays with some replaced, or left out where None is given."""
    return archive({name: each for name, each in (base | arrays).items() if each is not None})


_amass, _own = (partial(changed, base) for base in (AMASS, OWN))


def _with(array: np.ndarray, place: Any, value: float) -> np.ndarray:
    out = array.copy()
    out[place] = value
    return out


def _bad_bytes(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def _twice(name: str) -> bytes:
    # The central directory's second mention of another member is renamed.
    other = "x" * len(name)
    content = archive({**AMASS, other: AMASS[name]})
    return content.replace(other.encode(), name.encode())


def _declared(kind: str, shape: str, data: bytes = b"") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    return header(text.ljust(117) + "\n", data)


_GOOD = archive(AMASS)
_FLOATS = AMASS["poses"].tobytes()
_SHAPE = f"({FRAMES}, 156)"
_META = {"format": "deepphase.motion", "version": 1}


def _meta(**values: Any) -> bytes:
    return _own(meta=np.array(json.dumps(_META | values)))


_ARCHIVES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "an empty file"),
    "text": (b"hello world\n", "not an .npz file"),
    "git lfs pointer": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
    "a single array": (member(AMASS["poses"]), "a single .npy array"),
    "pickle": (b"\x80\x04\x95" + bytes(50), "not an .npz file"),
    "gzip": (b"\x1f\x8b\x08" + bytes(50), "not an .npz file"),
    "begins as a zip": (b"PK\x03\x04" + bytes(100), "damaged archive"),
    "empty zip": (archive({}), "without NumPy arrays"),
    "cut in half": (_GOOD[: len(_GOOD) // 2], "damaged archive"),
    "without its directory": (_GOOD[: _GOOD.rindex(b"PK\x01\x02")], "damaged archive"),
    "directory elsewhere": (_GOOD[:-6] + b"\xff\xff\xff\x7f\x00\x00", "damaged archive"),
    "a byte changed in the data": (_bad_bytes(_GOOD, 5000), "Bad CRC"),
    "a byte changed in packed data": (
        _bad_bytes(archive(AMASS, zipfile.ZIP_DEFLATED), 5000),
        "damaged archive",
    ),
    "bomb": (archive({"poses": np.zeros(1 << 22)}, zipfile.ZIP_DEFLATED), "would unpack to"),
    "bzip2": (archive(AMASS, zipfile.ZIP_BZIP2), "a compression that NumPy does not write"),
    "lzma": (archive(AMASS, zipfile.ZIP_LZMA), "a compression that NumPy does not write"),
    "two arrays of a name": (_twice("poses"), "'poses.npy' twice"),
    "thousands of members": (
        archive(dict.fromkeys((f"a{i}" for i in range(1001)), b"")),
        "1,001 files",
    ),
}
_DAMAGED = "is not a NumPy array, or is damaged"
_HEADERS: dict[str, tuple[bytes, str]] = {
    f"header: {name}": (_amass(poses=content), _DAMAGED)
    for name, content in {
        "nothing": b"",
        "text": b"1 2 3 4 5 6 7 8",
        "unknown version": b"\x93NUMPY\x09\x00" + bytes(100),
        "gigabytes": header("{}", length=1 << 31, version=2),
        "cut off": header("{'descr'", length=118),
        "without a shape": header("{'descr': '<f8', 'fortran_order': False}"),
        "code": header("{'descr': '<f8', 'fortran_order': False, 'shape': f()}"),
        "brackets": header("(" * 9000),
        "signs": header("-" * 9000 + "1"),
        "shape of 5000 digits": _declared("<f8", f"({'9' * 5000},)"),
    }.items()
} | {
    "huge array in a small file": (
        _amass(poses=_declared("<f8", "(1000000000, 156)", bytes(64))),
        "1,248,000,000,000 bytes, but holds 64",
    ),
    "array beyond all memory": (
        _amass(poses=_declared("<f8", "(99999999999, 99999999999, 0)")),
        "impossible shape",
    ),
    "negative shape": (_amass(poses=_declared("<f8", "(-1, 156)")), "impossible shape"),
    "forty axes": (_amass(poses=_declared("<f8", f"({'1, ' * 40})")), "impossible shape"),
    "data cut off": (_amass(poses=_declared("<f8", _SHAPE, _FLOATS[:-8])), "but holds"),
    "data too long": (_amass(poses=_declared("<f8", _SHAPE, _FLOATS + b"1")), "but holds"),
    "objects": (_amass(poses=np.array([{}, None], object)), "Python objects"),
    "objects by declaration": (_amass(poses=_declared("|O", "(1, 156)")), "Python objects"),
    "complex numbers": (_amass(poses=AMASS["poses"] + 1j), "not numbers"),
    "records": (_amass(poses=np.zeros((3, 156), [("a", "f8")])), "not numbers"),
    "dates": (_amass(poses=np.zeros((3, 156), "M8[s]")), "not numbers"),
    "text for numbers": (_amass(poses=AMASS["poses"].astype(str)), "holds text, not"),
    "booleans for numbers": (_amass(poses=AMASS["poses"] > 0), "holds booleans, not"),
}
_AMASS_FAULTS: dict[str, tuple[bytes, str]] = {
    "no poses": (_amass(poses=None), "the shape of a body"),
    "no translation": (_amass(trans=None), "no array 'trans'"),
    "two rates": (_amass(mocap_frame_rate=np.array(30.0)), "frame rates that differ"),
    "rate of zero": (_amass(mocap_framerate=np.array(0.0)), "impossible number of frames"),
    "negative rate": (_amass(mocap_framerate=np.array(-60)), "impossible number of frames"),
    "rate of nan": (_amass(mocap_framerate=np.array(np.nan)), "every number is finite"),
    "rates by frame": (_amass(mocap_framerate=np.ones(3)), "expected a single number"),
    "rate of text": (_amass(mocap_framerate=np.array("60")), "holds text, not numbers"),
    "pose nan": (_amass(poses=_with(AMASS["poses"], (7, 8), np.nan)), "nan at poses[7, 8]"),
    "translation infinite": (
        _amass(trans=_with(AMASS["trans"], (3, 2), -np.inf)),
        "-inf at trans[3, 2]",
    ),
    "turn beyond reason": (
        _amass(poses=_with(AMASS["poses"], (5, 12), 1e200)),
        "frame 5, joint 'L_Knee': a rotation of",
    ),
    "translation beyond reason": (
        _amass(trans=_with(AMASS["trans"], (4, 0), 1e9)),
        "frame 4: a translation of 1e+09 m",
    ),
    "poses of 100 columns": (_amass(poses=np.zeros((FRAMES, 100))), "no pose of the SMPL"),
    "poses of matrices": (
        _amass(poses=np.zeros((FRAMES, 52, 3, 3))),
        "matrices that are no rotations",
    ),
    "poses of quaternions": (_amass(poses=np.zeros((FRAMES, 52, 4))), "no pose of the"),
    "poses of one axis": (_amass(poses=np.zeros(156)), "no pose of the SMPL"),
    "no frames": (_amass(poses=np.zeros((0, 156)), trans=np.zeros((0, 3))), "no frames"),
    "fewer translations": (_amass(trans=AMASS["trans"][:-1]), "12 frames of poses, but 11"),
    "flat translation": (_amass(trans=AMASS["trans"][:, :2]), "expected (12, 3)"),
    "parts of other lengths": (
        _amass(poses=None, root_orient=np.zeros((3, 3)), pose_body=np.zeros((FRAMES, 63))),
        "parts of the pose have 3, 12 frames",
    ),
    "body of another model": (
        _amass(poses=None, root_orient=np.zeros((3, 3)), pose_body=np.zeros((3, 60))),
        "'pose_body' is (3, 60)",
    ),
}
_OWN_FAULTS: dict[str, tuple[bytes, str]] = {
    "own without names": (_own(names=None), "no array 'names'"),
    "own names too many": (
        _own(names=np.array([f"j{i}" for i in range(10_001)])),
        "more than 10,000 joints",
    ),
    "own names of numbers": (_own(names=np.arange(2)), "not text"),
    "own names too few": (_own(names=np.array(["Hips"])), "expected (any, 1, 4)"),
    "own names twice": (_own(names=np.array(["A", "A"])), "occur twice: A"),
    "own characters that do not exist": (
        _own(names=_declared("<U1", "(2,)", b"\xff\xff\xff\xff" * 2)),
        "characters that do not exist",
    ),
    "own parents backwards": (_own(parents=np.array([1, -1])), "not the root"),
    "own parents in a circle": (_own(parents=np.array([-1, 1])), "before its parent"),
    "own parents far": (_own(parents=np.array([-1, 99])), "before its parent"),
    "own parents of fractions": (_own(parents=np.array([-1, 0.5])), "not whole"),
    "own rotations not of length one": (
        _own(rotations=np.full((FRAMES, 2, 4), 2.0)),
        "a quaternion of length",
    ),
    "own rotations of zero": (_own(rotations=np.zeros((FRAMES, 2, 4))), "of length 0"),
    "own euler angles": (_own(rotations=np.zeros((FRAMES, 2, 3))), "expected (any, 2, 4)"),
    "own translations of other joints": (
        _own(translated_joints=np.array([0, 1])),
        "expected (12, 2, 3)",
    ),
    "own translated joint far": (_own(translated_joints=np.array([5])), "translated joint"),
    "own ends far": (
        _own(end_parents=np.array([9]), end_offsets=np.zeros((1, 3))),
        "does not exist",
    ),
    "own ends without offsets": (_own(end_parents=np.array([0])), "no array 'end_offsets'"),
    "own without frames": (
        _own(rotations=np.zeros((0, 2, 4)), translations=np.zeros((0, 1, 3))),
        "without frames",
    ),
    "own rate of zero": (_own(fps=np.array(0.0)), "impossible number of frames"),
    "own of a newer version": (_meta(version=2), "version 2 of deepphase.motion"),
    "own of another format": (_meta(format="deepphase.store"), "a deepphase.store file"),
    "own meta of a list": (_own(meta=np.array("[]")), "not a JSON object"),
    "own meta cut off": (_own(meta=np.array('{"format": ')), "is not JSON"),
    "own meta too deep": (_own(meta=np.array("[" * 100_000)), "is not JSON"),
    "own meta with nan": (_own(meta=np.array('{"fps": NaN}')), "is not JSON"),
    "own labels of numbers": (_meta(labels={"style": 3}), "labels"),
    "own name of numbers": (_meta(name=3), "name"),
    "own source of text": (_meta(source="walk.bvh"), "source"),
    "own source with an odd axis": (_meta(source={"up": "w"}), "source"),
    "own source with an odd unit": (_meta(source={"unit_m": "cm"}), "source"),
}
_OTHERS: dict[str, tuple[bytes, str]] = {
    "phases": (
        archive({"phase": np.zeros(3), "meta": np.array('{"format": "deepphase.phases"}')}),
        "a deepphase.phases file, not motion",
    ),
    "body shape": (archive({"betas": np.zeros(16), "gender": np.array("male")}), "without its"),
    "foreign arrays": (archive({"arr_0": np.zeros(3)}), "no motion: the file holds arr_0"),
    "many foreign arrays": (
        archive({f"x{i}" * 50: np.zeros(1) for i in range(30)}),
        "no motion: the file holds",
    ),
}


def _as_amass(clip: Clip) -> bool:
    expected = np.stack([AMASS["trans"][:, 0], AMASS["trans"][:, 2], -AMASS["trans"][:, 1]], axis=1)
    return (
        len(clip) == FRAMES
        and clip.fps == 60.0
        and clip.skeleton.names[0] == "Pelvis"
        and bool(np.allclose(clip.translations[:, 0], expected, atol=1e-6))
    )


def _as_own(clip: Clip) -> bool:
    return clip.skeleton.names == ("Hips", "Chest") and len(clip) == FRAMES and clip.fps == 60.0


_ODD: dict[str, Odd] = {
    "amass": Odd(_GOOD, _as_amass, "generic rest skeleton"),
    "amass packed": Odd(archive(AMASS, zipfile.ZIP_DEFLATED), _as_amass),
    "amass behind other bytes": Odd(b"PK" + bytes(30) + _GOOD, _as_amass),
    "amass with a comment": Odd(_GOOD[:-2] + struct.pack("<H", 5) + b"hello", _as_amass),
    "amass in float32": Odd(_amass(poses=AMASS["poses"].astype("f4")), _as_amass),
    "amass big-endian": Odd(_amass(poses=AMASS["poses"].astype(">f8")), _as_amass),
    "amass by columns": Odd(_amass(poses=np.asfortranarray(AMASS["poses"])), _as_amass),
    "amass by joints": Odd(_amass(poses=AMASS["poses"].reshape(FRAMES, 52, 3)), _as_amass),
    "amass of version 2": Odd(_amass(poses=member(AMASS["poses"], (2, 0))), _as_amass),
    "amass of python 2": Odd(
        _amass(poses=_declared("<f8", f"({FRAMES}L, 156L)", _FLOATS)), _as_amass
    ),
    "amass of a terse writer": Odd(
        _amass(
            poses=header(f'{{"shape":({FRAMES},156),"fortran_order":False,"descr":"<f8"}}', _FLOATS)
        ),
        _as_amass,
    ),
    "amass gender in bytes": Odd(_amass(gender=np.array(b"male")), _as_amass, "'male'"),
    "amass gender of objects": Odd(_amass(gender=np.array([None])), _as_amass),
    "amass with objects beside it": Odd(_amass(labels=np.array([{}])), _as_amass),
    "amass with other files beside it": Odd(_amass(**{"a/b": b"not an array"}), _as_amass),
    "amass rate in a matrix": Odd(_amass(mocap_framerate=np.array([[60]])), _as_amass),
    "amass without shape": Odd(_amass(betas=None, gender=None), _as_amass),
    "amass at rest": Odd(
        _amass(poses=np.zeros((FRAMES, 66))), lambda clip: bool(np.isfinite(clip.rotations).all())
    ),
    "amass of one frame": Odd(
        _amass(poses=AMASS["poses"][:1], trans=AMASS["trans"][:1]), lambda clip: len(clip) == 1
    ),
    "own": Odd(archive(OWN), _as_own),
    "own without meta": Odd(_own(meta=None), _as_own),
    "own with whole offsets": Odd(_own(offsets=np.array([[0, 1, 0], [0, 2, 0]])), _as_own),
    "own parents as floats": Odd(_own(parents=np.array([-1.0, 0.0])), _as_own),
    "own names in bytes": Odd(_own(names=np.array([b"Hips", b"Chest"])), _as_own),
    "own in float16": Odd(_own(rotations=OWN["rotations"].astype("f2")), _as_own),
    "points": Odd(archive(POINTS), lambda clip: len(clip.skeleton) == 4 and clip.fps == 25.0),
}

CASES: dict[str, Bad | Odd] = {
    **{
        name: Bad(content, reason)
        for group in (_ARCHIVES, _HEADERS, _AMASS_FAULTS, _OWN_FAULTS, _OTHERS)
        for name, (content, reason) in group.items()
    },
    **{f"{name} (read)": case for name, case in _ODD.items()},
}
