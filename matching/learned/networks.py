"""Networks of learned motion matching (Holden, Kanoun, Perepichka and Popa 2020)."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from deepphase.matching.learned.config import LearnedNetwork


def layers(inputs: int, outputs: int, width: int, hidden: int, act: type[nn.Module]) -> nn.Module:
    """Linear layers with `hidden` hidden ones of a width, and an activation after each of them."""
    sizes = [inputs, *[width] * hidden]
    parts: list[nn.Module] = []
    for before, after in pairwise(sizes):
        parts += [nn.Linear(before, after), act()]
    return nn.Sequential(*parts, nn.Linear(width, outputs))


class MatchingNetworks(nn.Module):
    """Compressor, decompressor, stepper and projector.

    A state consists of the features of a frame, as a search compares them, and its latents. All
    values that networks read and give are normalised.

    Parameters
    ----------
    features
        Values of a feature row.
    read
        Values that the compressor reads of a frame.
    pose
        Values of a pose, which the decompressor gives.
    conditions
        Values of the projector's input beside the state: one for each value of the label, and
        whether a character starts from rest.
    config
        Sizes.
    """

    def __init__(
        self, features: int, read: int, pose: int, conditions: int, config: LearnedNetwork
    ) -> None:
        super().__init__()
        state, width, wide = features + config.latents, config.width, config.projector_width
        self.compressor = layers(read, config.latents, wide, 3, nn.ELU)
        self.decompressor = layers(state, pose, width, 2, nn.ReLU)
        self.stepper = layers(state, state, width, 2, nn.ReLU)
        self.projector = layers(state + conditions, state, wide, 4, nn.ReLU)

    def project(self, query: Tensor, conditions: Tensor) -> Tensor:
        """(q, state) the state nearest to a query (q, state), as a change of it."""
        return query + self.projector(torch.cat([query, conditions], -1))
