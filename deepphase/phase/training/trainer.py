"""Options of `pytorch_lightning.Trainer`, and the versions that a training ran on."""

from __future__ import annotations

import difflib
import inspect
import logging
import platform
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint, ProgressBar
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from deepphase.errors import ParameterError

_BANNERS = ("utilities.rank_zero", "accelerators.cuda", "trainer.setup")
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
_HARDWARE = ("accelerator", "devices", "num_nodes", "strategy", "precision")


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Keeps Lightning's banners out of the terminal; its warnings to the user and errors stay."""
    loggers = [logging.getLogger(f"pytorch_lightning.{name}") for name in _BANNERS]
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
        hardware = any(name in options for name in _HARDWARE)
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
    given = dict(options)
    own = _listed(given.pop("callbacks", None))
    logger = given.pop("logger", True)
    merged: dict[str, Any] = {
        "enable_checkpointing": any(isinstance(each, Checkpoint) for each in own),
        "enable_progress_bar": any(isinstance(each, ProgressBar) for each in own),
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
        **defaults,
        # None means Lightning's default to Lightning; here it means ours.
        **{name: value for name, value in given.items() if value is not None},
        "callbacks": [*callbacks, *own],
    }
    if logger is False:
        return merged | {"logger": False}
    # The user's first: a module's `self.logger` is the first one.
    return merged | {"logger": [*([] if logger is True else _listed(logger)), *loggers] or False}


def versions() -> dict[str, str]:
    """Of what a training ran on, for a model file's provenance."""
    return {
        "deepphase": metadata.version("deepphase"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "pytorch_lightning": pl.__version__,
        "numpy": np.__version__,
    }


def _lightning_default(name: str) -> Any:
    return inspect.signature(pl.Trainer).parameters[name].default


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, Sequence) else [value]
