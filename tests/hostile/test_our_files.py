"""Files of ours: damage and headers that were written by hand."""

import hashlib
import io
import json
import math
import random
import zipfile

import numpy as np
import pytest
from PIL import Image

from deepphase.errors import CheckpointError, DeepPhaseError, FormatError
from deepphase.files import temporary_folder
from deepphase.formats import array_file
from deepphase.formats.load import load, save
from deepphase.formats.points import load_points
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search import searcher
from deepphase.matching.search.searcher import open_searcher
from tests.compatibility.test_formats import _FILES as FILES
from tests.formats.bvh_text import JOINT_CHANNELS, bvh_text
from tests.hostile.kinds import KINDS
from tests.hostile.mutations import (
    ARRAY_FILE,
    archive_members,
    array_file_parts,
    changed_bytes,
    signed_array_file,
)
from tests.hostile.npz_cases import archive, header
from tests.hostile.test_fuzz import CASES, bounds
from tests.music.made_sounds import file_bytes

# Kind -> places of values in its header.
_FIELDS = {
    "store": "fps groups/0/joints groups/0/frames groups/0/clips/0/source/unit_m",
    "model": "signals/fps signals/joints config/network signals/partners/0",
    "contact phases": "signals/fps",
    "controller": "schema/fps schema/joints schema/feet/0 skeleton/names skeleton/names/0",
    "dancer": "schema/fps",
    "database": "fps version clips/0/store layout",
}


@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name in _FIELDS for place in _FIELDS[name].split()]
)
def test_impossible_values_are_refused(name, place, tmp_path):
    place = [int(key) if key.isdecimal() else key for key in place.split("/")]
    kind = KINDS[name]
    (whole,) = kind.examples(tmp_path)
    path = tmp_path / f"input{kind.suffix}"
    values = [1e308, -5, math.nan, 10**30, None, True, "60", [], [1], {}]
    if place[-1] == "fps":
        values += [0, 0.001, 1e6]
    for value in values:
        header, rows, data = array_file_parts(whole)
        holder = header
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = value
        path.write_bytes(signed_array_file(header, rows, data))
        with pytest.raises(CheckpointError):
            kind.read(path)


@pytest.mark.parametrize(
    ("name", "array", "value"),
    [
        ("store", "Hips-25/offsets", 1e200),
        ("controller", "skeleton.end_offsets", 1e200),
        ("matcher", "skeleton.offsets", 1e200),
        ("matcher", "features.step", 1e37),
        ("matcher", "latents.step", -1e37),
        ("matcher", "kinds.lengths", 10**10),
        ("matcher", "counts", 1 << 62),
    ],
)
def test_impossible_numbers_in_arrays_are_refused(name, array, value, tmp_path):
    kind = KINDS[name]
    (whole,) = kind.examples(tmp_path)
    header, rows, data = array_file_parts(whole)
    begin, end = rows[array]["data_offsets"]
    values = np.frombuffer(data[begin:end], array_file.DTYPES[rows[array]["dtype"]]).copy()
    values[-1] = value
    header["sha256"][array] = hashlib.sha256(values.tobytes()).hexdigest()
    path = tmp_path / f"input{kind.suffix}"
    path.write_bytes(signed_array_file(header, rows, data[:begin] + values.tobytes() + data[end:]))
    with np.errstate(all="raise"), pytest.raises(CheckpointError):
        kind.read(path)


_ARRAY_FILES = [n for n, kind in KINDS.items() if kind.changes is ARRAY_FILE and not kind.slow]


@pytest.mark.parametrize("name", _ARRAY_FILES)
def test_arrays_of_another_type_are_refused(name, tmp_path):
    kind = KINDS[name]
    (whole,) = kind.examples(tmp_path)
    path = tmp_path / f"input{kind.suffix}"
    other = {"F16": "I16", "F32": "I32", "F64": "I64", "I64": "U64", "BOOL": "U8"}
    other |= {"U8": "I8", "I8": "U8"}
    for array in array_file_parts(whole)[1]:
        header, rows, data = array_file_parts(whole)
        rows[array]["dtype"] = other[rows[array]["dtype"]]
        path.write_bytes(signed_array_file(header, rows, data))
        with pytest.raises(CheckpointError):
            kind.read(path)


@pytest.mark.parametrize("index", ["exact", "HNSW16"])
def test_a_damaged_index_is_built_again_with_a_word(index, tmp_path, monkeypatch):
    database = MotionDatabase.load(FILES / "motion.db")
    path = tmp_path / "index"
    built = open_searcher(database, index, cache=path)
    whole, generator = path.read_bytes(), random.Random(0)
    write = monkeypatch.setattr
    write(type(built), "build", lambda *_, **__: built, raising=False)
    write(searcher, "write_arrays", lambda *_, **__: None)
    for _ in range(CASES):
        path.write_bytes(changed_bytes(generator, whole, whole))
        notes: list[str] = []
        assert open_searcher(database, index, cache=path, note=notes.append) is built
        assert "is not used and built again" in notes[0]


@pytest.mark.parametrize("member", ["end_parents", "translated_joints", "meta", "fps"])
def test_a_member_under_another_name_is_refused(member, tmp_path):
    path = tmp_path / "motion.npz"
    save(load(FILES / "motion.npz").sliced(0, 6), path)
    content = path.read_bytes()
    path.write_bytes(content.replace(f"{member}.npy".encode(), f"{member[:-1]}_.npy".encode()))
    with pytest.raises(FormatError, match="its members are not those that were written"):
        load(path)


def test_files_without_a_checksum_are_read(tmp_path):
    path = tmp_path / "motion.npz"
    save(load(FILES / "motion.npz").sliced(0, 6), path)
    expected = load(path)
    with np.load(path) as content:
        arrays = dict(content)
    assert zipfile.ZipFile(FILES / "motion.npz").comment == b""
    # An edited copy.
    arrays["offsets"] = 2 * arrays["offsets"]
    np.savez(path, **arrays)
    np.testing.assert_array_equal(load(path).skeleton.offsets, 2 * expected.skeleton.offsets)
    plain = tmp_path / "points.npz"
    np.savez(plain, positions=np.ones((9, 3, 3)), fps=60.0)
    assert len(load_points(plain)) == 9


def _free_texts():
    """An archive whose 30,000,000 texts have no letters, and no bytes."""
    texts = header("{'descr': '<U0', 'fortran_order': False, 'shape': (30000000,), }")
    return archive({"positions": np.ones((9, 3, 3)), "fps": 60.0, "names": texts})


def _zeros():
    """An archive of 20 kB that unpacks to 20 MB."""
    return archive({"meta": np.zeros(2_500_000)}, zipfile.ZIP_DEFLATED)


def _free_rows():
    """Three million rows of nothing in Parquet."""
    import pyarrow
    from pyarrow import parquet

    content = io.BytesIO()
    parquet.write_table(pyarrow.table({"name": pyarrow.nulls(3_000_000, "string")}), content)
    return content.getvalue()


def _free_curves():
    """Thirty controls that rest for ten million frames."""
    rest = {"unit": "1", "values": [0.0]}
    content = {"format": "deepphase.keys", "version": 1, "fps": 60.0, "frames": 10_000_000}
    content |= {"placement": {key: [0.0] for key in ("x", "z", "turn")}}
    return json.dumps(content | {"controls": {f"c{i}": rest for i in range(30)}}).encode()


def _nested(line):
    """Eight values, each of nine times the one before."""
    return "a0: &a0 {up: y}\n" + "".join(
        line.format(i, ", ".join([f"*a{i - 1}"] * 9)) for i in range(1, 9)
    )


def _free_joints():
    """A store that declares the joints of 3,000,000,000,000 clips."""
    joints = header("{'descr': '<f8', 'fortran_order': False, 'shape': (3000000000000, 25, 3), }")
    with temporary_folder() as folder:
        (content,) = KINDS["store in a folder"].examples(folder)
    return archive({**archive_members(content), "Hips-25/offsets": joints})


def _still_joints():
    """A body of 3,000 joints without channels, and frames of three numbers."""
    still = [(f"j{i}", 0, (0, 1, 0), []) for i in range(3000)]
    root = ("r", -1, (0, 0, 0), JOINT_CHANNELS)
    return bvh_text([root, *still], np.zeros((9000, 3))).encode()


def _image(mode, side):
    content = io.BytesIO()
    Image.new(mode, (side, side)).save(content, "PNG")
    return content.getvalue()


_BOMBS = {
    "channels": ("bvh", _still_joints),
    "image": ("ground image", lambda: _image("L", 4200)),
    "holes": ("ground image", lambda: _image("LA", 3000)),
    "silence": (
        "sound",
        lambda: file_bytes(np.zeros(1_200_000, np.int16), 1000, format="FLAC"),
    ),
    "joints": ("store in a folder", _free_joints),
    "points": ("npz", _free_texts),
    "phases": ("phases", _zeros),
    "heights": ("ground", _zeros),
    "rows": ("labels in Parquet", _free_rows),
    "curves": ("rig keys", _free_curves),
    "objects": ("rig keys", lambda: b'{"format": [' + b"[]," * 300_000 + b"0]}"),
    "deep": ("rig keys", lambda: b'{"format": ' + b"[" * 20_000),
    "large": ("rig keys", lambda: _free_curves().replace(b"10000000", b"9" * 400)),
    "merges": ("settings", lambda: _nested("a{0}: &a{0}\n  <<: [{1}]\n").encode()),
    "aliases": ("phase config", lambda: _nested("a{0}: &a{0} [{1}]\n").encode()),
    "long": ("description", lambda: b"a: [" + b"[1, 2], " * 100_000),
}


@pytest.mark.parametrize("name", _BOMBS)
def test_small_files_of_much_are_refused_in_a_moment(name, tmp_path):
    of_kind, content = _BOMBS[name]
    kind = KINDS[of_kind]
    path = tmp_path / f"input{kind.suffix}"
    path.write_bytes(kind.examples(tmp_path)[0])
    kind.read(path)
    path.write_bytes(content())
    with pytest.raises(DeepPhaseError), bounds(path.stat().st_size, seconds=0.5):
        kind.read(path)
