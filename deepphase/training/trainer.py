"""Options of `pytorch_lightning.Trainer`, and the versions that a training ran on."""

from __future__ import annotations

import difflib
import inspect
import logging
import os
import platform
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
from pytorch_lightning.utilities import rank_zero_only
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from deepphase.errors import ParameterError
from deepphase.packages import version

_LOGGERS = ("pytorch_lightning", "lightning_fabric")
# Options that the config of a training sets, whose steps have each their place in the whole.
_OF_THE_CONFIG = (
    "max_epochs",
    "min_epochs",
    "max_steps",
    "min_steps",
    "limit_train_batches",
    "overfit_batches",
    "fast_dev_run",
    "accumulate_grad_batches",
)


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Keeps Lightning's banners out of the terminal; its warnings to the user and errors stay."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
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


def check_trainer(options: Mapping[str, Any]) -> int:
    """The number of devices that options of `pytorch_lightning.Trainer` train on.

    Raises ParameterError where Lightning refuses an option, or the config sets it.
    """
    known = inspect.signature(pl.Trainer).parameters
    for name, value in options.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise ParameterError(
                f"pytorch_lightning.Trainer has no option {name!r}",
                hint=f"did you mean {near[0]!r}?" if near else "its documentation lists them",
            )
        if name in _OF_THE_CONFIG and value not in (None, False, known[name].default):
            raise ParameterError(
                f"{name}={value!r}: the config sets the steps of a training",
                hint="leave it out: training.windows, training.samples or training.epochs set the "
                "length, training.batch_size the samples of a step",
            )
    try:
        with quiet_lightning():
            return pl.Trainer(**trainer_options(options, max_epochs=1)).world_size
    except (MisconfigurationException, ValueError, TypeError, RuntimeError) as error:
        named = ", ".join(f"{name}={value}" for name, value in options.items())
        raise ParameterError(
            f"Lightning refuses {named}: {' '.join(str(error).split())[:200]}",
            hint="`deepphase doctor` lists the devices",
        ) from None


def trainer_options(
    options: Mapping[str, Any],
    *,
    loggers: Sequence[Logger] = (),
    callbacks: Sequence[pl.Callback] = (),
    **defaults: Any,
) -> dict[str, Any]:
    """Options of a trainer: the user's, with ours where they say nothing.

    The user's callbacks and loggers join ours; `logger=False` leaves out all loggers.
    """
    # None means Lightning's default to Lightning; here it means ours.
    stated = {name: value for name, value in options.items() if value is not None}
    if stated.get("devices") == "auto":
        del stated["devices"]
    own = _listed(stated.pop("callbacks", []))
    logger = stated.pop("logger", True)
    # The user's first: a module's `self.logger` is the first one.
    all_loggers = [*([] if logger is True else _listed(logger)), *loggers]
    return {
        "enable_checkpointing": any(isinstance(callback, Checkpoint) for callback in own),
        "enable_progress_bar": any(isinstance(callback, ProgressBar) for callback in own),
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
        **defaults,
        **_launched(),
        **stated,
        "callbacks": [*callbacks, *own],
        "logger": False if logger is False else all_loggers or False,
    }


def is_first_process() -> bool:
    """Whether this is the first process of a training on several devices, or the only one."""
    return bool(rank_zero_only.rank == 0)  # type: ignore[attr-defined]


def versions() -> dict[str, str]:
    """Of what a training ran on, for a model file's provenance."""
    return {
        "deepphase": version(),
        "python": platform.python_version(),
        **{module.__name__: module.__version__ for module in (torch, pl, np)},
    }


def _launched() -> dict[str, int]:
    """Devices and nodes of the processes that torchrun or SLURM has started; else nothing."""
    environ = os.environ
    if TorchElasticEnvironment.detect():
        processes = int(environ["WORLD_SIZE"])
        nodes = max(processes // int(environ.get("LOCAL_WORLD_SIZE", processes)), 1)
    elif SLURMEnvironment.detect():
        processes = int(environ["SLURM_NTASKS"])
        nodes = int(environ.get("SLURM_NNODES", environ.get("SLURM_JOB_NUM_NODES", "1")))
    else:
        return {}
    return {"devices": processes // nodes, "num_nodes": nodes}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Sequence) else [value]
