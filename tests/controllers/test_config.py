"""Recipes and the registry of networks."""

import pytest
import torch

from deepphase.config import config_names
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.networks.network import NetworkDims
from deepphase.controllers.networks.registry import NETWORKS, make_network, network_kind
from deepphase.controllers.schema.config import SHIPPED_NETWORKS
from deepphase.errors import ParameterError
from tests.controllers.made_controllers import config_with

NAMES = list(SHIPPED_NETWORKS)


def test_every_network_has_a_recipe_of_its_name():
    assert set(NAMES) <= set(NETWORKS)
    assert set(NAMES) <= set(config_names("controller"))


@pytest.mark.parametrize("name", NAMES)
def test_recipes_are_the_papers_and_come_back(name):
    recipe = ControllerConfig.load(name)
    assert recipe.name == name
    # Of the paper's splines the second derivative jumps.
    changes = {"spline": "natural"} if name in ("pfnn", "vinn") else {}
    assert recipe.network == network_kind(name).make_config(**changes)
    assert ControllerConfig.from_mapping(recipe.as_mapping()) == recipe


@pytest.mark.parametrize("name", NAMES)
def test_every_network_maps_frames_to_frames(name):
    gate = {"none": 0, "phase": 1}.get(network_kind(name).gate, 6)
    small = config_with(name, hidden=16, samples=20)
    made = make_network(name, NetworkDims(9, gate, 5), small).eval()
    inputs, gates = torch.randn(3, 9), torch.rand(3, gate)
    state = made.initial_state(3)
    assert len(state) == len(made.state_names)
    outputs, after = made.step(inputs, gates, state)
    assert outputs.shape == (3, 5)
    assert torch.isfinite(outputs).all()
    assert [each.shape for each in after] == [each.shape for each in state]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "the config must be a mapping of keys to values"),
        ("network: {name: pfnn}\ntraning: {}", "unknown key 'traning'"),
        ("network: {hidden: 4}", "no name"),
        ("network: {name: rnn}", "network 'rnn' is not registered"),
        ("network: {name: pfnn, hiden: 4}", "unknown key 'hiden'"),
        ("network: {name: pfnn, hidden: true}", "network.hidden must be int"),
        ("network: {name: pfnn}\nschema: {step_s: x}", "schema.step_s must be float"),
        ("network: [", "not valid YAML"),
    ],
)
def test_what_is_no_recipe_is_refused_with_its_place(tmp_path, content, message):
    path = tmp_path / "mine.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ParameterError, match=message) as raised:
        ControllerConfig.load(path)
    assert raised.value.path == path
