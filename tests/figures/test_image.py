"""PNG files where there is a browser, and a reason where there is none."""

from __future__ import annotations

import struct

import numpy as np
import plotly.graph_objects as go
import pytest

from deepphase.figures.image import write_images
from deepphase.figures.manifold import Colouring, phase_manifold
from tests.figures.made_phases import made_phases


def _figures(folder):
    points = made_phases(1200, 3).manifold()[:, :3]
    given = {"explained": np.full(3, 0.3), "colour": Colouring("x", points[:, 0], "m")}
    return {
        folder / "2d.png": phase_manifold(points, **given),
        folder / "below" / "3d.svg": phase_manifold(points, dimensions=3, **given),
    }


@pytest.mark.browser
def test_pictures_are_written(tmp_path):
    figures = _figures(tmp_path)
    images = write_images(figures)
    if "was found" in images.problem:
        pytest.skip(images.problem)
    assert images == (list(figures), "")
    for path in figures:
        content = path.read_bytes()
        if path.suffix == ".svg":
            assert content.startswith(b"<svg")
        else:
            assert content[:8] == b"\x89PNG\r\n\x1a\n"
            assert struct.unpack(">II", content[16:24]) == (1200, 800)
        # A blank picture of this size has some 5 kB.
        assert len(content) > 20_000
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["2d.png", "3d.svg"]


def test_no_browser_is_a_reason_and_no_error(tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "nothing"))
    images = write_images({tmp_path / "a.png": go.Figure()})
    assert images == ([], "no PNG: neither Chromium nor Chrome was found")
    assert not list(tmp_path.iterdir())


def test_nothing_to_write_starts_nothing(monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nothing")
    assert write_images({}) == ([], "")
