"""Rings: their measures against formulas, the plane of a cycle, and the steadiest stretch."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.phase.rings import evenness, ring_projection, steadiest, winding

FPS = 60.0
TIME = np.arange(480) / FPS


def turning(*channels: tuple[float, float]) -> np.ndarray:
    """The manifold of channels with an amplitude and a frequency."""
    parts = [
        (a * np.sin(2 * np.pi * f * TIME), a * np.cos(2 * np.pi * f * TIME)) for a, f in channels
    ]
    return np.stack([values for part in parts for values in part], axis=1)


def test_a_circle_winds_once_a_cycle_by_even_steps_and_a_swing_turns_back():
    ring, swing = turning((1.0, 1.25)), turning((1.0, 1.25)) * [1.0, 0.0]
    assert winding(ring) == pytest.approx(1)
    assert evenness(ring, FPS) == pytest.approx(0, abs=1e-6)
    assert winding(swing + turning((0.01, 2.5))) < 0.5
    assert evenness(swing, FPS) == pytest.approx(0.483, abs=0.03)
    assert np.isnan([winding(ring * 0), evenness(ring * 0, FPS), evenness(ring[:5], FPS)]).all()


def test_the_plane_of_rings_holds_one_frequency():
    """Two real components of two equal frequencies may mix them; the complex one does not."""
    manifold = turning((1.0, 1.0), (0.9, 1.0), (1.0, 2.25), (0.05, 0.5))
    projection = ring_projection(manifold)
    np.testing.assert_allclose(projection.axes @ projection.axes.T, np.eye(3), atol=1e-5)
    path = projection(manifold)
    assert winding(path[:, :2]) > 0.999
    assert evenness(path[:, :2], FPS) < 0.02
    assert projection.explained[:2].sum() == pytest.approx(1.81 / 2.8125, abs=0.02)


def test_the_steadiest_stretch_is_that_which_repeats():
    noise = np.random.default_rng(3).normal(size=(480, 4))
    drifting = turning((1.0, 1.0), (0.5, 2.0)) * np.linspace(0.2, 3.0, 480)[:, None]
    steady = turning((1.0, 1.0), (0.5, 2.0))
    ring = steadiest([noise, drifting, np.concatenate([noise, steady])], FPS)
    assert ring is not None
    assert (ring.manifold, ring.start >= 480, ring.stop - ring.start) == (2, True, 240)
    assert ring.period_s == pytest.approx(1.0, abs=0.02)
    assert (ring.winding, ring.change) == (pytest.approx(1), pytest.approx(0, abs=1e-3))
    for nothing in ([], [noise], [steady[:30]], [steady * 0]):
        assert steadiest(nothing, FPS) is None
