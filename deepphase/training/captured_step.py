"""Training steps on a CUDA device as graphs: one launch in place of hundreds."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor

# Steps before the first graph: cuBLAS and autograd allocate what they keep.
_WARM_UP = 3


class CapturedStep:
    """Loss, gradients and the optimizer's step, captured as a CUDA graph.

    Steps of small networks wait for the launches of their kernels, of which the default phase
    training has 770. A graph launches all of them at once, on a batch that is copied to its inputs.

    Parameters
    ----------
    optimizer
        Its learning rate becomes a tensor, which schedules change in place.
    device
        The CUDA device.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, device: torch.device) -> None:
        self._optimizer, self._stream = optimizer, torch.cuda.Stream(device)
        for group in optimizer.param_groups:
            group["capturable"] = True
            group["lr"] = torch.tensor(float(group["lr"]), device=device)
        self._key: Hashable = None
        self._left = _WARM_UP

    @classmethod
    def of_trainer(cls, trainer: Any) -> CapturedStep | None:
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

    def __call__(self, loss: Callable[..., Tensor], *batch: Tensor) -> Tensor:
        """Take one step, and return its loss.

        Parameters
        ----------
        loss
            Its kernels must depend on shapes and values on the device alone.
        batch
            Its arguments.
        """
        key = tuple((each.shape, each.stride(), each.dtype) for each in batch)
        if key != self._key and self._left:
            self._left -= 1
            return self._launched(loss, batch)
        if key != self._key:
            try:
                self._capture(loss, batch)
            except RuntimeError as error:
                self._left = sys.maxsize
                warnings.warn(
                    "the training step cannot be captured as a CUDA graph, and is slower without: "
                    f"{str(error).splitlines()[0]}",
                    stacklevel=2,
                )
                return self._launched(loss, batch)
            self._key = key
        for own, given in zip(self._inputs, batch, strict=True):
            own.copy_(given)
        self._graph.replay()
        return self._loss

    def _capture(self, loss: Callable[..., Tensor], batch: tuple[Tensor, ...]) -> None:
        self._key = None
        self._inputs = [each.clone() for each in batch]
        # Gradients lie where the graph allocates them.
        self._optimizer.zero_grad()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self._loss = self._step(loss, self._inputs)

    def _launched(self, loss: Callable[..., Tensor], batch: tuple[Tensor, ...]) -> Tensor:
        """A step on another stream than the default one, which graphs cannot use."""
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            self._optimizer.zero_grad()
            value = self._step(loss, batch)
        current.wait_stream(self._stream)
        return value

    def _step(self, loss: Callable[..., Tensor], batch: Any) -> Tensor:
        reduced = torch.is_autocast_enabled("cuda")
        # A cache of cast weights would keep those of the first step.
        with torch.autocast(
            "cuda", torch.get_autocast_dtype("cuda"), enabled=reduced, cache_enabled=False
        ):
            value = loss(*batch)
        value.backward()
        self._optimizer.step()
        return value.detach()
