"""Steps of a training: Muon, CUDA graphs of whole steps, and the fastest number of threads."""

from __future__ import annotations

import os
import statistics
import sys
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

Loss = Callable[..., tuple[Tensor, Tensor]]
"""A function of a batch's tensors: the loss of a training step, and what is shown of it."""

# Steps of a shape, a third of the last ones, before its graph: cuBLAS and autograd allocate what
# they keep.
_WARM_UP = 3
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


class CapturedStep:
    """Loss, gradients and the optimizer's step, captured as CUDA graphs: one for each shape.

    Steps of small networks wait for the launches of their kernels, of which the default phase
    training has 770. A graph launches all of them at once, on a batch that is copied to its inputs.
    Random numbers in it are those of torch's default generator as it was seeded before the step.
    The optimizer's learning rate becomes a tensor, which schedules change in place.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, device: torch.device) -> None:
        self._optimizer, self._stream = optimizer, torch.cuda.Stream(device)
        for group in optimizer.param_groups:
            group["capturable"] = True
            group["lr"] = torch.tensor(float(group["lr"]), device=device)
        # Graphs that follow one another share their memory.
        self._pool = torch.cuda.graph_pool_handle()
        self._graphs: dict[Hashable, _Graph] = {}
        self._last: deque[Hashable] = deque(maxlen=3 * _WARM_UP)
        self._fails = False

    @classmethod
    def from_trainer(cls, trainer: Any) -> CapturedStep | None:
        """The step of a trainer on one CUDA device; None where Lightning's own is needed."""
        plain = (
            trainer.strategy.root_device.type == "cuda"
            and trainer.world_size == 1
            and trainer.gradient_clip_val is None
            and trainer.accumulate_grad_batches == 1
            # Scaled gradients are checked for overflows on the CPU.
            and str(trainer.precision) != "16-mixed"
        )
        (optimizer,) = trainer.optimizers
        return cls(optimizer, trainer.strategy.root_device) if plain else None

    def __call__(self, loss: Loss, *batch: Tensor) -> tuple[Tensor, Tensor]:
        """Take one step, and return what `loss` returns for a batch.

        Its kernels must depend on shapes and values on the device alone.
        """
        key = (loss, *((tensor.shape, tensor.dtype) for tensor in batch))
        graph = self._graphs.get(key)
        if graph is None:
            # Shapes that come now and then are not worth their graphs.
            if not self._fails and self._last.count(key) >= _WARM_UP:
                graph = self._captured(key, loss, batch)
            self._last.append(key)
        if graph is None:
            return self._launched(loss, batch)
        for own, given in zip(graph.inputs, batch, strict=True):
            own.copy_(given)
        graph.graph.replay()
        return graph.values

    def _captured(self, key: Hashable, loss: Loss, batch: tuple[Tensor, ...]) -> _Graph | None:
        """The graph of a step, which is not taken; None where none can be made."""
        inputs, graph = [tensor.clone() for tensor in batch], torch.cuda.CUDAGraph()
        # Gradients lie where the graph allocates them.
        self._optimizer.zero_grad()
        try:
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                values = self._step(loss, inputs)
        except RuntimeError as error:
            self._fails = True
            warnings.warn(
                "the training step cannot be captured as a CUDA graph, and is slower without: "
                f"{str(error).splitlines()[0]}",
                stacklevel=3,
            )
            # The generator still counts as captured.
            generator = torch.cuda.default_generators[inputs[0].device.index]
            generator.graphsafe_set_state(generator.clone_state())
            return None
        self._graphs[key] = _Graph(graph, inputs, values)
        return self._graphs[key]

    def _launched(self, loss: Loss, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """A step on another stream than the default one, which graphs cannot use."""
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            self._optimizer.zero_grad()
            values = self._step(loss, batch)
        current.wait_stream(self._stream)
        return values

    def _step(self, loss: Loss, batch: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        reduced = torch.is_autocast_enabled("cuda")
        # A cache of cast weights would keep those of the first step.
        with torch.autocast(
            "cuda", torch.get_autocast_dtype("cuda"), enabled=reduced, cache_enabled=False
        ):
            value, shown = loss(*batch)
        value.backward()
        self._optimizer.step()
        return value.detach(), shown.detach()


class _Graph(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor]
    # What the loss returned, after each replay
    values: tuple[Tensor, Tensor]


# Steps that are timed with each number of threads.
_TIMED = 4


@contextmanager
def threads_after() -> Iterator[int]:
    """Context with torch's number of threads, after which there are as many as before."""
    count = torch.get_num_threads()
    try:
        yield count
    finally:
        torch.set_num_threads(count)


@dataclass
class FastestThreads:
    """Times steps of `_work` with 1, 2, 4 ... threads, and takes the fastest from then on."""

    _work: str
    _best: int = 0
    _most: int = 0
    _left: list[int] = field(default_factory=list)
    _spent: dict[int, list[float]] = field(default_factory=partial(defaultdict, list))

    @contextmanager
    def step(self, most: int) -> Iterator[None]:
        """Context of a step with at most so many threads; they stay as they are after it."""
        if not self._best and not self._left:
            self._left, self._most = timed_counts(most), most
        is_timed = bool(self._left) and most == self._most
        count = self._left[0] if is_timed else min(self._best or most, most)
        torch.set_num_threads(count)
        began = time.perf_counter()
        yield
        if is_timed:
            self._add(count, time.perf_counter() - began, most)

    def _add(self, count: int, seconds: float, most: int) -> None:
        self._spent[count].append(seconds)
        # The first step makes the threads.
        times = {each: statistics.median(spent[1:] or spent) for each, spent in self._spent.items()}
        best = min(times, key=times.__getitem__)
        self._left = self._left[1:]
        if len(self._spent[count]) > 1 and times[count] > 2.0 * times[best]:
            # More threads are slower still.
            self._left = []
        if not self._left:
            torch.set_num_threads(best)
            self._best = best
            words = f"deepphase: {self._work} by {best} of {most} threads, which are fastest now"
            print(f"{words}; OMP_NUM_THREADS overrules", file=sys.stderr)


def timed_counts(most: int) -> list[int]:
    """The number of threads of each step that is timed; none where there is nothing to choose."""
    counts = sorted({*(1 << power for power in range(most.bit_length())), most})
    # OpenMP warns of a value that is no number, and takes all cores.
    stated = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    chooses = most > 1 and not stated.isdecimal()
    return [count for count in counts for _ in range(_TIMED)] if chooses else []
