"""Networks for crowds: near the exact one, whatever the processor, the order and the group."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from deepphase.apps.live.asset import live_asset
from deepphase.controllers.runtime import grouped_kernel, grouped_network
from deepphase.controllers.runtime.grouped_kernel import (
    ROWS_AT_ONCE,
    compiled_products,
    packed,
    sort_into_groups,
)
from deepphase.controllers.runtime.grouped_network import GroupedBlend, usual_blends
from deepphase.controllers.runtime.grouped_network import grouped_network as grouped
from deepphase.controllers.runtime.int8_kernel import has_vnni
from deepphase.errors import ParameterError
from deepphase.steering.run import rollout
from tests.controllers.test_character_goals import led, store, untrained

__all__ = ["store"]


@pytest.fixture(autouse=True)
def short_runs(monkeypatch):
    monkeypatch.setattr(grouped_network, "_RUNNERS", 12)
    monkeypatch.setattr(grouped_network, "_RUN_S", 0.1)
    monkeypatch.setattr(grouped_network, "_READ_ROWS", 0)


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


@pytest.mark.parametrize(("vnni", "away"), [(has_vnni(), 0.02), (False, 1e-5)])
def test_characters_at_a_centre_are_near_the_exact_ones(experts, monkeypatch, vnni, away):
    monkeypatch.setattr(grouped_network, "has_vnni", lambda: vnni)
    controller, (inputs, gate) = experts
    network = controller.network.network
    with torch.inference_mode():
        centres = network.blend_weights(gate[:5])
        exact = network(inputs[:5], gate[:5])
        found = GroupedBlend(network, centres.numpy())(inputs[:5], gate[:5])
    assert 0.0 < distance(found, exact) < away


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


@pytest.mark.parametrize("keep", [0.0, 0.25])
def test_processors_without_the_instruction_compute_nearly_the_same(experts, monkeypatch, keep):
    controller, (inputs, gate) = experts
    found = []
    for vnni in (has_vnni(), False):
        monkeypatch.setattr(grouped_network, "has_vnni", lambda vnni=vnni: vnni)
        network, state = GroupedBlend(controller.network.network, np.eye(4, dtype="f4"), keep), ()
        with torch.inference_mode():
            for frame in range(3):
                outputs, state = network.step(inputs, gate.roll(frame, 0), state)
        found.append(outputs)
    assert distance(*found) < 0.02


def test_few_characters_are_computed_exactly_where_integers_are_slow(experts, monkeypatch):
    controller, (inputs, gate) = experts
    exact, centres = controller.network.network, np.eye(4, dtype="f4")
    monkeypatch.setattr(grouped_network, "has_vnni", lambda: False)
    for rows, same in ((18, True), (0, False)):
        monkeypatch.setattr(grouped_network, "_READ_ROWS", rows)
        with torch.inference_mode():
            found = GroupedBlend(exact, centres, 0.25).step(inputs[:8], gate[:8], ())[0]
            assert torch.equal(found, exact(inputs[:8], gate[:8])) is same


def test_named_processors_have_the_features_that_are_named(monkeypatch):
    for features, found in (("+avx2", False), ("+avx2,+avx512vnni", True)):
        monkeypatch.setattr("numba.config.CPU_FEATURES", features)
        assert has_vnni() is found


@pytest.mark.parametrize("vnni", [has_vnni(), False])
def test_a_character_does_not_depend_on_the_others(experts, monkeypatch, vnni):
    monkeypatch.setattr(grouped_network, "has_vnni", lambda: vnni)
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
    from deepphase.controllers.runtime.characters import Characters

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
    shared = replace(experts[0], network=grouped(experts[0], 4))
    with pytest.raises(ParameterError, match="groups or in 8 bits already"):
        grouped(shared)
    with pytest.raises(ParameterError, match="groups or in 8 bits cannot"):
        shared.save(tmp_path / "shared.controller")
    with pytest.raises(ParameterError, match="groups or in 8 bits cannot"):
        live_asset(shared)
    assert not list(tmp_path.iterdir())
