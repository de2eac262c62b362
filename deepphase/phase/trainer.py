"""What all trainings ask of Lightning: silence, options that are refused early, and provenance."""

from __future__ import annotations

import logging
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from deepphase.errors import ParameterError

_BANNERS = ("utilities.rank_zero", "accelerators.cuda", "trainer.setup")


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


def check_trainer(options: dict[str, Any]) -> None:
    """Refuse options of `pytorch_lightning.Trainer` before the clips are read.

    Raises ParameterError, which names them.
    """
    try:
        with quiet_lightning():
            pl.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, **options)
    except (MisconfigurationException, ValueError, TypeError, RuntimeError) as error:
        said = " ".join(f"--{name} {value}" for name, value in options.items())
        raise ParameterError(
            f"Lightning refuses {said}: {' '.join(str(error).split())[:200]}",
            hint="`deepphase doctor` lists the devices",
        ) from None


def versions() -> dict[str, str]:
    """Of what a training ran on, for a model file's provenance."""
    return {
        "deepphase": metadata.version("deepphase"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "pytorch_lightning": pl.__version__,
        "numpy": np.__version__,
    }
