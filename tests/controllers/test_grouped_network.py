"""Networks for crowds: near the exact one, whatever the processor, the order and the group."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from apps.live.asset import live_asset
from controllers.runtime import grouped_kernel, grouped_network
from controllers.runtime.grouped_kernel import (
    ROWS_AT_ONCE,
    compiled_products,
    has_vnni,
    packed,
    sort_into_groups,
)
from controllers.runtime.grouped_network import GroupedBlend, usual_blends
from controllers.runtime.grouped_network import grouped_network as grouped
from controllers.runtime.int8_network import int8_network
from deepphase.errors import ParameterError
from deepphase.steering.run import rollout
from tests.controllers.test_character_goals import led, store, untrained

__all__ = ["store"]


@pytest.fixture(autouse=True)
def short_runs(monkeypatch):
    monkeypatch.setattr(grouped_network, "_RUNNERS", 12)
    monkeypatch.setattr(grouped_network, "_RUN_S", 0.1)


@pytest.fixture(scope="module")
def experts(store):
    controller, samples = untrained("experts", store)
    rows = [torch.from_numpy(each[:90].copy()) for each in (samples.inputs, samples.gate)]
    return controller, controller.network.normalised(*rows)


def distance(found, exact):
    return float(((found - exact).square().mean() / exact.square().mean()).sqrt())


@pytest.mark.skipif(not has_vnni(), reason="the processor lacks the instruction")
@pytest.mark.parametrize("counts", [(4, 0, 12, 8), (0, 20), (4,)])
def test_products_are_those_of_integers(counts):
    random = np.random.default_rng(0)
    weights = random.integers(-127, 128, (len(counts), 10, 35)).astype(np.int8)
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = np.zeros((starts[-1], 12), np.int8)
    rows[:, :10] = random.integers(-127, 128, (starts[-1], 10))
    found = np.zeros((starts[-1], 64), np.int32)
    compiled_products()(rows, packed(weights), starts, found)
    found -= grouped_kernel.UNSIGNED * rows.astype(np.int32).sum(axis=1)[:, None]
    for group, (first, end) in enumerate(pairwise(starts)):
        whole = rows[first:end, :10].astype(np.int32) @ weights[group].astype(np.int32)
        np.testing.assert_array_equal(found[first:end, :35], whole)


def test_characters_are_sorted_and_groups_filled_up():
    chosen, starts = np.array([2, 0, 2, 2, 0, 2, 2]), np.zeros(5, np.int64)
    rows = np.full(len(chosen) + 4 * ROWS_AT_ONCE, -1)
    sort_into_groups(chosen, starts, rows)
    np.testing.assert_array_equal(starts, [0, 2, 2, 8, 8])
    np.testing.assert_array_equal(rows[:8], [1, 4, 0, 2, 3, 5, 6, 0])


def test_characters_at_a_centre_are_within_two_percent(experts):
    controller, (inputs, gate) = experts
    network = controller.network.network
    with torch.inference_mode():
        centres = network.blend_weights(gate[:5])
        exact = network(inputs[:5], gate[:5])
        found = GroupedBlend(network, centres.numpy())(inputs[:5], gate[:5])
    assert 0.0 < distance(found, exact) < 0.02


@pytest.mark.parametrize("name", ["experts", "pfnn"])
def test_more_groups_are_nearer(store, name, monkeypatch):
    controller, samples = untrained(name, store)
    rows = [torch.from_numpy(each.copy()) for each in (samples.inputs, samples.gate)]
    inputs, gate = controller.network.normalised(*rows)
    network = controller.network.network
    with torch.inference_mode():
        # Untrained gates hardly differ.
        blends = torch.softmax(20.0 * network.blend_weights(gate), dim=1)
        network.blend_weights = lambda gate: blends
        monkeypatch.setattr(GroupedBlend, "blend_weights", lambda self, gate: blends)
        exact = network(inputs, gate)
        away = [
            distance(GroupedBlend(network, centres.numpy())(inputs, gate), exact)
            for centres in (blends.mean(dim=0, keepdim=True), blends[::20], blends)
        ]
    assert away[0] > 1.5 * away[2]
    assert away[0] > away[1] > away[2]


def test_gates_are_those_of_the_exact_network(experts):
    controller, (_, gate) = experts
    network = controller.network.network
    with torch.inference_mode():
        exact = network.blend_weights(gate)
        found = GroupedBlend(network, exact[:1].numpy()).blend_weights(gate)
    torch.testing.assert_close(found, exact, rtol=0.0, atol=1e-6)


def test_processors_without_the_instruction_compute_the_same(experts, monkeypatch):
    controller, rows = experts
    found = []
    for vnni in (has_vnni(), False):
        monkeypatch.setattr(grouped_network, "has_vnni", lambda vnni=vnni: vnni)
        with torch.inference_mode():
            found.append(grouped(controller, 8, 0.0).network(*rows))
    torch.testing.assert_close(*found, rtol=0.0, atol=0.0)


def test_a_character_does_not_depend_on_the_others(experts):
    controller, (inputs, gate) = experts
    network = grouped(controller, 8, 0.0).network
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))
    damaged = inputs.clone()
    damaged[3, 5] = torch.nan
    with torch.inference_mode():
        whole = network(inputs, gate)
        torch.testing.assert_close(network(inputs[order], gate[order]), whole[order])
        torch.testing.assert_close(network(inputs[7:8], gate[7:8]), whole[7:8])
        found = network(damaged, gate)
    assert not torch.isfinite(found[3]).any()
    others = torch.arange(len(inputs)) != 3
    torch.testing.assert_close(found[others], whole[others])


def test_a_change_of_weights_fades_in(experts):
    controller, (inputs, gate) = experts
    exact = controller.network.network
    centres = torch.eye(4)
    network = GroupedBlend(exact, centres.numpy(), keep=0.25)
    chosen = torch.tensor([0, 1, 2])
    network.chosen = lambda gate: chosen
    x = inputs[:3]
    with torch.inference_mode():
        old, state = network.step(x, gate[:3], ())
        chosen = torch.tensor([0, 3, 2])
        new = network._computed(x, chosen)
        changed, state = network.step(x, gate[:3], state)
        later, _ = network.step(x, gate[:3], state)
    torch.testing.assert_close(changed, old)
    torch.testing.assert_close(later, new + 0.25 * (old - new))
    assert not torch.equal(old[1], new[1])


def test_characters_run_as_exactly(store):
    controller, _ = untrained("pfnn", store)
    shared = replace(controller, network=grouped(controller, 64))
    runs = [rollout(make(each), led(3), 0.2) for each in (controller, shared)]
    assert runs[1].alive.all()
    np.testing.assert_allclose(runs[0].positions, runs[1].positions, atol=0.05)
    assert not np.array_equal(runs[0].rotations, runs[1].rotations)


def make(controller):
    from controllers.runtime.characters import Characters

    return Characters(controller, controller.starts)


def test_usual_blends_are_shares(experts):
    blends = usual_blends(experts[0])
    assert blends.shape == (12 * 6, 4)
    np.testing.assert_allclose(blends.sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize(
    ("groups", "fade_s", "words"),
    [(0, 0.0, "0 groups"), (9999, 0.0, "9999 groups"), (4, -1.0, "fade_s"), (4, np.nan, "fade_s")],
)
def test_settings_out_of_range_are_refused(experts, groups, fade_s, words):
    with pytest.raises(ParameterError, match=words):
        grouped(experts[0], groups, fade_s)


def test_other_networks_are_refused_and_nothing_is_written(store, experts, tmp_path):
    with pytest.raises(ParameterError, match="no blended layers to group"):
        grouped(untrained("nn", store)[0])
    rounded = replace(experts[0], network=int8_network(experts[0].network))
    with pytest.raises(ParameterError, match="in 8 bits already"):
        grouped(rounded)
    shared = replace(experts[0], network=grouped(experts[0], 4))
    with pytest.raises(ParameterError, match="8 bits cannot be saved"):
        shared.save(tmp_path / "shared.controller")
    with pytest.raises(ParameterError, match="8 bits cannot be saved"):
        live_asset(shared)
    assert not list(tmp_path.iterdir())
