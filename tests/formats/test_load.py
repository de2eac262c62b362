"""Formats by suffix."""

import numpy as np
import pytest

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.load import load, save
from tests.formats.bvh_text import two_joints, written


def test_suffix_tells_the_format_in_any_case(tmp_path):
    path = written(tmp_path, two_joints(), "CLIP.BVH")
    clip = load(path, unit="cm", up="y")
    save(clip, tmp_path / "again.bvh", decimals=9)
    again = load(tmp_path / "again.bvh", unit="cm", up="y")
    np.testing.assert_allclose(again.translations, clip.translations, atol=1e-9)
    assert clip.name == "CLIP"


@pytest.mark.parametrize("name", ["clip.fbx", "clip", "clip.bvh.gz"])
def test_unknown_suffix_lists_the_known_ones(tmp_path, name):
    path = written(tmp_path, two_joints(), name)
    with pytest.raises(FormatError, match=r"\.bvh"):
        load(path)


def test_unknown_option_lists_the_known_ones(tmp_path):
    path = written(tmp_path, two_joints())
    with pytest.raises(ParameterError, match="allow_truncated"):
        load(path, scale=2.0)
