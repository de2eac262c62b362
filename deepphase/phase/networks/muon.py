"""Muon, the optimizer of networks whose layers apply one kernel to many inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
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
# Gram matrices of fewer rows are one batch.
_SMALL = 128


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

    def __init__(
        self, network: nn.Module, lr: float, weight_decay: float, fused: bool | None = None
    ) -> None:
        modules = [module for module in network.modules() if hasattr(module, "input_axes")]
        matrices = [module.get_parameter("weight") for module in modules]
        self._input_axes: list[tuple[int, ...]] = [tuple(module.input_axes) for module in modules]  # type: ignore[arg-type]
        own = set(map(id, matrices))
        others = [weight for weight in network.parameters() if id(weight) not in own]
        groups = (matrices, weight_decay), (others, 0.0)
        super().__init__(
            [{"params": params, "weight_decay": decay} for params, decay in groups],
            lr=lr,
            fused=fused,
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Change all weights by their gradients; the closure, if given, computes these first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        group = self.param_groups[0]
        every = zip(group["params"], self._input_axes, strict=True)
        kernels = [(weight, axes) for weight, axes in every if weight.grad is not None]
        weights = [weight for weight, _ in kernels]
        gradients = [weight.grad for weight in weights]
        states = [self.state[weight] for weight in weights]
        for weight, state in zip(weights, states, strict=True):
            if not state:
                # AdamW expects a step in every state that it reads back.
                state["step"], state["momentum"] = torch.zeros(()), torch.zeros_like(weight)
            # AdamW leaves weights without a gradient as they are.
            weight.grad = None
        if weights:
            torch._foreach_add_([state["step"] for state in states], 1)
            momenta = [state["momentum"] for state in states]
            torch._foreach_lerp_(momenta, gradients, 1.0 - _MOMENTUM)
            # Nesterov's: the momentum as it will be.
            ahead = torch._foreach_lerp(gradients, momenta, _MOMENTUM)
            changes = _orthogonal(ahead, [axes for _, axes in kernels])
            rates = torch._foreach_norm(changes)
            torch._foreach_div_(rates, [change.numel() ** 0.5 for change in changes])
            torch._foreach_add_(rates, 1e-12)
            torch._foreach_reciprocal_(rates)
            torch._foreach_mul_(rates, _SHARE * group["lr"])
            torch._foreach_mul_(changes, rates)
            torch._foreach_mul_(weights, 1.0 - group["lr"] * group["weight_decay"])
            torch._foreach_sub_(weights, changes)
        super().step()
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        return loss


def _orthogonal(weights: Sequence[Tensor], input_axes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """The tensors whose matrices have singular values near 1, by Newton and Schulz's iteration."""
    firsts = [tuple(range(len(axes))) for axes in input_axes]
    moved = list(map(torch.movedim, weights, input_axes, firsts))
    matrices = [
        each.flatten(0, first[-1]).flatten(1) for each, first in zip(moved, firsts, strict=True)
    ]
    changes = []
    for index, factor in enumerate(_factors(matrices)):
        matrix = matrices[index]
        change = factor @ matrix if len(factor) == len(matrix) else matrix @ factor
        changes.append(change.view(moved[index].shape).movedim(firsts[index], input_axes[index]))
    return changes


def _factors(matrices: Sequence[Tensor]) -> list[Tensor]:
    """Factors, on the shorter side of matrices, that make these orthogonal.

    Each step multiplies by a polynomial of the small Gram matrices. Those of one size, and small
    ones with zeros beside them, are one batch.
    """
    wide = [matrix.T if matrix.shape[0] > matrix.shape[1] else matrix for matrix in matrices]
    groups: dict[int, list[int]] = defaultdict(list)
    for index, matrix in enumerate(wide):
        groups[max(len(matrix), _SMALL)].append(index)
    a, b, c = _QUINTIC
    factors: list[Tensor] = [*wide]
    for indices in groups.values():
        most = max(len(wide[index]) for index in indices)
        gram, product = wide[0].new_zeros(len(indices), most, most), None
        for index, square in zip(indices, gram, strict=True):
            own = wide[index]
            torch.mm(own, own.T, out=square[: len(own), : len(own)])
        scale = (gram.diagonal(dim1=1, dim2=2).sum(1) + 1e-24).rsqrt()[:, None, None]
        gram *= scale.square()
        for step in range(_STEPS):
            factor = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
            factor.diagonal(dim1=1, dim2=2).add_(a)
            product = factor if product is None else torch.bmm(factor, product)
            if step < _STEPS - 1:
                gram = torch.bmm(torch.bmm(factor, gram), factor)
        assert product is not None
        for index, made in zip(indices, product * scale, strict=True):
            factors[index] = made[: len(wide[index]), : len(wide[index])]
    return factors
