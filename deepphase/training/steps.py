"""Steps of a training: CUDA graphs of whole steps, and the fastest number of threads."""

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
from torch import Tensor

Loss = Callable[..., tuple[Tensor, Tensor]]
"""A function of a batch's tensors: the loss of a training step, and what is shown of it."""

# Steps of a shape, a third of the last ones, before its graph: cuBLAS and autograd allocate what
# they keep.
_WARM_UP = 3


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
