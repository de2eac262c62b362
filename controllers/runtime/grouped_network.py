"""Networks for crowds: characters with like gates share one set of blended weights.

A blended network multiplies every character's row by the weights of all its experts. Here the
weights are blended in advance for a number of gates, and each character is computed with those of
the nearest gate: one product in place of one for each expert. Products are of integers of 8 bits
on processors with AVX-512 VNNI, and of float32 on others, where integers are slower.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from scipy.cluster.vq import kmeans2
from torch import Tensor

from deepphase.arrays import Array
from deepphase.controllers.networks.blended_linear import BlendedLinear
from deepphase.controllers.networks.experts import Experts
from deepphase.controllers.networks.network import ControllerNetwork, State
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import NETWORKS
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.runtime.grouped_kernel import (
    OUTS_AT_ONCE,
    ROWS_AT_ONCE,
    activate,
    compiled_products,
    elu_in_place,
    fade_changes,
    packed,
    round_inputs,
    scale_outputs,
    sort_into_groups,
)
from deepphase.controllers.runtime.int8_kernel import LARGEST, SMALLEST, has_vnni
from deepphase.controllers.runtime.int8_network import kept_in_memory
from deepphase.errors import ParameterError
from deepphase.steering.run import Frame, rollout
from deepphase.steering.velocity_goals import VelocityGoals

GROUPS = 64
"""Default number of gates that weights are blended for."""
FADE_S = 0.02
"""Default time constant in seconds with which a change of weights fades in."""
_MOST_GROUPS = 1024
_LONGEST_FADE_S = 1.0
# Characters that run to find usual gates, their seconds, and the seconds between new goals.
_RUNNERS, _RUN_S, _GOAL_S = 256, 2.0, 0.5
_KMEANS_ROUNDS = 15
# A set of weights in float32 takes as long to read as so many rows take to be multiplied by it,
# and the calls for it as long as so many more numbers take to read.
_READ_ROWS, _CALL_NUMBERS = 18, 100_000


def grouped_network(
    controller: Controller, groups: int = GROUPS, fade_s: float = FADE_S, seed: int = 0
) -> NormalisedController:
    """A copy of a controller's network whose weights are blended for a number of gates.

    The gates are the centres (k-means) of those of characters that run from the controller's
    initial states for two seconds, to random velocities. Gates themselves are computed exactly, and
    products in 8 bits where the processor has AVX-512 VNNI. The copy runs, and cannot be saved or
    exported.

    Parameters
    ----------
    controller
        Controller with a mixture of experts or a PFNN.
    groups
        Number of gates, from 1 to 1024: more are nearer to the exact network, and take more memory
        and time.
    fade_s
        Time constant in seconds with which outputs go from those of one set of weights to those of
        the next; 0 for none, which is quicker and rougher.
    seed
        Random seed of the runs and of the centres.

    Raises
    ------
    ParameterError
        If the network is of another kind, reads tracks, or is in 8 bits already; or if `groups` or
        `fade_s` is out of range.
    """
    network = controller.network.network
    if any(getattr(each, "in_8_bits", False) for each in network.modules()):
        raise ParameterError(
            "the network is in groups or in 8 bits already", hint="group the exact one"
        )
    if not network.grouped_layers:
        known = [name for name, each in NETWORKS.items() if each.has_groups]
        raise ParameterError(
            f"the network {controller.name!r} has no blended layers to group",
            hint=f"networks that have them: {', '.join(known)}; your own network names its layers "
            "in `grouped_layers`",
        )
    if controller.schema.config.tracks:
        raise ParameterError("controllers that read tracks, such as music, run in no groups")
    if not 1 <= groups <= _MOST_GROUPS:
        raise ParameterError(
            f"there are {groups} groups of gates", hint=f"give 1 to {_MOST_GROUPS}"
        )
    if not 0.0 <= fade_s <= _LONGEST_FADE_S:
        raise ParameterError(f"fade_s must lie in 0 to {_LONGEST_FADE_S}, not {fade_s}")
    keep = math.exp(-1.0 / (controller.fps * fade_s)) if fade_s else 0.0
    found = usual_blends(controller, seed)
    centres, _ = kmeans2(
        found.astype(np.float64),
        min(groups, len(np.unique(found, axis=0))),
        iter=_KMEANS_ROUNDS,
        minit="++",
        seed=seed,
        missing="warn",
    )
    return controller.network.with_network(GroupedBlend(network, centres.astype(np.float32), keep))


def usual_blends(controller: Controller, seed: int = 0) -> Array:
    """(samples, points) shares of experts or control points in the weights, in short runs."""
    random = np.random.default_rng(seed)
    rows = np.resize(np.arange(len(controller.starts)), _RUNNERS)
    settings = CharacterSettings(foot_ik=False, gating=True)
    characters = Characters(controller, controller.starts.select(rows), settings=settings)
    goals = VelocityGoals(characters.root_states)
    change = round(_GOAL_S * controller.fps)

    def step(frame: int) -> Frame:
        if frame % change == 0:
            speeds = random.uniform(0.0, controller.goal_limits.top_speed, _RUNNERS)
            # A quarter of the goals stand.
            speeds[random.random(_RUNNERS) < 0.25] = 0.0
            ways = random.uniform(0.0, 2.0 * np.pi, _RUNNERS)
            goals.set(speeds[:, None] * np.stack([np.sin(ways), np.cos(ways)], axis=1))
        return characters.step(goals)

    run = rollout(characters, goals, _RUN_S, step=step)
    assert run.gating is not None
    return run.gating.swapaxes(0, 1)[run.alive.T]


class GroupedBlend(ControllerNetwork):
    """A network of blended layers with weights for given blends.

    The state is the set of weights of each character, (batch,), and what is left of the difference
    between the outputs with its last set and with this one, (batch, outputs).

    Parameters
    ----------
    network
        The network.
    centres : (groups, points)
        Blends of its weights; a character has the nearest.
    keep
        Share of that difference that is left after a frame; 0 for none, and no state.
    """

    in_8_bits = True

    def __init__(self, network: ControllerNetwork, centres: Array, keep: float = 0.0) -> None:
        super().__init__(network.dims)
        self._exact, self._keep = network, keep
        self.centres = torch.from_numpy(centres)
        self._offsets = 0.5 * self.centres.square().sum(dim=1)
        layers = [
            cast(BlendedLinear, network.get_submodule(name)) for name in network.grouped_layers
        ]
        vnni = has_vnni()
        self._layers = [_Int8Layer(each, self.centres) for each in layers if vnni]
        self._floats = [_float_weights(each, self.centres) for each in layers if not vnni]
        each = sum(weights[0].numel() for weights, _ in self._floats)
        points = self.centres.shape[1]
        # With fewer characters the exact network is quicker than groups in float32.
        self._fewest = 0.0
        if not vnni:
            read = _READ_ROWS * (1.0 + _CALL_NUMBERS / each)
            self._fewest = len(centres) * read / max(points - 1, 0.5)
        self._starts = np.zeros(len(centres) + 1, np.int64)
        self._seen: tuple[Tensor, Tensor] | None = None

    def blend_weights(self, gate: Tensor) -> Tensor:
        """As that of the exact network, to six digits."""
        # A frame asks for them twice: for its outputs and for the page.
        if self._seen is None or not np.array_equal(self._seen[0].numpy(), gate.numpy()):
            self._seen = gate.clone(), self._blends(gate)
        return self._seen[1]

    def _blends(self, gate: Tensor) -> Tensor:
        network = self._exact
        if type(network) is not Experts:
            return cast(Tensor, network.blend_weights(gate))
        # PyTorch's ELU takes as long as the products.
        for layer in (network.gate_in, network.gate_mid):
            gate = layer(gate)
            elu_in_place(gate.detach().numpy().reshape(-1))
        return torch.softmax(network.gate_out(gate), dim=-1)

    def chosen(self, gate: Tensor) -> Tensor:
        """(batch, gate) -> (batch,): place of the nearest of the centres."""
        # b . c - c . c / 2 is the largest for the nearest centre.
        closeness = self.blend_weights(gate) @ self.centres.T - self._offsets
        return torch.from_numpy(closeness.numpy().argmax(axis=1))

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch, inputs) and (batch, gate) -> (batch, outputs)."""
        self.check_dims(inputs, gate)
        if len(inputs) < self._fewest:
            return cast(Tensor, self._exact(inputs, gate))
        return self._computed(inputs, self.chosen(gate))

    def step(self, inputs: Tensor, gate: Tensor, state: State) -> tuple[Tensor, State]:
        """As `ControllerNetwork.step`; a change of weights fades in."""
        if not self._keep or len(inputs) < self._fewest:
            return self(inputs, gate), state
        self.check_dims(inputs, gate)
        now, count = self.chosen(gate), len(inputs)
        if not state:
            return self._computed(inputs, now), (now, torch.zeros(count, self.dims.outputs))
        last, left = state
        changed = (now != last).nonzero()[:, 0]
        made = self._computed(inputs, torch.cat([now, last[changed]]), changed)
        leaving = torch.empty_like(left)
        fade_changes(made.numpy(), left.numpy(), changed.numpy(), self._keep, leaving.numpy())
        return made[:count], (now, leaving)

    def _computed(self, inputs: Tensor, chosen: Tensor, again: Tensor | None = None) -> Tensor:
        """The outputs of rows with these sets of weights, then those of rows `again`."""
        if self._floats:
            return self._computed_in_floats(
                inputs if again is None else torch.cat([inputs, inputs[again]]), chosen
            )
        count = len(chosen)
        given = inputs.contiguous().numpy()
        rows = np.empty(count + ROWS_AT_ONCE * min(count, len(self.centres)), np.int64)
        sort_into_groups(chosen.numpy(), self._starts, rows)
        rows = rows[: self._starts[-1]]
        first, last = self._layers[0], self._layers[-1]
        scales, sums = np.empty(len(rows), np.float32), np.empty(len(rows), np.int32)
        given_rows = rows
        if again is not None:
            given_rows = np.concatenate([np.arange(len(inputs)), again.numpy()])[rows]
        round_inputs(given, given_rows, first.rows(len(rows)), scales, sums)
        for layer, following in pairwise(self._layers):
            products = layer.products(len(rows), self._starts)
            made = following.rows(len(rows))
            activate(products, scales, sums, *layer.values, self._starts, made)
        products = last.products(len(rows), self._starts)
        outputs = np.empty((count, self.dims.outputs), np.float32)
        scale_outputs(products, scales, sums, *last.values, self._starts, rows, outputs)
        return torch.from_numpy(outputs)

    def _computed_in_floats(self, inputs: Tensor, chosen: Tensor) -> Tensor:
        order = chosen.argsort(stable=True)
        counts = torch.bincount(chosen, minlength=len(self.centres)).tolist()
        values = inputs[order]
        for number, (weights, biases) in enumerate(self._floats):
            if number:
                elu_in_place(values.numpy().reshape(-1))
            products = values.new_empty((len(values), weights.shape[2]))
            parts = zip(biases, values.split(counts), weights, products.split(counts), strict=True)
            for bias, rows, weight, product in parts:
                if len(rows):
                    torch.addmm(bias, rows, weight, out=product)
            values = products
        outputs = torch.empty_like(values)
        outputs[order] = values
        return outputs

    def check_exportable(self) -> None:
        """Raise ParameterError: only the exact network is exported."""
        raise kept_in_memory()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        raise kept_in_memory()


def _float_weights(layer: BlendedLinear, centres: Tensor) -> tuple[Tensor, Tensor]:
    """(groups, ins, outs) and (groups, outs): weights and biases of a layer for given blends."""
    weight = (centres @ layer.weight.detach().cpu().flatten(1)).reshape(-1, layer.ins, layer.outs)
    return weight, centres @ layer.bias.detach().cpu()


class _Int8Layer:
    """A `BlendedLinear` in 8 bits with weights for given blends, for rows sorted by them."""

    def __init__(self, layer: BlendedLinear, centres: Tensor) -> None:
        weights, biases = _float_weights(layer, centres)
        scales = weights.abs().amax(dim=1, keepdim=True).clamp(min=SMALLEST) / LARGEST
        self._weights = packed(torch.round(weights / scales).numpy())
        self.values = scales[:, 0].numpy(), biases.numpy()
        """Scales of the weights and the biases, (groups, outs) each."""
        self._products = compiled_products()
        self._buffers: dict[str, Array] = {}

    def rows(self, count: int) -> Array:
        """(count, ins) int8: its inputs, to be filled."""
        return self._buffer("rows", count, 4 * self._weights.shape[2], np.int8)

    def products(self, count: int, starts: Array) -> Array:
        """(count, at least outs) int32: products of `rows`; the next call overwrites them."""
        rows = self.rows(count)
        width = OUTS_AT_ONCE * self._weights.shape[1]
        products = self._buffer("products", count, width, np.int32)
        self._products(rows, self._weights, starts, products)
        return products

    def _buffer(self, name: str, count: int, width: int, kind: Any) -> Array:
        """An array that is used again: its pages are in memory, and what is not filled is 0."""
        found = self._buffers.get(name)
        if found is None or len(found) < count:
            # Groups fill up differently from frame to frame.
            found = np.zeros((count + count // 8, width), kind)
            self._buffers[name] = found
        return found[:count]
