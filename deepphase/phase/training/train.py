"""Learning phases from a corpus of clips, by Lightning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.config import PhaseConfig
from deepphase.phase.model import PhaseModel
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.module import PhaseModule
from deepphase.phase.training.resumable import fit
from deepphase.phase.training.resume import resume_point, sole_training
from deepphase.phase.training.trainer import check_trainer
from deepphase.phase.training.watching import Watch, Watcher
from deepphase.progress import Progress


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
        Network and training; `configs/phase/default.yaml` if None.
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
        Options of `pytorch_lightning.Trainer`: accelerator, devices, precision, strategy, logger,
        callbacks, gradient_clip_val ... Loggers and callbacks join those of the training, which
        writes its metrics to `folder`/metrics.csv; `logger=False` leaves these out.

    Returns
    -------
    The model; None in all processes but the first of a training on several devices.

    Raises
    ------
    ParameterError
        Where the configuration and the clips cannot go together, Lightning refuses an option, or
        a training that can be resumed cannot have it: its length is that of the configuration.
    KeyboardInterrupt
        Where it was interrupted; the resume point stays.
    CheckpointError
        Where `resume` finds no resume point, or one of another training.
    """
    config = PhaseConfig.load("default") if config is None else config
    check_trainer(trainer)
    data = PhaseData(clips, config, description=description, progress=progress)
    torch.manual_seed(config.training.seed)
    module = PhaseModule(config, data.signals)
    with sole_training(Path(folder)):
        point = resume_point(Path(folder), phase_fingerprint(config, data.corpus), resume=resume)
        runner = fit(
            module,
            point,
            data=data,
            resume=resume,
            progress=progress,
            callbacks=[] if watch is None else [Watcher(watch, data)],
            trainer=trainer,
        )
        if not runner.is_global_zero:
            return None
    return module.phase_model(
        data,
        provenance={"steps": runner.global_step, "precision": str(runner.precision)},
        progress=progress,
    )


def phase_fingerprint(config: PhaseConfig, corpus: SignalCorpus) -> dict[str, Any]:
    """What two trainings must share for one to go on where the other stopped."""
    return {
        "config": asdict(config),
        "signals": corpus.signals.names,
        "fps": corpus.signals.fps,
        "frames": len(corpus.values),
        "clips": len(corpus.starts),
        "checksum": float(np.abs(corpus.values).sum(dtype=np.float64)),
    }
