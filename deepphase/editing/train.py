"""Training of motion editors on the clips of a store, with Lightning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.editing.config import EditorConfig
from deepphase.editing.data import EditorData
from deepphase.editing.editor import MotionEditor
from deepphase.editing.module import EditorModule
from deepphase.editing.report import editor_report
from deepphase.progress import Progress
from deepphase.training.task import TrainedTask, run_task


def train_editor(
    store: ClipStore,
    config: EditorConfig | None = None,
    *,
    folder: str | Path,
    resume: bool = False,
    description: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **trainer: Any,
) -> MotionEditor | None:
    """Train an editor on all clips of a store.

    Parameters
    ----------
    store
        Clips of one skeleton.
    config
        Network and training; `configs/editor/masked.yaml` if None.
    folder
        Folder of the resume point while the training runs, and of `metrics.csv`.
    resume
        Continue from the resume point in `folder`. On a CPU the final weights equal those of an
        uninterrupted training bit for bit.
    description
        A skeleton description (`load_description`), for skeletons whose roles cannot be inferred
        from names and structure.
    progress
        Called regularly; see `Progress`.
    trainer
        Options of `pytorch_lightning.Trainer`: accelerator, devices, precision, strategy, logger,
        callbacks ...

    Returns
    -------
    The editor, measured on held-out clips; None in all processes but the first of a training on
    several devices.

    Raises
    ------
    ParameterError
        If the config does not fit the clips, or Lightning refuses an option.
    SkeletonError
        If no pair of feet was found.
    KeyboardInterrupt
        If the training is interrupted; the resume point is kept.
    CheckpointError
        If `resume` finds no resume point, or that of another training.
    """
    config = EditorConfig.load("masked") if config is None else config

    def result(data: EditorData, module: EditorModule, run: dict[str, Any]) -> MotionEditor:
        origin = {
            "store": None if store.path is None else Path(store.path).name,
            "skeleton": store.group,
        }
        editor = module.editor(data, provenance={**run, "data": origin})
        return editor.measured(editor_report(editor, data, progress))

    task = TrainedTask(
        config.training.seed,
        data=lambda: EditorData(store, config, description=description, progress=progress),
        module=EditorModule,
        fingerprint=lambda data: editor_fingerprint(config, data),
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)


def editor_fingerprint(config: EditorConfig, data: EditorData) -> dict[str, Any]:
    """Values that two trainings must share for one to continue the other's resume point."""
    return {
        "config": asdict(config),
        "joints": list(data.space.joints),
        "frames": data.frames,
        "clips": len(data.starts),
        "checksum": float(np.abs(data.values).sum(dtype=np.float64)),
    }
