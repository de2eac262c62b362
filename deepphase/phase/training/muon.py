"""Muon for convolution kernels, AdamW for all other weights, as one optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from deepphase.phase.networks.convolution import Convolution

# Coefficients of the Newton-Schulz iteration, and the number of steps (Jordan et al. 2024).
_QUINTIC = (3.4445, -4.7750, 2.0315)
_STEPS = 5
_MOMENTUM = 0.95
# Root mean square of a change, as a share of the learning rate: about that of AdamW's changes, so
# that one rate suits both.
_SHARE = 0.4


class Muon(torch.optim.AdamW):
    """Gradient descent whose changes of the kernels are orthogonal matrices.

    A kernel (taps, in, out) is a matrix (taps * in, out). Its momentum is replaced by the nearest
    matrix with equal singular values: directions in which the gradient is small are learned as fast
    as the others. All other weights are changed by AdamW, without decay.

    `torch.optim.Muon` takes matrices alone, and a trainer one optimizer.

    Parameters
    ----------
    network
        Its `Convolution` modules have the kernels.
    lr
        Learning rate. The root mean square of a kernel's change is 0.4 times as large, about as
        with AdamW.
    weight_decay
        Decoupled weight decay of the kernels, as a factor on the learning rate.

    Notes
    -----
    Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.
    """

    def __init__(self, network: nn.Module, lr: float, weight_decay: float) -> None:
        kernels = [module.weight for module in network.modules() if isinstance(module, Convolution)]
        own = set(map(id, kernels))
        others = [weight for weight in network.parameters() if id(weight) not in own]
        super().__init__(
            [
                {"params": kernels, "weight_decay": weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=lr,
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Change all weights by their gradients; the closure, if given, computes these first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        group = self.param_groups[0]
        gradients = [kernel.grad for kernel in group["params"]]
        for kernel, gradient in zip(group["params"], gradients, strict=True):
            if gradient is None:
                continue
            state = self.state[kernel]
            if not state:
                # AdamW expects a step in every state that it reads back.
                state["step"], state["momentum"] = torch.zeros(()), torch.zeros_like(gradient)
            state["step"] += 1
            momentum = state["momentum"]
            momentum.lerp_(gradient, 1.0 - _MOMENTUM)
            # Nesterov's: the momentum as it will be.
            change = _orthogonal(gradient.lerp(momentum, _MOMENTUM).flatten(0, 1))
            change /= change.square().mean().sqrt() + 1e-12
            kernel.mul_(1.0 - group["lr"] * group["weight_decay"])
            kernel.add_(change.view_as(kernel), alpha=-_SHARE * group["lr"])
            # AdamW leaves weights without a gradient as they are.
            kernel.grad = None
        super().step()
        for kernel, gradient in zip(group["params"], gradients, strict=True):
            kernel.grad = gradient
        return loss


def _orthogonal(matrix: Tensor) -> Tensor:
    """The matrix with singular values near 1, by Newton and Schulz's iteration."""
    a, b, c = _QUINTIC
    tall = matrix.shape[0] > matrix.shape[1]
    wide = matrix.T if tall else matrix
    wide = wide / (torch.linalg.matrix_norm(wide) + 1e-12)
    for _ in range(_STEPS):
        gram = wide @ wide.T
        wide = a * wide + (b * gram + c * gram @ gram) @ wide
    return wide.T if tall else wide
