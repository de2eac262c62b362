"""Every odd and bad file gets its verdict."""

import pytest

from tests.hostile import bvh_cases, glb_cases, npz_cases
from tests.hostile.case import check

_CASES = {
    (suffix, name): case
    for suffix, cases in (("bvh", bvh_cases), ("npz", npz_cases), ("glb", glb_cases))
    for name, case in cases.CASES.items()
}


@pytest.mark.parametrize(("suffix", "name"), _CASES)
def test_the_verdict(suffix, name, tmp_path):
    case = _CASES[suffix, name]
    is_text = suffix == "glb" and case.content.lstrip(b"\xef\xbb\xbf \t\n").startswith(b"{")
    check(case, tmp_path / f"clip.{'gltf' if is_text else suffix}")
