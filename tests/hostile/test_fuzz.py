"""Changed files of every kind are read or refused, and the search sees what it looks for.

DEEPPHASE_HOSTILE_CASES is the number of changed files of each kind, 24 by default, and
DEEPPHASE_HOSTILE_SEED the number of the first.
"""

import os
import random
import warnings
from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import DeepPhaseError
from tests.hostile import fuzz, mutations
from tests.hostile.kinds import KINDS, Kind
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


def test_an_input_is_made_from_its_number_alone(tmp_path):
    seen = []
    kind = replace(KINDS["npz"], read=lambda path: seen.append(path.read_bytes()))
    examples = kind.examples(tmp_path)
    kind = replace(kind, examples=lambda folder: examples)
    fuzz.fuzz(kind, 4, 10, tmp_path)
    first = seen[-2:]
    fuzz.fuzz(kind, 2, 12, tmp_path)
    assert seen[-2:] == first


def test_changes_of_a_tree_stay_in_it():
    generator = random.Random(0)
    expected = repr(mutations._JSON_VALUES)
    for _ in range(200):
        tree = {"a": [1, 2]}
        for _ in range(8):
            tree = mutations.changed_tree(generator, tree)
    assert repr(mutations._JSON_VALUES) == expected


def _slow(path):
    while True:
        pass


def _big(path):
    np.empty(8 * fuzz._HARD_LIMIT_BYTES, np.uint8)


def _warns(path):
    warnings.warn("an overflow", RuntimeWarning, stacklevel=1)


def _crashes(path):
    raise KeyError("poses")


@pytest.mark.parametrize(
    ("reader", "outcome"),
    [(_slow, "too slow"), (_big, "too big"), (_warns, "crashed"), (_crashes, "crashed")],
)
def test_what_it_looks_for_is_seen_and_kept(tmp_path, monkeypatch, reader, outcome):
    monkeypatch.setattr(fuzz, "_SECONDS_PER_INPUT", 0.2)

    def read(path):
        # The examples themselves are read.
        if path.read_bytes() != b"good":
            reader(path)

    kind = Kind(".txt", read, lambda folder: [b"good"])
    tally = fuzz.fuzz(kind, 1, 7, tmp_path / "kept")
    assert tally.counts[outcome] == 1
    (kept,) = tally.kept
    assert kept.exists()
    assert "Traceback" in kept.with_suffix(".txt").read_text()


def test_the_exit_status_says_whether_anything_went_wrong(tmp_path, monkeypatch, capsys):
    arguments = ["--count", "5", "--output", str(tmp_path / "kept"), "--kinds", "beats"]
    assert fuzz.main(arguments) == 0
    assert "beats: " in capsys.readouterr().out
    monkeypatch.setattr(fuzz, "_outcome", lambda *_: ("crashed", "Traceback"))
    assert fuzz.main(arguments) == 1
    assert "5 crashed" in capsys.readouterr().out
