"""Training of learned motion matching on a database."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.assembly import new_matcher
from deepphase.matching.learned.config import LearnedConfig
from deepphase.matching.learned.data import LearnedData
from deepphase.matching.learned.health import matcher_health
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.learned.module import LearnedModule
from deepphase.matching.player.moment_filter import MomentFilter
from deepphase.progress import Progress
from deepphase.training.task import TrainedTask, run_task
from deepphase.training.trainer import versions


def train_matcher(
    database: MotionDatabase,
    config: LearnedConfig | None = None,
    *,
    folder: str | Path | None = None,
    moments: MomentFilter | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> Matcher | None:
    """Compress a motion database: train the networks of learned motion matching on it.

    Further parameters are those of :func:`deepphase.training.task.run_task`, which also says what
    is raised.

    Parameters
    ----------
    database
        A database whose features have a trajectory ahead.
    config
        Networks and training; `configs/learned/default.yaml` if None.
    moments
        The moments that are played; idle and locomotion by default.

    Returns
    -------
    The matcher, measured on rows of the database; None in all processes but the first of a
    training on several devices.

    References
    ----------
    Holden, Kanoun, Perepichka and Popa 2020, Learned Motion Matching.
    """
    config = LearnedConfig.load("default") if config is None else config

    def result(data: LearnedData, module: LearnedModule, run: dict[str, Any]) -> Matcher:
        name = "" if database.path is None else database.path.name
        made = {**run, "database": name, "seed": config.training.seed, "versions": versions()}
        matcher = new_matcher(module.to("cpu"), {**dict(database.made_with), **made})
        return replace(matcher, health=matcher_health(matcher, data))

    task = TrainedTask(
        config.training.seed,
        data=lambda: LearnedData(database, config, moments=moments, progress=progress),
        module=LearnedModule,
        fingerprint=lambda data: {
            "config": asdict(config),
            "rows": len(data.database),
            "database": data.database.arrays_sha256,
            "played": int(data.playable.sum()),
        },
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)
