"""Learning phases from a corpus of clips, by Lightning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.phase.configuration import PhaseConfig
from deepphase.phase.lesson import PhaseLesson
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.measuring import measured_health
from deepphase.phase.model import PhaseModel, encode_windows
from deepphase.phase.piecewise import fit
from deepphase.phase.presets import make_autoencoder
from deepphase.phase.resume import resume_point, sole_training
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.trainer import check_trainer, versions
from deepphase.phase.watching import Watch, Watcher
from deepphase.phase.windows import Split, split_by_source
from deepphase.progress import Progress

Array = np.ndarray
# Frames that the projection is fitted to, at most.
_PROJECTED_FRAMES = 40_000


def train_phase(
    clips: ClipStore | SignalCorpus,
    config: PhaseConfig | None = None,
    *,
    folder: str | Path,
    resume: bool = False,
    description: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    **trainer: Any,
) -> PhaseModel | None:
    """Train a phase model on all clips of a store, or on the signals of songs.

    Parameters
    ----------
    clips
        Clips of one skeleton; or signals, as of songs (`SignalCorpus.of_songs`).
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
    watch
        Is shown the training some twenty times and at its end; see `TrainingView`.
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
    check_trainer(trainer)
    corpus: SignalCorpus[Any] = (
        clips
        if isinstance(clips, SignalCorpus)
        else SignalCorpus.read(clips, progress, description=description)
    )
    fps = corpus.signals.fps
    window = config.network.window(fps)
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
    network = make_autoencoder(corpus.values.shape[1], fps, config.network)
    lesson = PhaseLesson(network, options, corpus.values, split, corpus.signals.mirror())
    with sole_training(Path(folder)):
        point = resume_point(Path(folder), fingerprint(config, corpus), resume=resume)
        watchers = [] if watch is None else [Watcher(watch, config, corpus, split)]
        runner = fit(
            lesson, point, resume=resume, progress=progress, callbacks=watchers, trainer=trainer
        )
        if not runner.is_global_zero:
            return None
    model = PhaseModel(
        network.to("cpu"),
        config,
        corpus.signals,
        provenance=_provenance(corpus, split, config, runner),
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


def fingerprint(config: PhaseConfig, corpus: SignalCorpus) -> dict[str, Any]:
    """What two trainings must share for one to go on where the other stopped."""
    return {
        "config": asdict(config),
        "signals": corpus.signals.names,
        "fps": corpus.signals.fps,
        "frames": len(corpus.values),
        "clips": len(corpus.starts),
        "checksum": float(np.abs(corpus.values).sum(dtype=np.float64)),
    }


def _provenance(
    corpus: SignalCorpus, split: Split, config: PhaseConfig, runner: pl.Trainer
) -> dict[str, Any]:
    return {
        "clips": len(corpus.starts),
        "minutes": len(corpus.values) / corpus.signals.fps / 60,
        "training_windows": len(split.train),
        "held_out_windows": len(split.held_out),
        "clips_too_short": split.too_short,
        "seed": config.training.seed,
        "steps": runner.global_step,
        "precision": str(runner.precision),
        "data": dict(corpus.origin),
        "versions": versions(),
    }
