"""What a figure leaves out of long clips, and what it says of it."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepphase.figures.manifold import phase_manifold
from deepphase.figures.phase_parameters import parameters_over_time, phase_strips
from deepphase.figures.theme import Colouring, excerpt, thinning, thinning_note
from tests.figures.made_phases import FPS, made_phases


@given(st.integers(0, 500_000), st.floats(1, 240), st.integers(1, 5_000))
def test_never_more_than_can_be_drawn_and_never_silently_less(frames, fps, most):
    part = excerpt(frames, fps, most)
    shown = np.arange(frames)[part.frames]
    assert len(shown) <= most
    assert (part.note == "") == (len(shown) == frames)
    # What is drawn is dense enough for the quickest movement, or is every frame.
    assert part.frames.step == 1 or fps / part.frames.step >= 15


def test_the_note_says_what_is_missing():
    assert excerpt(600, 60, 600).note == ""
    assert excerpt(1200, 60, 600).note == "1 frame in 2 is drawn"
    long = excerpt(36_000, 60, 600)
    assert long.note == "1 frame in 4 is drawn, the first 40 s of 600 s"
    assert long.frames == slice(0, 2400, 4)
    assert thinning_note(thinning(100_001, 20_000), 100_001) == "1 frame in 6 of 100,001 is drawn"
    assert thinning_note(thinning(20_000, 20_000), 20_000) == ""


@pytest.mark.parametrize("draw", [parameters_over_time, phase_strips])
def test_clips_over_time_say_it(draw):
    short, long = (draw(made_phases(n, 2), FPS) for n in (300, 30_000))
    assert not any("drawn" in note.text for note in short.layout.annotations)
    (words,) = [note.text for note in long.layout.annotations if "drawn" in note.text]
    # What is said is what is drawn: the last time that is shown, and the step.
    seconds = float(words.split("the first ")[1].split(" s")[0].replace(",", ""))
    lines = [t for t in long.data if isinstance(t, go.Scattergl)]
    assert max(np.nanmax(t.x) for t in lines) == pytest.approx(seconds, abs=0.6)
    step = int(words.split("1 frame in ")[1].split()[0])
    assert np.median(np.diff(lines[1].x)) == pytest.approx(step / FPS, rel=1e-3)


def test_a_manifold_of_many_points_says_it():
    points = np.random.default_rng(0).normal(size=(50_000, 3))
    chart = phase_manifold(points, np.full(3, 0.3), colour=Colouring("x", points[:, 0]))
    assert len(chart.data[0].x) == 16_667
    np.testing.assert_allclose(chart.data[0].x, points[::3, 0], rtol=1e-6)
    np.testing.assert_allclose(chart.data[0].marker.color, points[::3, 0], rtol=1e-6)
    assert [n.text for n in chart.layout.annotations] == ["1 frame in 3 of 50,000 is drawn"]
