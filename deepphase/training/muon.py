"""Muon for weights that are matrices, AdamW for all others, as one optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

# Coefficients of the Newton-Schulz iteration, and the number of steps (Jordan et al. 2024).
_QUINTIC = (3.4445, -4.7750, 2.0315)
_STEPS = 5
_MOMENTUM = 0.95
# Root mean square of a change, as a share of the learning rate: about that of AdamW's changes, so
# that one rate suits both.
_SHARE = 0.4


class Muon(torch.optim.AdamW):
    """Gradient descent whose changes of matrices are orthogonal.

    A module whose `weight` is changed so has `input_axes`, the axes of `weight` that count its
    inputs: (0, 1) of a kernel (taps, in, out), (1,) of experts (experts, in, out), whose inputs are
    the same. They are the rows of a matrix, the other axes its columns. Its momentum is replaced by
    the nearest matrix with equal singular values: directions in which the gradient is small are
    learned as fast as the others. All other weights are changed by AdamW, without decay.

    `torch.optim.Muon` takes matrices alone, and a trainer one optimizer.

    Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.
    """

    def __init__(self, network: nn.Module, lr: float, weight_decay: float) -> None:
        made = [module for module in network.modules() if hasattr(module, "input_axes")]
        matrices: list[nn.Parameter] = [module.get_parameter("weight") for module in made]
        self._input_axes: list[tuple[int, ...]] = [tuple(module.input_axes) for module in made]  # type: ignore[arg-type]
        own = set(map(id, matrices))
        others = [weight for weight in network.parameters() if id(weight) not in own]
        super().__init__(
            [
                {"params": matrices, "weight_decay": weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=lr,
            fused=others[0].device.type in ("cpu", "cuda", "mps") if others else None,
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Change all weights by their gradients; the closure, if given, computes these first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        group = self.param_groups[0]
        weights = group["params"]
        gradients = [weight.grad for weight in weights]
        for weight, gradient, axes in zip(weights, gradients, self._input_axes, strict=True):
            if gradient is None:
                continue
            state = self.state[weight]
            if not state:
                # AdamW expects a step in every state that it reads back.
                state["step"], state["momentum"] = torch.zeros(()), torch.zeros_like(gradient)
            state["step"] += 1
            momentum = state["momentum"]
            momentum.lerp_(gradient, 1.0 - _MOMENTUM)
            # Nesterov's: the momentum as it will be.
            change = _orthogonal(gradient.lerp(momentum, _MOMENTUM), axes)
            change *= _SHARE * group["lr"] / (change.square().mean().sqrt() + 1e-12)
            weight.mul_(1.0 - group["lr"] * group["weight_decay"])
            weight.sub_(change)
            # AdamW leaves weights without a gradient as they are.
            weight.grad = None
        super().step()
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        return loss


def _orthogonal(weight: Tensor, input_axes: tuple[int, ...]) -> Tensor:
    """The tensor whose matrix has singular values near 1, by Newton and Schulz's iteration.

    Each step multiplies the matrix by a polynomial of its Gram matrix. The steps are taken on the
    small Gram matrix, whose products are a fraction of those with the whole matrix.
    """
    first = tuple(range(len(input_axes)))
    moved = weight.movedim(input_axes, first)
    matrix = moved.flatten(0, first[-1]).flatten(1)
    wide = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    wide = wide / (torch.linalg.matrix_norm(wide) + 1e-12)
    a, b, c = _QUINTIC
    gram, product = wide @ wide.T, None
    for step in range(_STEPS):
        factor = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        factor.diagonal().add_(a)
        product = factor if product is None else factor @ product
        if step < _STEPS - 1:
            gram = factor @ gram @ factor
    assert product is not None
    wide = product @ wide
    matrix = wide.T if matrix.shape[0] > matrix.shape[1] else wide
    return matrix.reshape(moved.shape).movedim(first, input_axes)
