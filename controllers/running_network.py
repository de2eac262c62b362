"""A network as a run uses it: arrays in and out, its memory and its noise kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from controllers.normalised import NormalisedController

Array = np.ndarray


class RunningNetwork:
    """Steps a network for a number of characters.

    Parameters
    ----------
    network
        Raw values in and out.
    characters
        How many.
    seed
        Of the noise of a network that draws; the program's own random numbers stay untouched.
    """

    def __init__(self, network: NormalisedController, characters: int, seed: int) -> None:
        self._network = network
        self._device = network.inputs_mean.device
        self._random = torch.Generator().manual_seed(seed).get_state()
        with torch.inference_mode(), self._own_randomness():
            self._state = network.network.initial_state(characters)

    @torch.inference_mode()
    def step(self, inputs: Array, gate: Array) -> Array:
        """Raw outputs (characters, dims) float32 of raw inputs and gate."""
        found, self._state = self._network.step(
            torch.from_numpy(inputs).to(self._device),
            torch.from_numpy(gate).to(self._device),
            self._state,
        )
        return found.cpu().numpy()

    @torch.inference_mode()
    def redraw(self, stepped: Array) -> None:
        """New noise, where the network draws, for characters (characters,) whose foot came down."""
        network = self._network.network
        if network.is_stochastic:
            with self._own_randomness():
                self._state = network.redrawn(
                    self._state, torch.from_numpy(stepped).to(self._device)
                )

    @torch.inference_mode()
    def gating(self, gate: Array) -> Array | None:
        """(characters, experts or control points) how much each counts; None without any."""
        weights = self._network.blend_weights(torch.from_numpy(gate).to(self._device))
        return None if weights is None else weights.cpu().numpy()

    @contextmanager
    def _own_randomness(self) -> Iterator[None]:
        others = torch.get_rng_state()
        torch.set_rng_state(self._random)
        try:
            yield
            self._random = torch.get_rng_state()
        finally:
            torch.set_rng_state(others)
