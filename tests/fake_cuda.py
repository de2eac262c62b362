"""Fake tensors on an accelerator: shapes and devices without arithmetic, and without a GPU.

`FakeTensorMode` refuses any operation on tensors of different devices. A tensor that is left on the
CPU is therefore found on a machine without a GPU::

    with fake_cuda() as device:
        network = to_device(network, device)
        network(torch.zeros(2, 3, device=device))

Values do not exist: `float(tensor)` and branches on values raise errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

Module = TypeVar("Module", bound=nn.Module)


@contextmanager
def fake_cuda() -> Iterator[torch.device]:
    """Context in which all tensors are fake; yields the device to put them on.

    The device is cuda:0. Builds of PyTorch without CUDA have neither device guards nor autograd
    streams for it: there it is "meta", which fake tensors keep apart from the CPU in the same way.
    `Tensor.numpy` gives zeros for tensors on the CPU and raises for all others, as for real ones.
    """
    device = torch.device("cuda:0" if torch.backends.cuda.is_built() else "meta")
    with (
        patch.object(FakeTensor, "numpy", _zeros, create=True),
        patch.object(torch, "autocast", _autocast),
        patch.object(torch, "is_autocast_enabled", _is_autocast_enabled),
        FakeTensorMode(allow_non_fake_inputs=True),
    ):
        yield device


def to_device(module: Module, device: torch.device) -> Module:
    """The module with fake parameters and buffers on the device; other tensors stay.

    `Module.to` cannot replace real parameters by fake ones.
    """
    moved: dict[int, Tensor] = {}
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None and id(parameter) not in moved:
                fake = torch.empty(parameter.shape, dtype=parameter.dtype, device=device)
                moved[id(parameter)] = nn.Parameter(fake, parameter.requires_grad)
            part._parameters[name] = None if parameter is None else moved[id(parameter)]
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype, device=device)
    return module


class _autocast(torch.autocast):
    """`torch.autocast` that knows the device of gradients as well."""

    def __init__(self, device_type: str, *args: object, **options: object) -> None:
        super().__init__("cuda" if device_type == "meta" else device_type, *args, **options)


def _is_autocast_enabled(device_type: str) -> bool:
    return device_type != "meta" and _enabled(device_type)


_enabled = torch.is_autocast_enabled


def _zeros(tensor: FakeTensor) -> np.ndarray:
    if tensor.device.type != "cpu":
        raise TypeError(f"can't convert {tensor.device} device type tensor to numpy")
    return np.zeros(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))
