"""The phase update against hand computations and the convention of the phase parameters."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepphase.controllers.runtime.network_state import (
    MIN_LENGTH,
    NEARLY_OPPOSITE,
    advance_phases,
    updated_phases,
)
from deepphase.phase.parameters import PhaseParameters

DT = 1 / 60


def vectors(phase, amplitude) -> torch.Tensor:
    phase = np.asarray(phase, np.float64)
    ones = np.ones_like(phase)
    parameters = PhaseParameters(phase, ones, ones * amplitude, 0 * ones)
    return torch.from_numpy(parameters.manifold())


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_by_hand():
    # One channel at phase 0.1, turned by 1.5 Hz for 0.1 s to 0.25; 0.35 is predicted: 0.3.
    found = updated_phases(
        vectors([0.1], 7.0), vectors([0.35], 0.01), tensor(1.5), tensor(0.5), seconds=0.1
    )
    angle = 2 * math.pi * 0.3
    expected = tensor(0.5 * math.sin(angle), 0.5 * math.cos(angle))
    torch.testing.assert_close(found, expected)


@given(st.floats(-0.5, 0.49), st.floats(0.0, 10.0), st.floats(0.01, 5.0), st.floats(0.0, 1.0))
def test_it_is_the_step_of_the_phase_parameters(phase, frequency, amplitude, blend):
    given_ = PhaseParameters(*(np.array([v]) for v in (phase, frequency, amplitude, 0.0)))
    later = torch.from_numpy(given_.advanced(DT).manifold())
    now = torch.from_numpy(given_.manifold())
    found = updated_phases(now, later, tensor(frequency), tensor(amplitude), DT, blend)
    torch.testing.assert_close(found, later, atol=1e-9, rtol=0)


def test_a_pure_rotation_stays_on_its_circle_and_in_time():
    state, frequency, amplitude = vectors([0.0, 0.3], 0.8), tensor(1.0, 2.5), tensor(0.8, 0.8)
    for _ in range(600):
        state = updated_phases(state, state, frequency, amplitude, DT, blend=0.0)
    # 10 s: whole cycles of both.
    torch.testing.assert_close(state, vectors([0.0, 0.3], 0.8), atol=1e-6, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_and_gradients_are_finite_at_the_origin(dtype):
    values = [torch.zeros(3, 4, dtype=dtype), torch.zeros(3, 4, dtype=dtype)]
    values += [torch.zeros(3, 2, dtype=dtype), torch.zeros(3, 2, dtype=dtype)]
    for value in values:
        value.requires_grad_(True)
    found = updated_phases(*values, DT)
    assert torch.isfinite(found).all()
    for gradient in torch.autograd.grad(found.sum(), values):
        assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("blend", [0.0, 0.5, 1.0])
def test_the_compiled_form_is_the_same(blend):
    random = np.random.default_rng(0)
    now, goal = random.standard_normal((2, 400, 6)).astype(np.float32)
    # Channels without a direction, and opposite directions.
    now[::5, :2], goal[::7, 2:4], goal[1::5] = 0.0, 0.0, -now[1::5]
    frequency, amplitude = random.standard_normal((2, 400, 3)).astype(np.float32)
    frequency *= 3.0
    frames = (torch.from_numpy(each) for each in (now, goal, frequency, amplitude))
    expected = updated_phases(*frames, DT, blend).numpy()
    found = now.copy()
    advance_phases(found, goal, frequency, amplitude, DT, blend, MIN_LENGTH, NEARLY_OPPOSITE)
    assert np.abs(found - now).max() > 0.1
    np.testing.assert_allclose(found, expected, atol=2e-6)
