"""Networks in integers of 8 bits: near the others, for any number of rows and any network."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.apps.live.asset import live_asset
from deepphase.controllers.networks.blended_linear import BlendedLinear
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.int8_network import Int8Blend, int8_network
from deepphase.controllers.runtime.onnx_export import export_controller
from deepphase.errors import ParameterError
from deepphase.steering.run import rollout
from tests.controllers.test_character_goals import led, store, untrained

__all__ = ["store"]


@pytest.fixture(autouse=True)
def integers(monkeypatch):
    monkeypatch.setattr("deepphase.controllers.runtime.int8_network.has_vnni", lambda: True)


@pytest.mark.parametrize("rows", [1, 3, 16, 700])
def test_a_layer_is_within_one_percent(rows):
    torch.manual_seed(0)
    layer = BlendedLinear(4, 60, 34)
    layer.bias.data.normal_()
    # Coefficients of splines are negative too.
    x, coefficients = torch.randn(rows, 60), torch.randn(rows, 4)
    with torch.inference_mode():
        exact, found = layer(x, coefficients), Int8Blend(layer)(x, coefficients)
    assert found.dtype == torch.float32
    assert (found - exact).square().mean() < 1e-4 * exact.square().mean()
    assert not torch.equal(found, exact)


def test_rows_of_zeros_give_the_bias_and_rows_do_not_depend_on_each_other():
    torch.manual_seed(0)
    layer = BlendedLinear(2, 8, 5)
    layer.bias.data.normal_()
    x, coefficients = torch.randn(600, 8), torch.rand(600, 2)
    x[0] = 0.0
    x[1] *= 1e4
    rounded = Int8Blend(layer)
    with torch.inference_mode():
        found = rounded(x, coefficients)
        torch.testing.assert_close(found[0], coefficients[0] @ layer.bias)
        torch.testing.assert_close(found[599:], rounded(x[599:], coefficients[599:]))
        assert torch.isfinite(found).all()


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_values_that_are_not_finite_reach_the_outputs_of_their_row(value):
    layer = BlendedLinear(2, 8, 5)
    x, coefficients = torch.randn(3, 8), torch.rand(3, 2)
    x[1, 4] = value
    with torch.inference_mode():
        found = Int8Blend(layer)(x, coefficients)
    assert torch.isfinite(found).all(dim=1).tolist() == [True, False, True]


def test_a_copy_is_rounded_and_the_network_stays(store):
    controller, samples = untrained("experts", store)
    exact = controller.network
    rows = [torch.from_numpy(each[:64].copy()) for each in (samples.inputs, samples.gate)]
    with torch.inference_mode():
        before, _ = exact.step(*rows, ())
        found, _ = int8_network(exact).step(*rows, ())
        after, _ = exact.step(*rows, ())
    assert torch.equal(before, after)
    assert not torch.equal(before, found)
    scale = exact.get_buffer("outputs_scale")
    apart = ((found - before) * scale).square().mean().sqrt()
    assert apart < 0.02


@pytest.mark.parametrize("name", ["pfnn", "vinn"])
def test_characters_run_as_with_floats(store, name):
    controller, _ = untrained(name, store)
    rounded = replace(controller, network=int8_network(controller.network))
    runs = [
        rollout(Characters(each, each.starts, seed=1), led(3), 0.2)
        for each in (controller, rounded)
    ]
    np.testing.assert_allclose(runs[0].positions, runs[1].positions, atol=0.02)


def test_a_network_without_blended_layers_is_refused(store):
    controller, _ = untrained("nn", store)
    with pytest.raises(ParameterError, match="no blended layers"):
        int8_network(controller.network)


def test_it_is_not_written_without_its_weights(store, tmp_path):
    controller, _ = untrained("experts", store)
    rounded = replace(controller, network=int8_network(controller.network))
    with pytest.raises(ParameterError, match="8 bits cannot be saved or exported"):
        rounded.save(tmp_path / "rounded.controller")
    with pytest.raises(ParameterError, match="8 bits cannot be saved or exported"):
        live_asset(rounded)
    with pytest.raises(ParameterError, match="8 bits cannot be saved or exported"):
        export_controller(rounded.network, rounded.schema, tmp_path / "rounded.onnx")
    assert not list(tmp_path.iterdir())


def test_a_processor_without_its_instruction_computes_exactly(store, monkeypatch):
    controller, _ = untrained("experts", store)
    monkeypatch.setattr("deepphase.controllers.runtime.int8_network.has_vnni", lambda: False)
    assert int8_network(controller.network) is controller.network
