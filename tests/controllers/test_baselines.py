"""Plain, recurrent and Gaussian process baselines against independent computations."""

import numpy as np
import pytest
import torch

from deepphase.controllers.networks.baselines import (
    Plain,
    PlainConfig,
    Recurrent,
    RecurrentConfig,
    pfnn_parameters,
    plain_width,
    recurrent_width,
)
from deepphase.controllers.networks.gaussian_process import GaussianProcess, GaussianProcessConfig
from deepphase.controllers.networks.network import NetworkDims
from deepphase.errors import ParameterError

PAPER = NetworkDims(330, 0, 335)


def test_baselines_have_the_paper_s_widths():
    assert pfnn_parameters(PAPER) == 4 * 603_983
    assert plain_width(PAPER) == 1256
    assert recurrent_width(PAPER) == 509
    for made in (Plain(PAPER, PlainConfig()), Recurrent(PAPER, RecurrentConfig())):
        count = sum(each.numel() for each in made.parameters())
        assert count == pytest.approx(4 * 603_983, rel=1e-3)


def test_the_memory_is_that_of_an_lstm():
    torch.manual_seed(0)
    made = Recurrent(NetworkDims(5, 1, 3), RecurrentConfig(hidden=8, dropout=0.0))
    lstm = torch.nn.LSTM(8, 8, batch_first=True)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(made.from_input.weight)
        lstm.bias_ih_l0.copy_(made.from_input.bias)
        lstm.weight_hh_l0.copy_(made.from_hidden.weight)
        lstm.bias_hh_l0.zero_()
    inputs, gate = torch.randn(2, 6, 5), torch.rand(2, 6, 1)
    angle = 2 * torch.pi * gate
    x = torch.cat([inputs, torch.sin(angle), torch.cos(angle)], -1)
    kept, _ = lstm(torch.nn.functional.elu(made.layer_in(x)))
    torch.testing.assert_close(made(inputs, gate), made.layer_out(kept))


def test_step_by_step_is_the_sequence():
    torch.manual_seed(0)
    made = Recurrent(NetworkDims(5, 0, 3), RecurrentConfig(hidden=8)).eval()
    inputs, gate = torch.randn(2, 6, 5), torch.zeros(2, 6, 0)
    state = made.initial_state(2)
    for frame, expected in enumerate(made(inputs, gate).unbind(1)):
        outputs, state = made.step(inputs[:, frame], gate[:, frame], state)
        torch.testing.assert_close(outputs, expected)


def smooth_samples(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Outputs that depend on inputs and phase."""
    rng = np.random.default_rng(0)
    inputs, gate = rng.uniform(-1, 1, (count, 2)), rng.uniform(-0.5, 0.5, (count, 1))
    turn = 2 * np.pi * gate
    outputs = np.concatenate([np.sin(turn) * inputs[:, :1], np.cos(turn) + inputs[:, 1:]], 1)
    return tuple(torch.from_numpy(each.astype(np.float32)) for each in (inputs, gate, outputs))


def test_the_mean_is_scikit_learn_s():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    inputs, gate, outputs = smooth_samples(80)
    made = GaussianProcess(NetworkDims(2, 1, 2), GaussianProcessConfig(samples=80))
    made.fit(inputs, gate, outputs)
    x, y = made.seen[0].numpy(), outputs.double().numpy()
    kernel = RBF(made.length[0].item(), "fixed")
    # The noise that was found is what is left of the samples' own predictions.
    left = (made(inputs, gate).double().numpy() - y)[0]
    noise = float(np.median(-left / made.solution[0, 0].numpy()))
    oracle = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(x, y - y.mean(0))
    others = smooth_samples(300)
    circle = 2 * np.pi * others[1].double().numpy()
    seen = np.concatenate([others[0].double().numpy(), np.sin(circle), np.cos(circle)], 1)
    expected = oracle.predict(seen) + y.mean(0)
    np.testing.assert_allclose(made(others[0], others[1]).numpy(), expected, atol=2e-3)


def test_too_few_samples_are_refused():
    made = GaussianProcess(NetworkDims(2, 1, 2), GaussianProcessConfig(samples=100))
    with pytest.raises(ParameterError, match="50 samples for a process of 100"):
        made.fit(*smooth_samples(50))
