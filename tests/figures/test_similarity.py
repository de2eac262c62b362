"""Frames that are alike, of cycles of known length."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.arrays import wrapped
from deepphase.figures.similarity import frame_distances, similarity_map
from deepphase.phase.parameters import PhaseParameters

FPS = 60.0


def _cyclic(frames: int, hertz: float, start: float = 0.0) -> np.ndarray:
    """The manifold of one channel that turns at a known frequency."""
    time = np.arange(frames)[:, None] / FPS
    phase = wrapped(start + hertz * time)
    ones = np.ones_like(phase)
    return PhaseParameters(phase, hertz * ones, 0.7 * ones, 0 * ones).manifold()


def test_distances_are_those_of_each_pair():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    pairs = one[:, None] - other
    np.testing.assert_allclose(frame_distances(one, other), np.linalg.norm(pairs, axis=-1))


@pytest.mark.parametrize("hertz", [0.75, 2.0])
def test_a_cycle_makes_a_stripe_at_each_period(hertz):
    manifold = _cyclic(300, hertz)
    period = round(FPS / hertz)
    lags = np.arange(0, 3 * period)
    distances = frame_distances(manifold, manifold)
    curve = np.array([-np.diagonal(distances, lag).mean() for lag in lags])
    peaks = [k for k in range(1, len(curve) - 1) if curve[k - 1] < curve[k] >= curve[k + 1]]
    assert peaks == [period, 2 * period]


def test_stripes_of_two_clips_are_shifted_by_their_phases():
    one, other = _cyclic(200, 1.0), _cyclic(200, 1.0, start=0.25)
    # The other is a quarter of a second ahead: its frame 0 is frame 15 of the first.
    assert int(frame_distances(one, other)[:, 0][:60].argmin()) == 15


def test_the_map_is_the_matrix_with_its_times():
    one, other = _cyclic(100, 1.0), _cyclic(60, 1.5)
    chart = similarity_map({"phase": (one, other)}, FPS, names=("<b>walk", "run"))
    (panel,) = chart.data
    distances = frame_distances(one, other)
    np.testing.assert_allclose(panel.z, (distances / distances.mean()).T, rtol=1e-5)
    assert panel.dx == panel.dy == pytest.approx(1 / FPS)
    layout = chart.layout
    assert layout.xaxis.title.text == "&lt;b&gt;walk: time (s)"
    assert layout.yaxis.title.text == "run: time (s)"
    assert (layout.yaxis.scaleanchor, layout.yaxis.scaleratio) == ("x", 1)
