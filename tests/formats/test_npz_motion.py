"""Our own motion file: what is written is what is read."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.bvh.reader import load_bvh
from deepphase.formats.load import load, save
from deepphase.formats.npz.archive import read_npz, write_npz
from deepphase.formats.npz.motion import load_npz_motion, save_npz_motion
from deepphase.motion.clip import Clip, Source
from deepphase.motion.skeleton import Skeleton
from tests.formats.bvh_text import two_joints, written

LABEL = st.text(max_size=8)


@st.composite
def clips(draw):
    joints, frames = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    name = st.text(min_size=1, max_size=6).filter(lambda text: not text.endswith("\0"))
    names = draw(st.lists(name, min_size=joints, max_size=joints, unique=True))
    parents = [-1, *(draw(st.integers(0, joint - 1)) for joint in range(1, joints))]
    ends = draw(st.integers(0, 3))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    rotations = random.normal(size=(frames, joints, 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    moving = sorted({0, *draw(st.sets(st.integers(0, joints - 1)))})
    finite = arrays.arrays(dtype, (frames, len(moving), 3), elements=st.floats(-100, 100, width=32))
    return Clip(
        Skeleton(
            tuple(names),
            np.array(parents),
            random.normal(size=(joints, 3)),
            random.integers(0, joints, ends),
            random.normal(size=(ends, 3)),
        ),
        rotations.astype(dtype),
        draw(finite),
        draw(st.floats(1, 500)),
        np.array(moving),
        draw(st.dictionaries(LABEL, LABEL, max_size=3)),
        Source(draw(LABEL), 0.01, "z", 120.0, ("ZXY",) * joints, (draw(LABEL),)),
        draw(LABEL),
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(clips())
def test_round_trip_is_exact(tmp_path_factory, clip):
    path = tmp_path_factory.mktemp("clip") / "clip.npz"
    save_npz_motion(clip, path)
    again = load_npz_motion(path)
    assert again.rotations.dtype == clip.rotations.dtype
    for name in ("rotations", "translations", "translated_joints"):
        np.testing.assert_array_equal(getattr(again, name), getattr(clip, name))
    for name in ("fps", "labels", "source", "name"):
        assert getattr(again, name) == getattr(clip, name)
    for name in ("parents", "offsets", "end_parents", "end_offsets"):
        np.testing.assert_array_equal(getattr(again.skeleton, name), getattr(clip.skeleton, name))
    assert again.skeleton.names == clip.skeleton.names
    first = path.read_bytes()
    save_npz_motion(again, path)
    assert path.read_bytes() == first


@pytest.fixture
def clip(tmp_path):
    return load_bvh(written(tmp_path, two_joints()), unit="cm", up="y")


def test_numpy_alone_reads_it(tmp_path, clip):
    save(clip, tmp_path / "clip.npz")
    with np.load(tmp_path / "clip.npz", allow_pickle=False) as content:
        assert content["names"].tolist() == ["Hips", "Chest"]
        np.testing.assert_array_equal(content["rotations"], clip.rotations)
        meta = json.loads(str(content["meta"]))
    assert (meta["format"], meta["version"]) == ("deepphase.motion", 1)
    assert "x, y, z, w" in meta["conventions"]


def test_files_of_other_hands_may_lack_what_can_be_assumed(tmp_path, clip):
    path = tmp_path / "clip.npz"
    whole = {"names": clip.skeleton.names, "parents": clip.skeleton.parents}
    whole |= {"offsets": clip.skeleton.offsets, "rotations": clip.rotations}
    write_npz(path, {**whole, "translations": clip.translations, "fps": 25})
    again = load(path)
    assert (again.name, again.fps, again.translated_joints.tolist()) == ("clip", 25.0, [0])
    write_npz(path, {**whole, "translations": clip.translations})
    with pytest.raises(FormatError, match="no frame rate"):
        load(path)
    assert load(path, fps=10).fps == 10.0


def test_what_cannot_be_stored_is_refused_before_anything_is_written(tmp_path, clip):
    path = tmp_path / "clip.npz"
    for names, message in ((("Hips\0", "Chest"), "null"), (("\ud800", "Chest"), "no file")):
        with pytest.raises(ParameterError, match=message):
            save(replace(clip, skeleton=replace(clip.skeleton, names=names)), path)
    for value, message in ((np.nan, "not finite"), (1j, "cannot be stored"), (None, "object")):
        with pytest.raises(ParameterError, match=message):
            write_npz(path, {"value": value})
    with pytest.raises(ParameterError, match=r"\.npz files have no option 'decimals'"):
        save(clip, path, decimals=3)
    assert not path.exists()


@settings(max_examples=60)
@given(
    array=arrays.arrays(
        arrays.scalar_dtypes().filter(lambda dtype: dtype.kind in "biufU"),
        arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    ),
    order=st.sampled_from("CF"),
)
def test_arrays_of_numpy_are_read_as_numpy_reads_them(tmp_path_factory, array, order):
    path = tmp_path_factory.mktemp("array") / "array.npz"
    np.savez(path, value=np.asarray(array, order=order))
    archive = read_npz(path)
    assert archive.shape("value") == array.shape
    kind = array.dtype.kind
    if kind == "U":
        if not any(0xD800 <= ord(letter) < 0xE000 for text in array.flat for letter in text):
            assert archive.strings("value") == tuple(array.reshape(-1).tolist())
    elif kind == "b":
        np.testing.assert_array_equal(archive.array("value", kind="bool"), array)
    elif np.isfinite(array).all():
        found = archive.array("value")
        assert found.dtype in (np.float32, np.float64)
        np.testing.assert_array_equal(found, array.astype(found.dtype))
    else:
        with pytest.raises(FormatError, match="every number is finite"):
            archive.array("value")
