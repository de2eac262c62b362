"""The phase-functioned network: its spline, its blending, its forms, and that it learns."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from deepphase.controllers.networks.blended_linear import (
    BlendedLinear,
    cyclic_coefficients,
    open_coefficients,
)
from deepphase.controllers.networks.network import NetworkDims
from deepphase.controllers.networks.pfnn import Pfnn, PfnnConfig
from tests.controllers.naive_blend import naive_body, naive_linear


def column(*phases: float) -> torch.Tensor:
    return torch.tensor(phases, dtype=torch.float64)[:, None]


def paper_spline(points: np.ndarray, phase: float) -> np.ndarray:
    """Holden et al. 2017, eq. 7, as it is printed, with p in cycles."""
    w = 4 * phase
    k = [(int(np.floor(w)) + n - 1) % 4 for n in range(4)]
    a0, a1, a2, a3 = points[k]
    w = w % 1
    return (
        a1
        + w * (0.5 * a2 - 0.5 * a0)
        + w**2 * (a0 - 2.5 * a1 + 2 * a2 - 0.5 * a3)
        + w**3 * (1.5 * a1 - 1.5 * a2 + 0.5 * a3 - 0.5 * a0)
    )


@given(st.floats(-3, 3))
def test_the_spline_is_the_papers(phase):
    points = np.random.default_rng(0).standard_normal((4, 5))
    found = cyclic_coefficients(column(phase), 4).numpy() @ points
    np.testing.assert_allclose(found[0], paper_spline(points, phase), atol=1e-9)


@pytest.mark.parametrize("points", [4, 5, 9])
def test_natural_splines_are_scipys(points):
    values = np.random.default_rng(0).standard_normal((points, 3))
    closed = np.concatenate([values, values[:1]])
    periodic = CubicSpline(np.arange(points + 1) / points, closed, bc_type="periodic")
    natural = CubicSpline(np.arange(points) / (points - 1), values, bc_type="natural")
    phases = np.linspace(-0.5, 1.0, 301)
    found = cyclic_coefficients(column(*phases), points, "natural").numpy() @ values
    np.testing.assert_allclose(found, periodic(phases), atol=1e-12)
    found = open_coefficients(column(*phases), points, "natural").numpy() @ values
    np.testing.assert_allclose(found, natural(np.where(phases < 0, phases + 1, phases)), atol=1e-12)


@pytest.mark.parametrize("kind", ["catmull_rom", "natural"])
@pytest.mark.parametrize("points", [4, 5, 8])
def test_the_spline_is_smooth_and_its_weights_sum_to_one(points, kind):
    phases = torch.linspace(-0.5, 1.5, 4001, dtype=torch.float64)[:, None]
    weights = cyclic_coefficients(phases, points, kind)
    torch.testing.assert_close(weights.sum(1), torch.ones(4001, dtype=torch.float64))
    # A jump in the first derivative would stay as large as it is at any step.
    slope = torch.diff(weights, dim=0) / (2.0 / 4000)
    steepest_change = 6.0 * points**2 * (2.0 / 4000)
    assert torch.diff(slope, dim=0).abs().max() < steepest_change


def network(hidden: int = 24, **changes) -> Pfnn:
    torch.manual_seed(1)
    made = Pfnn(NetworkDims(11, 1, 7), PfnnConfig(hidden=hidden, dropout=0.0, **changes))
    for layer in (made.layer_in, made.layer_mid, made.layer_out):
        torch.nn.init.normal_(layer.bias)
    return made


@settings(max_examples=40)
@given(st.integers(1, 9), st.integers(1, 6), st.integers(1, 5), st.integers(1, 7))
def test_blending_is_what_a_weight_matrix_a_sample_gives(points, ins, outs, batch):
    torch.manual_seed(points + 10 * batch)
    layer = BlendedLinear(points, ins, outs)
    torch.nn.init.normal_(layer.bias)
    x, blend = torch.randn(batch, ins), torch.randn(batch, points)
    torch.testing.assert_close(layer(x, blend), naive_linear(layer, x, blend), atol=1e-5, rtol=1e-5)


def test_gradients_are_those_of_a_weight_matrix_a_sample():
    made = network()
    inputs, gate = torch.randn(32, 11, requires_grad=True), torch.rand(32, 1, requires_grad=True)
    goal = torch.randn(32, 7)
    found = []
    for run in (lambda: made(inputs, gate), lambda: naive_body(made, inputs, blend())):

        def blend():
            return made.blend_weights(gate)

        wanted = [*made.parameters(), inputs, gate]
        outputs = run()
        found.append((outputs, torch.autograd.grad((outputs - goal).square().mean(), wanted)))
    (ours, our_gradients), (naive, naive_gradients) = found
    torch.testing.assert_close(ours, naive, atol=1e-5, rtol=1e-5)
    for mine, theirs in zip(our_gradients, naive_gradients, strict=True):
        assert torch.isfinite(mine).all()
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)
