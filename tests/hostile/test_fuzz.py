"""Changed files of every kind are read or refused, and the search sees what it looks for.

DEEPPHASE_HOSTILE_CASES is the number of changed files of each kind, 24 by default, and
DEEPPHASE_HOSTILE_SEED the number of the first.
"""

import os
import random

import numpy as np
import pytest

from deepphase.errors import DeepPhaseError
from tests.hostile import fuzz
from tests.hostile.kinds import KINDS
from tests.hostile.mutations import changed_bytes

CASES = int(os.environ.get("DEEPPHASE_HOSTILE_CASES", "24"))
SEED = int(os.environ.get("DEEPPHASE_HOSTILE_SEED", "0"))


def _names(hashed: bool = False) -> list:
    return [
        pytest.param(name, marks=pytest.mark.slow) if kind.slow else name
        for name, kind in KINDS.items()
        if kind.hashed or not hashed
    ]


@pytest.mark.parametrize("name", _names())
def test_changed_files_are_read_or_refused(name, tmp_path):
    tally = fuzz.fuzz(KINDS[name], CASES, SEED, tmp_path / "kept")
    print(f"{name}: {tally}")
    assert not tally.kept, tally.kept[0].with_suffix(".txt").read_text()
    # Changes that break every file, or none, test little.
    assert tally.counts["refused"] > 0


@pytest.mark.parametrize("name", _names(hashed=True))
def test_a_change_of_a_hashed_file_is_refused_or_changes_nothing(name, tmp_path):
    kind, generator = KINDS[name], random.Random(SEED)
    (whole,) = kind.examples(tmp_path)
    path = tmp_path / f"input{kind.suffix}"
    path.write_bytes(whole)
    expected, refused = _content(kind.read(path)), 0
    for _ in range(CASES):
        path.write_bytes(changed_bytes(generator, whole, whole))
        try:
            assert _content(kind.read(path)) == expected
        except DeepPhaseError:
            refused += 1
    assert refused > CASES // 2
    # All bytes of array files count; archives have some that do not.
    assert refused == CASES or kind.suffix.endswith(".npz")


def _content(value: object) -> object:
    """All that an object holds, as values that can be compared."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, (tuple, list)):
        return [_content(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _content(getattr(value, name)) for name in value.__dataclass_fields__}
    return repr(value)
