"""The compiled reader of numbers: the values of `float`, bit by bit, or none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepphase.errors import FormatError
from deepphase.formats.bvh import reader
from tests.formats.bvh_text import raw_bvh, written
from tests.hostile.bvh_cases import CASES

SCAN = reader.load_scan()
pytestmark = pytest.mark.skipif(SCAN is None, reason="numba does not compile here")


def scanned(text: bytes, rows: int, columns: int) -> np.ndarray | None:
    return reader.scan_table(SCAN, text, 0, rows, columns)


digits = st.text("0123456789", max_size=22)
words = st.one_of(
    st.builds(
        "".join,
        st.tuples(
            st.sampled_from(["", "", "-", "+"]),
            digits,
            st.sampled_from(["", ".", ".", "."]),
            digits,
            st.sampled_from(["", "", "", "e", "E", "e-", "E+"]),
            st.text("0123456789", max_size=3),
        ),
    ),
    st.floats(allow_nan=True).map(repr),
    st.floats(-400, 400).map("{:.6f}".format),
    st.text("0123456789.+-eE_naifx\x00\xa0/:;,", min_size=1, max_size=12),
)


@settings(max_examples=400)
@given(st.lists(words, min_size=1, max_size=6), st.sampled_from([" ", "\t", "  ", " \t "]))
def test_numbers_are_those_of_float_or_refused(texts, blank):
    texts = [text for text in texts if text.strip()] or ["1"]
    # The end of the text, where no whole word fits, and the middle of it take different ways.
    for tail in ("", "\n", " " * 40 + "\n\n"):
        values = scanned((blank.join(texts) + tail).encode("latin-1"), 1, len(texts))
        good = all(map(reader.is_number, texts))
        assert (values is not None) == good, texts
        if values is not None:
            expected = np.array([[float(text) for text in texts]])
            assert values.tobytes() == expected.tobytes(), texts


@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("1 2\n3\n", 2, 2),
        ("1 2 3\n", 1, 2),
        ("1 2\n3 4\n5 6\n", 2, 2),
        ("1 2\n3 4", 3, 2),
        ("1 2\n3 4 #", 2, 2),
        ("1\n2\n3\n4\n", 2, 2),
        ("1 2 3 4\n", 2, 2),
        ("", 1, 1),
        ("1", 10**17, 10),
        ("1 2\r3 4", 2, 2),
    ],
)
def test_what_is_no_such_table_is_left_to_the_careful_reader(text, rows, columns):
    assert scanned(text.encode(), rows, columns) is None


def _outcome(path):
    try:
        raw = raw_bvh(path)
    except FormatError as error:
        return error.fact, error.line, error.hint
    return raw.rotations.tobytes(), raw.translations.tobytes(), raw.source.notes


@pytest.mark.parametrize("case", CASES)
def test_files_are_read_and_refused_alike(tmp_path, case, monkeypatch):
    path = written(tmp_path, CASES[case].content)
    outcomes = []
    for used in (SCAN, None):
        with monkeypatch.context() as patch:
            patch.setattr(reader, "scan_for", lambda size, used=used: used)
            outcomes.append(_outcome(path))
    assert outcomes[0] == outcomes[1]
