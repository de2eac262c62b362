"""The one convention of phase: cycles that grow with time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepphase.arrays import wrapped
from deepphase.errors import ParameterError
from deepphase.phase.parameters import PhaseParameters


def parameters(phase, frequency=1.0, amplitude=1.0, offset=0.0):
    phase = np.asarray(phase, np.float64)
    return PhaseParameters(
        phase, *(np.full_like(phase, value) for value in (frequency, amplitude, offset))
    )


@given(st.floats(-1e6, 1e6))
def test_wrapped_is_half_open(cycles):
    value = wrapped(np.array(cycles))
    assert -0.5 <= value < 0.5
    assert abs((cycles - value) - np.round(cycles - value)) < 1e-6


def test_sinusoid_is_the_definition():
    """sin(2 pi (f t + p)): at phase 0 the latent crosses its offset upwards."""
    one = parameters([0.0], frequency=2.0, amplitude=3.0, offset=0.5)
    values = one.sinusoid(np.array([0.0, 0.125]))
    np.testing.assert_allclose(values[0], [0.5, 3.5], atol=1e-12)


def test_advancing_is_looking_later():
    one = parameters([[0.4, -0.2]], frequency=1.3, amplitude=0.7)
    times = np.linspace(-1, 1, 21)
    np.testing.assert_allclose(
        one.advanced(0.31).sinusoid(times), one.sinusoid(times + 0.31), atol=1e-12
    )


def test_manifold_is_interleaved_and_turns_clockwise_from_cosine():
    one = PhaseParameters(
        np.array([0.25, 0.0]), np.array([1.0, 1.0]), np.array([2.0, 3.0]), np.zeros(2)
    )
    np.testing.assert_allclose(one.manifold(), [2.0, 0.0, 0.0, 3.0], atol=1e-12)


def test_different_shapes_and_nan_are_refused():
    with pytest.raises(ParameterError, match="shapes must agree"):
        PhaseParameters(np.zeros(2), np.zeros(3), np.zeros(2), np.zeros(2))
    with pytest.raises(ParameterError, match="amplitude"):
        PhaseParameters(np.zeros(1), np.zeros(1), np.array([np.nan]), np.zeros(1))
