"""A controller network of one's own: registered, trained, saved, loaded, and refused elsewhere."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.networks.network import (
    ControllerNetwork,
    ControllerNetworkConfig,
    NetworkDims,
)
from deepphase.controllers.networks.registry import NETWORKS, register_network
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.training.train import train_controller
from deepphase.errors import CheckpointError, ParameterError
from deepphase.steering.run import rollout
from tests.controllers.made_controllers import FormulaPhases, walking_store


@dataclass(frozen=True)
class TwoConfig(ControllerNetworkConfig):
    """Two layers.

    Parameters
    ----------
    hidden
        Width of the layer between them.
    penalty
        Weight of the mean square of the outputs.
    """

    hidden: int = 8
    penalty: float = 0.0


class Two(ControllerNetwork):
    """Two linear layers, of which the phase shifts the share; all that a network may override."""

    state_names = ("noise",)
    state_is_kept = True
    is_stochastic = True

    def __init__(self, dims: NetworkDims, config: TwoConfig) -> None:
        super().__init__(dims)
        self.config = config
        self.first = nn.Linear(dims.inputs, config.hidden)
        self.second = nn.Linear(config.hidden, dims.outputs)

    def forward(self, inputs, gate):
        return self.second(torch.tanh(self.first(inputs)))

    def initial_state(self, batch):
        return (torch.randn(batch, 1),)

    def step(self, inputs, gate, state):
        return self(inputs, gate) + 1e-3 * state[0], state

    def redrawn(self, state, stepped):
        return (torch.randn_like(state[0]),)

    def training_outputs(self, inputs, gate):
        outputs = self(inputs, gate)
        return outputs, {"size": self.config.penalty * outputs.square().mean()}

    def blend_weights(self, gate):
        return torch.cat([gate, 1.0 - gate], dim=1)


@pytest.fixture
def two():
    yield register_network("two", Two, TwoConfig, gate="phase", hidden=12)
    NETWORKS.pop("two", None)


def _trained(folder, **changes) -> Controller:
    folder.mkdir(exist_ok=True)
    path = folder / "two.yaml"
    path.write_text("network: {name: two}\ntraining: {samples: 640, batch_size: 32}\n")
    config = ControllerConfig.load(path, **changes)
    data = ControllerData.read(walking_store(), config, FormulaPhases())
    made = train_controller(data, config, folder=folder / "work")
    assert made is not None
    return made


def test_it_trains_runs_and_comes_back_from_its_file(two, tmp_path):
    made = _trained(tmp_path)
    assert made.config.network == TwoConfig(hidden=12)
    made.save(tmp_path / "file")
    again = Controller.load(tmp_path / "file")
    assert isinstance(again.network.network, Two)
    runs = [
        rollout(Characters(each, made.starts.select([0, 1])), None, 0.2) for each in (made, again)
    ]
    np.testing.assert_array_equal(runs[0].rotations, runs[1].rotations)
    # The share of each of its two weights is what the run shows.
    np.testing.assert_allclose(runs[0].gating.sum(axis=-1), 1.0, atol=1e-6)
    other = rollout(Characters(made, made.starts.select([0, 1]), seed=1), None, 0.2)
    assert not np.array_equal(other.rotations, runs[0].rotations), "it draws from its seed"


def test_a_file_is_refused_where_its_network_is_not_registered(two, tmp_path):
    _trained(tmp_path).save(tmp_path / "file")
    del NETWORKS["two"]
    with pytest.raises(CheckpointError, match="network 'two' is not registered") as raised:
        Controller.load(tmp_path / "file")
    assert "first import the module that registers it" in raised.value.hint
    assert raised.value.path == tmp_path / "file"


@pytest.mark.parametrize("name", ["tempting", "tempting.Network", "tempting:Network"])
def test_nothing_is_imported_because_a_file_names_it(name, tmp_path, monkeypatch):
    (tmp_path / "tempting.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "config.yaml"
    path.write_text(f"network: {{name: '{name}', class_path: '{name}'}}")
    with pytest.raises(ParameterError, match="is not registered"):
        ControllerConfig.load(path)
    assert "tempting" not in sys.modules


@pytest.mark.parametrize(
    ("name", "network", "config", "gate", "message"),
    [
        ("pfnn", Two, TwoConfig, "phase", "'pfnn' is a shipped network"),
        ("mine", nn.Linear, TwoConfig, "phase", "does not extend ControllerNetwork"),
        ("mine", Two, TwoConfig(), "phase", "does not extend ControllerNetworkConfig"),
        ("mine", Two, TwoConfig, "speed", "no gate 'speed'"),
    ],
)
def test_what_is_no_network_is_not_registered(name, network, config, gate, message):
    before = dict(NETWORKS)
    with pytest.raises(ParameterError, match=message):
        register_network(name, network, config, gate=gate)
    assert before == NETWORKS
