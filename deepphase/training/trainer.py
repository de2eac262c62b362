"""Options of `pytorch_lightning.Trainer`, and the versions that a training ran on."""

from __future__ import annotations

import difflib
import inspect
import logging
import os
import platform
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments import SLURMEnvironment, TorchElasticEnvironment
from pytorch_lightning.callbacks import Checkpoint, ProgressBar
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from deepphase.checkout import version
from deepphase.errors import ParameterError

_BANNERS = (
    "pytorch_lightning.utilities.rank_zero",
    "pytorch_lightning.accelerators.cuda",
    "pytorch_lightning.trainer.setup",
    "lightning_fabric.utilities.rank_zero",
    "lightning_fabric.utilities.distributed",
)
_LENGTH = "training.windows, training.samples or training.epochs set the length of a training"
# A resumed training ends in the same weights because each step has its place in the whole
# training. Option -> how to reach what it is for.
_IMPOSSIBLE = {
    "max_epochs": _LENGTH,
    "min_epochs": _LENGTH,
    "max_steps": _LENGTH,
    "min_steps": _LENGTH,
    "limit_train_batches": _LENGTH,
    "overfit_batches": _LENGTH,
    "fast_dev_run": _LENGTH,
    "accumulate_grad_batches": "training.batch_size sets the samples of a step",
}
# Timed products of each precision, of which the quickest counts.
_TRIALS = 5
HARDWARE = ("accelerator", "devices", "num_nodes", "strategy", "precision", "plugins")


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Keeps Lightning's banners out of the terminal; its warnings to the user and errors stay."""
    loggers = [logging.getLogger(name) for name in _BANNERS]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.WARNING)
        with warnings.catch_warnings():
            # Lightning's own use of a torch name that is on its way out.
            warnings.filterwarnings("ignore", message=".*LeafSpec.*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def check_trainer(options: Mapping[str, Any]) -> None:
    """Refuse options of `pytorch_lightning.Trainer` before the clips are read.

    Raises
    ------
    ParameterError
        Where Lightning refuses an option, or a training that can be resumed cannot have it.
    """
    for name, way_out in _IMPOSSIBLE.items():
        # These are Lightning's own defaults: they ask for nothing.
        if options.get(name) not in (None, False, _lightning_default(name)):
            raise ParameterError(
                f"{name}={options[name]!r} would end a resumed training in other weights",
                hint=f"leave it out: {way_out}",
            )
    known = inspect.signature(pl.Trainer).parameters
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise ParameterError(
                f"pytorch_lightning.Trainer has no option {name!r}",
                hint=f"did you mean {near[0]!r}?" if near else "its documentation lists them",
            )
    try:
        with quiet_lightning():
            pl.Trainer(**trainer_options(options, max_epochs=1))
    except (MisconfigurationException, ValueError, TypeError, RuntimeError) as error:
        named = " ".join(f"--{name} {value}" for name, value in options.items())
        hardware = any(name in options for name in HARDWARE)
        raise ParameterError(
            f"Lightning refuses {named}: {' '.join(str(error).split())[:200]}",
            hint="`deepphase doctor` lists the devices" if hardware else "",
        ) from None


def trainer_options(
    options: Mapping[str, Any],
    *,
    loggers: Sequence[Logger] = (),
    callbacks: Sequence[pl.Callback] = (),
    **defaults: Any,
) -> dict[str, Any]:
    """Options of a trainer: the user's, with ours where they say nothing.

    Parameters
    ----------
    options
        The user's. Their callbacks and loggers join ours; `logger=False` leaves out all loggers.
    loggers, callbacks
        Ours.
    defaults
        Our values of other options.
    """
    given = _launched_hardware(options)
    own = _listed(given.pop("callbacks", None))
    logger = given.pop("logger", True)
    # None means Lightning's default to Lightning; here it means ours.
    merged: dict[str, Any] = {
        "enable_checkpointing": any(isinstance(each, Checkpoint) for each in own),
        "enable_progress_bar": any(isinstance(each, ProgressBar) for each in own),
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
        **defaults,
        **given,
        "callbacks": [*callbacks, *own],
    }
    if logger is False:
        return merged | {"logger": False}
    # The user's first: a module's `self.logger` is the first one.
    return merged | {"logger": [*([] if logger is True else _listed(logger)), *loggers] or False}


def warn_of_slow_bfloat16(precision: str) -> None:
    """Warn where a training on this CPU is slower in bfloat16 than in float32."""
    if not precision.startswith("bf16"):
        return
    spent = []
    for kind in (torch.float32, torch.bfloat16):
        factors = torch.ones((2, 256, 256), dtype=kind)
        times = []
        for _ in range(_TRIALS):
            began = time.perf_counter()
            factors[0] @ factors[1]
            times.append(time.perf_counter() - began)
        spent.append(min(times))
    if spent[1] > spent[0]:
        warnings.warn(
            f"products in bfloat16 take {spent[1] / spent[0]:.1f} times as long as in float32 on "
            "this processor; leave out --precision",
            stacklevel=2,
        )


def launched() -> tuple[str, int, int] | None:
    """Launcher, number of its processes and of its nodes."""
    if TorchElasticEnvironment.detect():
        processes = int(os.environ["WORLD_SIZE"])
        each = int(os.environ.get("LOCAL_WORLD_SIZE", processes))
        return "torchrun", processes, max(processes // each, 1)
    if SLURMEnvironment.detect():
        nodes = os.environ.get("SLURM_NNODES", os.environ.get("SLURM_JOB_NUM_NODES", "1"))
        return "SLURM", int(os.environ["SLURM_NTASKS"]), int(nodes)
    return None


def restarted() -> bool:
    """Whether torchrun has started the processes again after the end of one (`--max-restarts`)."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def versions() -> dict[str, str]:
    """Of what a training ran on, for a model file's provenance."""
    return {
        "deepphase": version(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "pytorch_lightning": pl.__version__,
        "numpy": np.__version__,
    }


def _launched_hardware(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a trainer, with the devices and nodes of torchrun or SLURM where none are given.

    Raises
    ------
    ParameterError
        If the devices are not as many as the processes that torchrun or SLURM has started.
    """
    found = launched()
    given = {name: value for name, value in options.items() if value is not None}
    if found is None:
        return given
    launcher, processes, nodes = found
    if given.get("devices", "auto") == "auto":
        given["devices"] = processes // nodes
    given.setdefault("num_nodes", nodes)
    devices = given["devices"]
    if isinstance(devices, int) and devices * given["num_nodes"] != processes:
        raise ParameterError(
            f"{launcher} has started {processes} processes on {nodes} nodes, not {devices} on each "
            f"of {given['num_nodes']}",
            hint="leave out --devices and --num-nodes, or start as many processes",
        )
    return given


def _lightning_default(name: str) -> Any:
    return inspect.signature(pl.Trainer).parameters[name].default


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, Sequence) else [value]
