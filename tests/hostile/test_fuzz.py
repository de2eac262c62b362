"""A short run of the mutation fuzzer, and that it sees what it is there to see."""

import time
import warnings

import numpy as np
import pytest

from deepphase.formats.load import BLENDER_SUFFIXES, MOTION_FORMATS
from tests.hostile import fuzz

COUNT = 300


@pytest.mark.slow
def test_changed_files_are_read_or_refused(tmp_path):
    tally = fuzz.fuzz(COUNT, 0, tmp_path)
    assert not tally.kept
    # A fuzzer that breaks every file, or none, tests little.
    assert tally.of("read") > COUNT / 20
    assert tally.of("refused") > COUNT / 4
    assert {suffix for suffix, _ in tally.counts} == set(MOTION_FORMATS) - set(BLENDER_SUFFIXES)


def test_an_input_is_made_from_its_number_alone(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(fuzz, "load_all", lambda path: seen.append(path.read_bytes()))
    # Made once: sums of floats may round differently where an array lies elsewhere in memory.
    files = fuzz.seed_files(tmp_path)
    monkeypatch.setattr(fuzz, "seed_files", lambda folder: files)
    fuzz.fuzz(4, 10, tmp_path)
    fuzz.fuzz(2, 12, tmp_path)
    assert seen[2:4] == seen[4:]


def _slow(path):
    time.sleep(10)


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
    monkeypatch.setattr(fuzz, "load_all", reader)
    monkeypatch.setattr(fuzz, "_SECONDS_PER_INPUT", 0.2)
    tally = fuzz.fuzz(1, 7, tmp_path / "kept")
    assert tally.of(outcome) == 1
    (kept,) = tally.kept
    assert kept.exists()
    assert "Traceback" in kept.with_suffix(".txt").read_text()


def test_the_exit_status_says_whether_anything_went_wrong(tmp_path, monkeypatch, capsys):
    arguments = ["--count", "5", "--output", str(tmp_path / "kept")]
    assert fuzz.main(arguments) == 0
    assert "5 of 5" in capsys.readouterr().out
    monkeypatch.setattr(fuzz, "load_all", _crashes)
    assert fuzz.main(arguments) == 1
    assert "5 crashed" in capsys.readouterr().out
