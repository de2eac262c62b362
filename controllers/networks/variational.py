"""Variational interpolating neural network (VINN; Sprenger et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import elu

from deepphase.config import BELOW_1, require_in, require_one_of
from deepphase.controllers.networks.blended_linear import (
    BlendedLinear,
    SplineKind,
    cyclic_coefficients,
)
from deepphase.controllers.networks.network import (
    ControllerNetwork,
    ControllerNetworkConfig,
    Dropout,
    NetworkDims,
    State,
)
from deepphase.errors import ParameterError

Redraw = Literal["frame", "step"]
_POINTS = 4
# Lower bound for the logarithm: plain mean squared errors lead to deviations of 0.
_MIN_VARIANCE = 1e-8


@dataclass(frozen=True)
class VariationalConfig(ControllerNetworkConfig):
    """Variational phase-functioned network (VINN); the defaults are the paper's var1n2n3."""

    hidden: int = 512  # Width of the two hidden layers
    variational: tuple[int, ...] = (1,)  # Stochastic layers, one or more of 1, 2 and 3
    # When a run draws new noise: every "frame", or at every "step" of the character.
    redraw: Redraw = "step"
    # Spline of the weights, as of a PFNN: "catmull_rom" or "natural".
    spline: SplineKind = "catmull_rom"
    dropout: float = 0.3  # Dropout probability of the inputs of each layer
    # Weight of the divergence from a standard normal distribution in the loss; the paper has 0.
    divergence_weight: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "variational", tuple(self.variational))
        require_in(self, hidden=(1, 1e6), dropout=(0, BELOW_1), divergence_weight=(0, 1e9))
        require_one_of(self, spline=SplineKind, redraw=Redraw)
        layers = self.variational
        if not layers or set(layers) - {1, 2, 3} or list(layers) != sorted(set(layers)):
            raise ParameterError(
                f"variational layers are some of 1, 2, 3, not {list(layers)}",
                hint="give one or more of these, each once and in rising order",
            )


class Variational(ControllerNetwork):
    """A PFNN with stochastic layers, which predict means and deviations and sample from them.

    The state is the noise, (batch, noise width) standard normal. All layers of a pass use the same
    noise, narrower layers its first values.
    """

    state_names = ("noise",)
    state_is_kept = True
    is_stochastic = True

    def __init__(self, dims: NetworkDims, config: VariationalConfig) -> None:
        super().__init__(dims)
        if dims.gate != 1:
            raise ParameterError(
                f"a VINN is gated by one phase, not by {dims.gate} values",
                hint="choose a schema with the gate 'phase'",
            )
        self.config = config
        widths = (config.hidden, config.hidden, dims.outputs)
        self.noise_width = max(widths[layer - 1] for layer in config.variational)
        sizes = [2 * w if n in config.variational else w for n, w in enumerate(widths, start=1)]
        self.layer_in = BlendedLinear(_POINTS, dims.inputs, sizes[0])
        self.layer_mid = BlendedLinear(_POINTS, config.hidden, sizes[1])
        self.layer_out = BlendedLinear(_POINTS, config.hidden, sizes[2])
        self.dropout = Dropout(config.dropout)

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch, inputs) and (batch, 1) cycles -> (batch, outputs), with new noise."""
        return self.sampled(inputs, gate, self.initial_state(len(inputs))[0])[0]

    def initial_state(self, batch: int) -> State:
        """New noise (batch, noise width)."""
        return (self.layer_in.bias.new_empty(batch, self.noise_width).normal_(),)

    def step(self, inputs: Tensor, gate: Tensor, state: State) -> tuple[Tensor, State]:
        """One frame with the noise of the state, which only `redrawn` changes."""
        return self.sampled(inputs, gate, state[0])[0], state

    def redrawn(self, state: State, stepped: Tensor) -> State:
        """The state of the next frame: new noise where `stepped`, (batch,) bool."""
        (noise,) = state
        fresh = torch.randn_like(noise)
        if self.config.redraw == "frame":
            return (fresh,)
        return (torch.where(stepped[:, None], fresh, noise),)

    def training_outputs(self, inputs: Tensor, gate: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Outputs with new noise, and the divergence from a standard normal distribution."""
        (noise,) = self.initial_state(len(inputs))
        outputs, divergence = self.sampled(inputs, gate, noise.to(inputs))
        return outputs, {"divergence": self.config.divergence_weight * divergence.mean()}

    def blend_weights(self, gate: Tensor) -> Tensor:
        """(batch, 1) cycles -> (batch, 4): share of each control point in the weights."""
        return cyclic_coefficients(gate, _POINTS, self.config.spline)

    def sampled(self, inputs: Tensor, gate: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (batch, outputs) with this noise, and the divergence (batch,) of the samples."""
        self.check_dims(inputs, gate)
        blend = self.blend_weights(gate)  # (batch, 4)
        x, divergence = inputs, torch.zeros_like(gate[:, 0])
        for number, layer in enumerate((self.layer_in, self.layer_mid, self.layer_out), start=1):
            x = layer(self.dropout(x), blend)  # (batch, width), or (batch, 2 width)
            x = elu(x) if number < 3 else x
            if number in self.config.variational:
                mean, deviation = x.chunk(2, dim=1)  # (batch, width) each
                x = mean + noise[:, : mean.shape[1]] * deviation
                divergence = divergence + divergence_from_standard(mean, deviation).mean(1)
        return x, divergence


def divergence_from_standard(mean: Tensor, deviation: Tensor) -> Tensor:
    """KL(N(mean, deviation^2) || N(0, 1)), elementwise; the sign of a deviation has no effect.

    References
    ----------
    Kingma and Welling 2014, appendix B.
    """
    variance = deviation.square().clamp(min=_MIN_VARIANCE)
    return 0.5 * (variance + mean.square() - 1.0 - variance.log())
