"""Archives of ours that are damaged anywhere are refused, or their content is the same."""

import io
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from deepphase.errors import FormatError
from deepphase.formats.load import load, save
from deepphase.formats.points import load_points
from deepphase.phase.phase_file import load_phases, save_phases
from deepphase.synthetic.truth_file import Truth
from tests.compatibility.test_formats import _FILES as FILES

_EVERY_BIT = 97
_FRAMES = 6


def _motion(path: Path) -> None:
    save(load(FILES / "motion.npz").sliced(0, _FRAMES), path)


def _phases(path: Path) -> None:
    phases, _ = load_phases(FILES / "walk_1.phases.npz")
    short = type(phases)(phases.parameters[:_FRAMES], phases.interior[:_FRAMES], 60.0, "a", "b")
    save_phases(short, path, window_s=1.0, model_sha256="")


def _truth(path: Path) -> None:
    truth = Truth.load(FILES / "walk_1.truth.npz")
    names = ("phase", "frequency", "contacts", "gait")
    parts = [getattr(truth, name)[:_FRAMES] for name in names]
    Truth(truth.clip, truth.fps, truth.limb_names, truth.gait_names, *parts).save(path)


def _content(value: object) -> object:
    """All that an object holds, as values that can be compared."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, (tuple, list)):
        return [_content(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _content(getattr(value, name)) for name in value.__dataclass_fields__}
    return repr(value)


KINDS = {
    "motion.npz": (_motion, load),
    "a.phases.npz": (_phases, load_phases),
    "a.truth.npz": (_truth, Truth.load),
}


@pytest.mark.parametrize("name", KINDS)
def test_flips_and_cuts(name, tmp_path):
    write, read = KINDS[name]
    path = tmp_path / name
    write(path)
    whole = path.read_bytes()
    expected = _content(read(path))
    damaged = [whole[:stop] for stop in range(0, len(whole), max(len(whole) // 40, 1))]
    for bit in range(5, 8 * len(whole), _EVERY_BIT):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(content))
    refused = 0
    for content in damaged:
        path.write_bytes(content)
        try:
            found = _content(read(path))
        except FormatError:
            refused += 1
            continue
        assert found == expected
    assert refused > len(damaged) // 2


def _renamed(content: bytes, old: str, new: str) -> bytes:
    assert len(old) == len(new)
    return content.replace(old.encode(), new.encode())


@pytest.mark.parametrize("member", ["end_parents", "translated_joints", "meta", "fps"])
def test_a_member_under_another_name_is_refused(member, tmp_path):
    path = tmp_path / "motion.npz"
    _motion(path)
    path.write_bytes(_renamed(path.read_bytes(), f"{member}.npy", f"{member[:-1]}_.npy"))
    with pytest.raises(FormatError, match="its members are not those that were written"):
        load(path)


def test_files_without_a_checksum_are_read(tmp_path):
    path = tmp_path / "motion.npz"
    _motion(path)
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


@pytest.mark.parametrize("read", [load_phases, Truth.load])
def test_bombs_are_not_unpacked(read, tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        content = io.BytesIO()
        np.save(content, np.zeros(2_500_000))
        archive.writestr("phase.npy", content.getvalue())
    with pytest.raises(FormatError, match="would unpack to"):
        read(path)
    huge = b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f8', 'fortran_order': False, "
    huge += b"'shape': (15000000000,), }"
    shutil.copy(FILES / "walk_1.phases.npz", path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("meta.npy", huge.ljust(128) + b" " * 8)
    with pytest.raises(FormatError):
        read(path)
