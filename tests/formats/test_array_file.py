"""The container: what goes in comes out, and whatever is wrong is said before it is used."""

from __future__ import annotations

import hashlib
import json
import struct

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from deepphase.errors import CheckpointError, ParameterError
from deepphase.formats import array_file
from deepphase.formats.array_file import map_arrays, read_arrays, read_header, write_arrays
from tests.hostile.mutations import signed_array_file

FORMAT = {"format": "deepphase.test", "version": 2}


def sample_arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "weights": rng.normal(size=(5, 3, 4)).astype(np.float32),
        "flags": np.array([True, False, True]),
        "counts": np.arange(7),
        "small": np.arange(5, dtype=np.int8),
        "scalar": np.float64(0.25),
        "empty": np.zeros((100_000, 0, 3), np.float32),
        "half": np.linspace(0, 1, 3, dtype=np.float16),
    }


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "some.model"
    write_arrays(path, sample_arrays(), {"names": ["Hüfte", "knee"], "rate": 60.0}, **FORMAT)
    return path


def test_arrays_and_header_come_back(file):
    arrays, header = read_arrays(file, **FORMAT)
    assert arrays.keys() == sample_arrays().keys()
    for name, expected in sample_arrays().items():
        assert arrays[name].dtype == expected.dtype
        np.testing.assert_array_equal(arrays[name], expected, strict=True)
        assert len(header["sha256"][name]) == 64
    assert header["names"] == ["Hüfte", "knee"]
    assert header["rate"] == 60.0
    assert read_header(file) == header


@settings(max_examples=40)
@given(
    array=numpy_strategies.arrays(
        dtype=st.one_of(
            numpy_strategies.integer_dtypes(endianness="?"),
            numpy_strategies.unsigned_integer_dtypes(endianness="?"),
            numpy_strategies.boolean_dtypes(),
            numpy_strategies.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
        ),
        shape=numpy_strategies.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6),
        elements={"allow_nan": False, "allow_infinity": False},
    ),
    transposed=st.booleans(),
)
def test_any_array_comes_back(tmp_path_factory, array, transposed):
    array = array.T if transposed else array
    path = tmp_path_factory.mktemp("any") / "file"
    write_arrays(path, {"array": array, "other": np.arange(3, dtype=np.int8)}, {}, **FORMAT)
    read, _ = read_arrays(path, **FORMAT)
    mapped, _ = map_arrays(path, **FORMAT)
    for result in (read["array"], mapped["array"]):
        np.testing.assert_array_equal(result, array)
        assert result.shape == array.shape
        assert result.dtype == array.dtype.newbyteorder("<")


def test_the_safetensors_package_reads_it_and_we_read_what_it_writes(file, tmp_path):
    theirs = safetensors.numpy.load_file(file)
    for name, expected in sample_arrays().items():
        np.testing.assert_array_equal(theirs[name], expected)
    with safetensors.safe_open(file, "np") as opened:
        metadata = opened.metadata()
    assert json.loads(metadata["deepphase"])["names"] == ["Hüfte", "knee"]
    again = tmp_path / "again"
    safetensors.numpy.save_file(theirs, again, metadata)
    ours, header = read_arrays(again, **FORMAT)
    np.testing.assert_array_equal(ours["weights"], sample_arrays()["weights"])
    assert header["rate"] == 60.0


def test_maps_are_lazy_read_only_and_aligned(file):
    arrays, _ = map_arrays(file, **FORMAT)
    for name, expected in sample_arrays().items():
        assert isinstance(arrays[name], np.memmap) or not expected.size
        assert arrays[name].flags.aligned
        assert not arrays[name].flags.writeable
        np.testing.assert_array_equal(arrays[name], expected)
    only, _ = map_arrays(file, prefix="w", **FORMAT)
    assert list(only) == ["weights"]


def test_data_larger_than_a_piece_is_streamed(tmp_path, monkeypatch):
    monkeypatch.setattr(array_file, "_CHUNK_BYTES", 64)
    spool = np.memmap(tmp_path / "spool", np.float32, "w+", shape=(50, 7))
    spool[:] = np.arange(350).reshape(50, 7)
    write_arrays(tmp_path / "file", {"spool": spool}, {}, **FORMAT)
    arrays, _ = read_arrays(tmp_path / "file", **FORMAT)
    np.testing.assert_array_equal(arrays["spool"], spool)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_by_name(tmp_path, bad):
    path = tmp_path / "file"
    with pytest.raises(ParameterError, match="'weights'"):
        write_arrays(path, {"weights": np.array([1.0, bad])}, {}, **FORMAT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("array", "header"),
    [
        (np.array(["text"]), {}),
        (np.array([object()]), {}),
        (np.zeros(2, complex), {}),
        (np.zeros(2), {"rate": float("nan")}),
        (np.zeros(2), {"thing": object()}),
        (np.zeros(2), {"name": "\udcff"}),
    ],
)
def test_what_the_format_cannot_hold_is_refused(tmp_path, array, header):
    with pytest.raises(ParameterError):
        write_arrays(tmp_path / "file", {"array": array}, header, **FORMAT)
    assert list(tmp_path.iterdir()) == []


class Unwilling(np.ndarray):
    """An array whose second half cannot be had."""

    def __getitem__(self, key):
        if isinstance(key, slice) and key.start:
            raise KeyboardInterrupt
        return super().__getitem__(key)


def test_an_interrupted_write_leaves_the_older_file_and_nothing_else(file, monkeypatch):
    before = file.read_bytes()
    monkeypatch.setattr(array_file, "_CHUNK_BYTES", 64)
    with pytest.raises(KeyboardInterrupt):
        write_arrays(file, {"array": np.zeros(1000).view(Unwilling)}, {}, **FORMAT)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_format_and_version_are_checked(file):
    with pytest.raises(CheckpointError, match=r"this is a deepphase\.test, not a deepphase\.store"):
        read_arrays(file, format="deepphase.store", version=2)
    with pytest.raises(CheckpointError, match="newer deepphase"):
        map_arrays(file, format="deepphase.test", version=1)
    assert read_header(file, "deepphase.test", 3)["version"] == 2


def test_what_is_no_file_of_ours_is_refused(tmp_path):
    foreign = tmp_path / "file"
    cases = [
        b"",
        b"HIERARCHY\nROOT Hips\n",
        struct.pack("<Q", 1 << 60) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 4) + b"null",
        struct.pack("<Q", 99_000_000) + b"{",
        struct.pack("<Q", 100_000) + b"[" * 100_000,
    ]
    for data in cases:
        foreign.write_bytes(data)
        with pytest.raises(CheckpointError, match="not a deepphase file"):
            read_header(foreign)
    safetensors.numpy.save_file({"a": np.zeros(3)}, foreign)
    with pytest.raises(CheckpointError, match="not a deepphase file"):
        read_header(foreign)
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_header(tmp_path / "missing")
    with pytest.raises(CheckpointError, match=r"this is a folder\n.*deepphase prepare"):
        read_header(tmp_path)


def forged(path, rows, data=b"\0" * 24):
    """A file with these rows whose own hashes are right: what an attacker would write."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name in rows}
    path.write_bytes(signed_array_file({**FORMAT, "sha256": hashes}, rows, data))
    return path


@pytest.mark.parametrize(
    "row",
    [
        {"dtype": "F64", "shape": [4], "data_offsets": [0, 24]},
        {"dtype": "F64", "shape": [3], "data_offsets": [8, 32]},
        {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]},
        {"dtype": "F64", "shape": [-3], "data_offsets": [0, 24]},
        {"dtype": "F64", "shape": [3.0], "data_offsets": [0, 24]},
        {"dtype": "F64", "shape": [True, 3], "data_offsets": [0, 24]},
        {"dtype": "F64", "shape": 3, "data_offsets": [0, 24]},
        {"dtype": "F64", "shape": [3] + [1] * 40, "data_offsets": [0, 24]},
        {"dtype": "F64", "shape": [0, 1 << 40, 1 << 40], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [1 << 61, 8], "data_offsets": [0, 24]},
        {"dtype": "object", "shape": [3], "data_offsets": [0, 24]},
        {"dtype": ["F64"], "shape": [3], "data_offsets": [0, 24]},
        {"dtype": "F64", "shape": [3], "data_offsets": [0]},
        {"dtype": "F64", "shape": [3]},
        "row",
    ],
)
def test_forged_tables_are_refused_before_anything_is_allocated(tmp_path, row):
    for read in (read_arrays, map_arrays):
        with pytest.raises(CheckpointError, match="damaged"):
            read(forged(tmp_path / "file", {"array": row}), **FORMAT)


def test_overlapping_arrays_are_refused(tmp_path):
    row = {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]}
    with pytest.raises(CheckpointError, match="damaged"):
        read_arrays(forged(tmp_path / "file", {"a": row, "b": row}), **FORMAT)


def test_forged_values_are_refused(tmp_path):
    nan = {"array": {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]}}
    with pytest.raises(CheckpointError, match="'array' has values that are not finite"):
        read_arrays(forged(tmp_path / "nan", nan, np.full(3, np.nan).tobytes()), **FORMAT)
    flags = {"array": {"dtype": "BOOL", "shape": [24], "data_offsets": [0, 24]}}
    with pytest.raises(CheckpointError, match="booleans"):
        map_arrays(forged(tmp_path / "bool", flags, b"\2" * 24), **FORMAT)
