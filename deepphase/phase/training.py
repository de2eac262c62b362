"""Learning phases from a corpus of clips, by Lightning."""

from __future__ import annotations

import logging
import math
import platform
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.phase.configuration import PhaseConfig
from deepphase.phase.lesson import PhaseLesson
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.measuring import measured_health
from deepphase.phase.model import PhaseModel, encode_windows
from deepphase.phase.presets import make_autoencoder
from deepphase.phase.resume import WholeCheckpoints, resume_point, sole_training
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.windows import Split, split_by_source
from deepphase.progress import Progress

Array = np.ndarray
_VALIDATIONS = 20
_BANNERS = ("utilities.rank_zero", "accelerators.cuda", "trainer.setup")
# Windows whose reconstruction is measured, at most.
_MEASURED_WINDOWS = 4096
# Frames that the projection is fitted to, at most.
_PROJECTED_FRAMES = 40_000


def train_phase(
    store: ClipStore,
    config: PhaseConfig | None = None,
    *,
    folder: str | Path,
    resume: bool = False,
    description: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **trainer: Any,
) -> PhaseModel | None:
    """Train a phase model on all clips of a store.

    Parameters
    ----------
    store
        Clips of one skeleton.
    config
        The recipe; `configs/phase/default.yaml` if none.
    folder
        Where the resume point is kept while the training runs.
    resume
        Go on from the resume point in `folder`; on a processor this ends in the same weights,
        bit for bit, as a training that was not interrupted.
    description
        A skeleton description (`load_description`), where names and structure do not tell which
        joint is which.
    progress
        Called now and then; see `Progress`.
    trainer
        Options of `pytorch_lightning.Trainer`: accelerator, devices, precision, strategy ...

    Returns
    -------
    The model; None in all processes but the first of a training on several devices.

    Raises
    ------
    ParameterError
        Where the configuration and the clips cannot go together.
    KeyboardInterrupt
        Where it was interrupted; the resume point stays.
    CheckpointError
        Where `resume` finds no resume point, or one of another training.
    """
    config = PhaseConfig.load("default") if config is None else config
    _check_trainer(trainer)
    corpus = SignalCorpus.read(store, progress, description=description)
    window = config.network.window(store.fps)
    options = config.training
    split = split_by_source(
        corpus.starts, corpus.stops, corpus.sources, window, options.held_out, options.seed
    )
    if len(split.train) < options.batch_size:
        raise ParameterError(
            f"{len(split.train)} training windows, fewer than one batch of {options.batch_size}",
            hint="choose a smaller --training.batch_size or add clips",
        )
    torch.manual_seed(options.seed)
    network = make_autoencoder(corpus.values.shape[1], store.fps, config.network)
    lesson = PhaseLesson(network, options, corpus.values, split, corpus.signals.mirror())
    with _quiet_lightning(), sole_training(Path(folder)):
        point = resume_point(Path(folder), fingerprint(config, corpus), resume=resume)
        runner = pl.Trainer(
            max_epochs=lesson.pieces,
            check_val_every_n_epoch=max(lesson.pieces // _VALIDATIONS, 1),
            callbacks=[
                WholeCheckpoints(point),
                *([] if progress is None else [_Report(progress)]),
            ],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
            **trainer,
        )
        try:
            runner.fit(lesson, ckpt_path=str(point) if resume else None, weights_only=True)
        except SystemExit:
            # Lightning turns an interruption into an exit of the whole program.
            raise KeyboardInterrupt from None
        if not runner.is_global_zero:
            return None
    model = PhaseModel(
        network.to("cpu"),
        config,
        corpus.signals,
        provenance=_provenance(store, split, config, runner),
    )
    if progress is not None:
        progress("measuring", 0, 1, "on held-out clips")
    half = model.window // 2
    seen = split.train[:: max(len(split.train) // _PROJECTED_FRAMES, 1)] - half
    manifold = encode_windows(model.network, corpus.values, seen).manifold()
    return replace(
        model,
        health=measured_health(model, corpus.values, split.held_out_ranges),
        projection=ManifoldProjection.fit(manifold),
    )


class _Report(pl.Callback):
    """Passes on how far a training is."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        lesson: PhaseLesson = pl_module
        step = trainer.global_step
        total = lesson.steps(trainer.world_size)
        if trainer.is_global_zero and (step % 20 == 0 or step == total):
            shown = lesson.options.batch_size * trainer.world_size
            words = f"loss {float(lesson.last_loss):.4f}"
            if math.isfinite(lesson.explained):
                words += f", explained {lesson.explained:.3f}"
            self._progress("training", min(step * shown, lesson.windows), lesson.windows, words)


def _check_trainer(options: dict[str, Any]) -> None:
    """Refuse Lightning's options before the clips are read."""
    try:
        with _quiet_lightning():
            pl.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, **options)
    except (MisconfigurationException, ValueError, TypeError, RuntimeError) as error:
        said = " ".join(f"--{name} {value}" for name, value in options.items())
        raise ParameterError(
            f"Lightning refuses {said}: {' '.join(str(error).split())[:200]}",
            hint="`deepphase doctor` lists the devices",
        ) from None


def fingerprint(config: PhaseConfig, corpus: SignalCorpus) -> dict[str, Any]:
    """What two trainings must share for one to go on where the other stopped."""
    return {
        "config": asdict(config),
        "joints": list(corpus.signals.joints),
        "fps": corpus.signals.fps,
        "frames": len(corpus.values),
        "clips": len(corpus.starts),
        "checksum": float(np.abs(corpus.values).sum(dtype=np.float64)),
    }


def _provenance(
    store: ClipStore, split: Split, config: PhaseConfig, runner: pl.Trainer
) -> dict[str, Any]:
    return {
        "clips": len(store),
        "minutes": store.frames / store.fps / 60,
        "training_windows": len(split.train),
        "held_out_windows": len(split.held_out),
        "clips_too_short": split.too_short,
        "seed": config.training.seed,
        "steps": runner.global_step,
        "precision": str(runner.precision),
        "data": {
            "store": None if store.path is None else Path(store.path).name,
            "skeleton": store.group,
            "files": sorted({source.path for source in store.sources}),
        },
        "versions": {
            "deepphase": metadata.version("deepphase"),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "pytorch_lightning": pl.__version__,
            "numpy": np.__version__,
        },
    }


@contextmanager
def _quiet_lightning() -> Iterator[None]:
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
