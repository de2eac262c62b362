"""`make gpu` at its smallest size, without a GPU."""

from __future__ import annotations

import time

import pytest

from tests.benchmarks.bench_gpu import ROWS, SMALL, Bench, run_part, run_process


@pytest.mark.slow
def test_parts_write_rows(tmp_path):
    for part in ("prepare", "phase", "encode", "frames", "pfnn"):
        run_part(Bench(part, "cpu", SMALL, tmp_path, 0.5))
    rows = (tmp_path / ROWS).read_text()
    for what in ("clips", "whole training", "encode of 10 hours", "a frame of 100 characters"):
        assert f'"{what}"' in rows


@pytest.mark.slow
def test_a_part_that_fails_leaves_a_row(tmp_path):
    output = tmp_path / "table"
    run_process(Bench("pfnn", "cpu", SMALL, tmp_path, 0.5), time.monotonic() + 60, 1, output)
    assert "| pfnn | cpu | the part | failed | exit 1: " in output.with_suffix(".md").read_text()
