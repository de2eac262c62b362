"""Gaussian processes as controllers: one over poses and phase, or one at each of ten phases.

They are fitted, not trained by gradient descent: `fit` optimises the kernel with scikit-learn on
some of the samples and solves for all. The results are buffers, saved like the weights of networks.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from scipy.linalg import cho_factor, cho_solve
from torch import Tensor

from deepphase.arrays import Array
from deepphase.config import require, require_in
from deepphase.controllers.networks.network import (
    ControllerNetwork,
    ControllerNetworkConfig,
    NetworkDims,
    phase_circle,
)
from deepphase.errors import ParameterError
from deepphase.packages import extra_packages

# Maximum number of samples for the kernel search, whose cost is cubic.
_MAX_FOR_KERNEL = 400
# Minimum noise as a share of the signal's variance; smaller values are ill-conditioned.
_MIN_NOISE = 1e-4
# Initial length scales of the searches, and their bounds, in typical distances between samples. If
# a search ends at the lower bound, where all samples are independent, the next one is started.
_INITIAL_LENGTHS, _LENGTHS = (1.0, 0.5, 3.0, 0.2), (1e-2, 1e2)


@dataclass(frozen=True)
class GaussianProcessConfig(ControllerNetworkConfig):
    """Gaussian processes; the defaults are the PFNN paper's."""

    samples: int = 3000  # Number of training frames that each process keeps, drawn at random
    # Number of processes around the cycle, of which the two nearest are interpolated; 1 is a single
    # process with the phase as an input.
    phases: int = 1
    seed: int = 0  # Random seed for the draw of the frames

    def __post_init__(self) -> None:
        require_in(self, samples=(1, 1e9), phases=(1, 1e6))
        require(self.phases != 2, "phases must be 1, or 3 and more around the cycle")


class GaussianProcess(ControllerNetwork):
    """Mean predictions of Gaussian processes with a radial kernel (Holden et al. 2017, 8)."""

    is_fitted = True
    seen: Tensor
    solution: Tensor
    mean: Tensor
    length: Tensor

    def __init__(self, dims: NetworkDims, config: GaussianProcessConfig) -> None:
        super().__init__(dims)
        if dims.gate != 1:
            raise ParameterError(
                f"Gaussian processes are gated by one phase, not by {dims.gate} values",
                hint="choose a schema with the gate 'phase'",
            )
        self.config = config
        phases, samples = config.phases, config.samples
        width = dims.inputs + (2 if phases == 1 else 0)
        # Double precision, since distances are small differences and weights cancel in the sum.
        self.register_buffer("seen", torch.zeros(phases, samples, width).double())
        self.register_buffer("solution", torch.zeros(phases, samples, dims.outputs).double())
        self.register_buffer("mean", torch.zeros(phases, dims.outputs))
        self.register_buffer("length", torch.ones(phases))

    def forward(self, inputs: Tensor, gate: Tensor) -> Tensor:
        """(batch, inputs) and (batch, 1) cycles -> (batch, outputs)."""
        self.check_dims(inputs, gate)
        phases = self.config.phases
        x = torch.cat([inputs, phase_circle(gate)], dim=-1) if phases == 1 else inputs
        x = x.double()
        # |x - seen|^2 expanded: one matrix product instead of an array of differences.
        products = torch.einsum("bi,psi->pbs", x, self.seen)
        squares = x.square().sum(-1)[:, None] + self.seen.square().sum(-1)[:, None, :]
        distance = (squares - 2.0 * products).clamp(min=0.0)  # (phases, batch, samples)
        kernel = torch.exp(-0.5 * distance / self.length.square()[:, None, None])
        each = torch.einsum("pbs,pso->pbo", kernel, self.solution).to(inputs) + self.mean[:, None]
        if phases == 1:
            return each[0]
        return torch.einsum("bp,pbo->bo", nearest_two(gate, phases), each)

    def fit(self, inputs: Tensor, gate: Tensor, outputs: Tensor) -> None:
        """Fit to normalised samples (samples, dims) each."""
        self.check_dims(inputs, gate)
        rng = np.random.default_rng(self.config.seed)
        phases, wanted = self.config.phases, self.config.samples
        for index in range(phases):
            candidates = np.arange(len(inputs))
            if phases > 1:
                candidates = np.flatnonzero(nearest_two(gate, phases)[:, index].numpy() > 0.0)
            if len(candidates) < wanted:
                raise ParameterError(
                    f"there are {len(candidates)} samples for a process of {wanted}",
                    hint="lower network.samples, or add clips",
                )
            rows = torch.from_numpy(np.sort(rng.choice(candidates, wanted, replace=False)))
            x = inputs[rows]
            if phases == 1:
                x = torch.cat([x, phase_circle(gate[rows])], dim=-1)
            self._solve(index, x.double().numpy(), outputs[rows].double().numpy())

    def _solve(self, index: int, x: Array, y: Array) -> None:
        mean = y.mean(0)
        every = -(-len(x) // _MAX_FOR_KERNEL)
        length, noise = _kernel(x[::every], (y - mean)[::every])
        distance = np.square(x).sum(1)[:, None] + np.square(x).sum(1) - 2.0 * x @ x.T
        kernel = np.exp(-0.5 * np.maximum(distance, 0.0) / length**2)
        kernel[np.diag_indices(len(x))] += noise
        solution = cho_solve(cho_factor(kernel, lower=True), y - mean)
        for buffer, value in (
            (self.seen, x),
            (self.solution, solution),
            (self.mean, mean),
            (self.length, np.float64(length)),
        ):
            buffer[index] = torch.as_tensor(value, dtype=buffer.dtype)


def nearest_two(phase: Tensor, count: int) -> Tensor:
    """(batch, 1) cycles -> (batch, count): linear weights of the two nearest of `count` phases."""
    numbers = torch.arange(count, device=phase.device, dtype=phase.dtype)
    distance = torch.remainder(count * phase - numbers + 0.5 * count, count) - 0.5 * count
    return (1.0 - distance.abs()).clamp(min=0.0)


def _kernel(x: Array, y: Array) -> tuple[float, float]:
    """Length scale, and noise as a share of the signal's variance, of maximum likelihood."""
    with extra_packages("Gaussian processes"):
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    typical = float(np.sqrt(max(2.0 * x.var(0).sum(), 1e-12)))
    variance = float(max(y.var(), 1e-12))
    for start in _INITIAL_LENGTHS:
        kernel = ConstantKernel(variance, (0.1 * variance, 10.0 * variance))
        kernel = kernel * RBF(start * typical, tuple(length * typical for length in _LENGTHS))
        kernel = kernel + WhiteKernel(1e-2 * variance, (1e-5 * variance, variance))
        with warnings.catch_warnings():
            # Clean motion has its noise at the lower bound.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = GaussianProcessRegressor(kernel).fit(x, y).kernel_
        if fitted.k1.k2.length_scale > 2.0 * _LENGTHS[0] * typical:
            break
    signal, noise = fitted.k1.k1.constant_value, fitted.k2.noise_level
    return float(fitted.k1.k2.length_scale), float(max(noise / signal, _MIN_NOISE))
