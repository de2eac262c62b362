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
from deepphase.errors import ParameterError
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


@pytest.mark.parametrize("cyclic", [True, False])
def test_only_the_natural_splines_second_derivative_is_continuous(cyclic):
    """A jump of the second derivative stays as large as it is at any step."""
    coefficients = cyclic_coefficients if cyclic else open_coefficients
    jumps = {}
    for kind in ("catmull_rom", "natural"):
        for step in (1e-3, 5e-4):
            phases = torch.arange(0.02, 0.98, step, dtype=torch.float64)[:, None]
            second = torch.diff(coefficients(phases, 4, kind), n=2, dim=0) / step**2
            jumps[kind, step] = torch.diff(second, dim=0).abs().max()
    assert jumps["natural", 5e-4] < 0.55 * jumps["natural", 1e-3]
    assert jumps["catmull_rom", 5e-4] > 0.9 * jumps["catmull_rom", 1e-3]


@pytest.mark.parametrize("kind", ["catmull_rom", "natural"])
def test_the_spline_passes_its_control_points_and_wraps(kind):
    phases = column(0.0, 0.25, 0.5, 0.75, 1.0, -0.5, -0.25)
    expected = torch.eye(4, dtype=torch.float64)[[0, 1, 2, 3, 0, 2, 3]]
    torch.testing.assert_close(cyclic_coefficients(phases, 4, kind), expected)


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


@pytest.mark.parametrize("kind", ["catmull_rom", "natural"])
def test_an_open_spline_begins_and_ends_at_its_outermost_points(kind):
    weights = open_coefficients(column(0.0, 1 / 3, -1 / 3, 1.0, 1.3), 4, kind)
    expected = torch.eye(4, dtype=torch.float64)[[0, 1, 2, 3, 3]]
    torch.testing.assert_close(weights, expected)
    between = open_coefficients(torch.linspace(0, 1, 101, dtype=torch.float64)[:, None], 4, kind)
    torch.testing.assert_close(between.sum(1), torch.ones(101, dtype=torch.float64))


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


@pytest.mark.parametrize(("ins", "outs"), [(50, 9), (9, 50)])
def test_inference_of_many_rows_gives_the_same(ins, outs):
    torch.manual_seed(0)
    layer = BlendedLinear(4, ins, outs)
    torch.nn.init.normal_(layer.bias)
    x, blend = torch.randn(200, ins), torch.softmax(torch.randn(200, 4), 1)
    with torch.inference_mode():
        found, alone = layer(x, blend), layer(x[:1], blend[:1])
    torch.testing.assert_close(found, naive_linear(layer, x, blend), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found[:1], alone, atol=1e-5, rtol=1e-5)


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


def test_as_many_parameters_as_in_the_paper():
    made = Pfnn(NetworkDims(330, 1, 335), PfnnConfig())
    assert made.parameter_count == 4 * 603_983
    # 10, 25 and 125 MB of Table 1, of single precision; the closed cycle has one entry more.
    assert 4 * made.parameter_count / 1e6 == pytest.approx(9.66, abs=0.01)
    tables = {form: made.precomputed(form).megabytes for form in ("linear", "constant")}
    assert tables["linear"] * 10 / 11 == pytest.approx(24.2, abs=0.1)
    assert tables["constant"] * 50 / 51 == pytest.approx(120.8, abs=0.1)


@pytest.mark.parametrize("spline", ["catmull_rom", "natural"])
@pytest.mark.parametrize("cyclic", [True, False])
@pytest.mark.parametrize(("form", "order"), [("constant", 1), ("linear", 2)])
def test_precomputed_forms_converge_to_the_cubic(form, order, cyclic, spline):
    made = network(cyclic=cyclic, spline=spline)
    inputs, gate = torch.randn(200, 11), torch.rand(200, 1) - 0.5
    exact = made(inputs, gate)
    errors = []
    for count in (25, 100, 400):
        found = made.precomputed(form, count)(inputs, gate)
        errors.append((found - exact).square().mean().sqrt().item())
    # Four times as many phases: a quarter of the error of the nearest, a sixteenth on a line.
    assert errors[1] < 1.7 * errors[0] / 4**order
    assert errors[2] < 1.7 * errors[1] / 4**order


@pytest.mark.parametrize("form", ["constant", "linear"])
def test_precomputed_forms_are_exact_at_their_phases(form):
    made = network()
    inputs, gate = torch.randn(8, 11), torch.tensor([[k / 8 - 0.5] for k in range(8)])
    found = made.precomputed(form, 8)(inputs, gate)
    torch.testing.assert_close(found, made(inputs, gate), atol=1e-5, rtol=1e-4)


@pytest.mark.slow
def test_a_cyclic_motion_is_learnt_and_goes_on_by_itself():
    # Four "joints" on circles and harmonics; one cycle in 30 frames.
    def pose(phase: torch.Tensor) -> torch.Tensor:
        turns = 2 * torch.pi * phase * torch.tensor([1.0, 1.0, 2.0, 3.0])
        return torch.sin(turns + torch.tensor([0.0, 1.0, 2.0, 0.5]))

    torch.manual_seed(0)
    made = Pfnn(NetworkDims(4, 1, 4), PfnnConfig(hidden=32, dropout=0.0))
    optimizer = torch.optim.Adam(made.parameters(), 3e-3)
    for _ in range(500):
        phase = torch.rand(64, 1)
        seen = pose(phase) + 0.05 * torch.randn(64, 4)
        loss = (made(seen, phase) - pose(phase + 1 / 30)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 1e-3
    state = pose(torch.zeros(1, 1))
    with torch.inference_mode():
        for frame in range(1800):
            state = made(state, torch.tensor([[frame / 30 % 1.0]]))
    assert (state - pose(torch.zeros(1, 1))).abs().max() < 0.1


def test_what_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="one phase, not by 4"):
        Pfnn(NetworkDims(3, 4, 3), PfnnConfig())
    with pytest.raises(ParameterError, match="at least 4"):
        PfnnConfig(points=3)
    with pytest.raises(ParameterError, match="spline 'linear'"):
        PfnnConfig(spline="linear")
    with pytest.raises(
        ParameterError, match="12 inputs and 1 gate values, the network takes 11 and 1"
    ):
        network()(torch.zeros(1, 12), torch.zeros(1, 1))
    with pytest.raises(ParameterError, match="no form"):
        network().precomputed("quintic")
