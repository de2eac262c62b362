"""Networks of learned motion matching (Holden, Kanoun, Perepichka and Popa 2020)."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from deepphase.matching.learned.config import LearnedNetwork
from deepphase.matching.learned.matcher import SMOOTH


def layers(inputs: int, outputs: int, width: int, hidden: int, act: type[nn.Module]) -> nn.Module:
    """Linear layers with `hidden` hidden ones of a width, and an activation after each of them."""
    sizes = [inputs, *[width] * hidden]
    parts: list[nn.Module] = []
    for before, after in pairwise(sizes):
        parts += [nn.Linear(before, after), act()]
    return nn.Sequential(*parts, nn.Linear(width, outputs))


class SmoothReLU(nn.Module):
    """A ReLU without a kink, (x + sqrt(x^2 + 1/4)) / 2, so that motion has no jerks.

    Barron 2021, Squareplus: A Softplus-Like Algebraic Rectifier.
    """

    def forward(self, values: Tensor) -> Tensor:
        return 0.5 * (values + (values.square() + SMOOTH).sqrt())


class MatchingNetworks(nn.Module):
    """Compressor and decompressor, which read and give normalised values."""

    def __init__(self, features: int, read: int, pose: int, config: LearnedNetwork) -> None:
        super().__init__()
        state = features + config.latents
        self.compressor = layers(read, config.latents, config.compressor_width, 3, nn.ELU)
        self.decompressor = layers(state, pose, config.width, 2, SmoothReLU)
