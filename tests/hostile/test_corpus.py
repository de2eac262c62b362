"""Every odd and bad file gets its verdict."""

import pytest

from tests.hostile import bvh_cases, glb_cases, npz_cases
from tests.hostile.case import check


@pytest.mark.parametrize("name", bvh_cases.CASES)
def test_bvh(tmp_path, name):
    check(bvh_cases.CASES[name], tmp_path / "clip.bvh")


@pytest.mark.parametrize("name", npz_cases.CASES)
def test_npz(tmp_path, name):
    check(npz_cases.CASES[name], tmp_path / "clip.npz")


@pytest.mark.parametrize("name", glb_cases.CASES)
def test_glb(tmp_path, name):
    case = glb_cases.CASES[name]
    is_text = case.content.lstrip(b"\xef\xbb\xbf \t\n").startswith(b"{")
    check(case, tmp_path / ("clip.gltf" if is_text else "clip.glb"))
