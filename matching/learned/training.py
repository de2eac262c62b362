"""Training of learned motion matching on a database, and the measures of what it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.body import MatcherBody
from deepphase.matching.learned.data import LearnedData
from deepphase.matching.learned.kept_states import KeptStates
from deepphase.matching.learned.matcher import Layer, LearnedConfig, Matcher, rounded
from deepphase.matching.learned.module import LearnedModule
from deepphase.matching.player.settings import MomentFilter
from deepphase.matching.player.source import database_measures
from deepphase.motion import quaternions
from deepphase.progress import Progress
from deepphase.training.task import TrainedTask, run_task, versions


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


def new_matcher(module: LearnedModule, provenance: Mapping[str, Any]) -> Matcher:
    """The matcher of a trained module, with normalisations in its layers, rounded as in a file."""
    data, latents = module.data, module.latents()
    playback, database = data.playback, data.database
    count = torch.zeros(latents.shape[1])
    read = (
        torch.cat([module.feature_mean, count]),
        torch.cat([module.feature_scale, count + 1.0]),
    )
    kept = replace(data.kept, latents=latents)
    features, latents = (
        numbers * step for numbers, step in map(rounded, (kept.features, kept.latents))
    )
    clips, frames = database.clip_of(data.firsts), database.frame_of(data.firsts)
    rows = data.rows_of(np.arange(len(kept)))
    return Matcher(
        config=data.config,
        body=MatcherBody.from_playback(playback, database.body, data.playable),
        layout=database.layout,
        normalisation=database.normalisation,
        values=data.values,
        kept=KeptStates(features, latents, kept.spacing, kept.counts),
        offered=data.offered,
        names=tuple(
            database.clip_names[clip] + (f" from frame {frame}" if frame else "")
            for clip, frame in zip(clips.tolist(), frames.tolist(), strict=True)
        ),
        labels=tuple(database.labels[clip] for clip in clips.tolist()),
        contacts=playback.contacts[rows],
        kinds=np.asarray(database.kinds)[rows],
        decompressor=folded(
            module.network.decompressor, read, (module.pose_mean, module.pose_scale)
        ),
        data=database_measures(database, playback),
        provenance=dict(provenance),
    )


def folded(
    network: nn.Module, before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor]
) -> tuple[Layer, ...]:
    """Layers that read and give raw values."""
    linear = [each for each in network.modules() if isinstance(each, nn.Linear)]
    parts = [(each.weight.detach().T.double(), each.bias.detach().double()) for each in linear]
    mean, scale = (each.double() for each in before)
    weight, bias = parts[0]
    weight = weight / scale[:, None]
    parts[0] = (weight, bias - mean @ weight)
    mean, scale = (each.double() for each in after)
    weight, bias = parts[-1]
    parts[-1] = (weight * scale, bias * scale + mean)
    return tuple(Layer(weight.float().numpy(), bias.float().numpy()) for weight, bias in parts)


# Moments that are measured, and successive rows of each.
_MOMENTS, _FRAMES = 2_000, 4


def matcher_health(matcher: Matcher, data: LearnedData) -> dict[str, Any]:
    """Measures of a matcher on moments spread over its database.

    Returns ``pose_error_cm``, ``pose_error_95_cm`` and ``rotation_error_degrees`` of decompressed
    poses, in. root space; ``root_speed_error``, m/s; and ``speed_ratio`` and ``jerk_ratio``: of the
    joints. in root space, the mean over that of the database.
    """
    rows = data.measured_rows
    rows = rows[rows + _FRAMES <= data.kept.stops[data.kept.stretch_of(rows)]]
    rows = rows[:: max(len(rows) // _MOMENTS, 1)][:, None] + np.arange(_FRAMES)
    motion, playback = matcher.motion, data.playback
    found = [getattr(motion, name)[rows] for name in ("rotations", "translations", "steps")]
    truth = data.poses(data.rows_of(rows))
    places = [playback.positions(*each[:2]) for each in (found, truth)]
    apart = 100.0 * np.linalg.norm(places[0] - places[1], axis=-1)
    turns = quaternions.multiply(found[0], quaternions.conjugate(truth.rotations))
    angles = 2.0 * np.degrees(np.arccos(np.clip(np.abs(turns[..., 3]), 0.0, 1.0)))
    speeds, jerks = (
        [np.linalg.norm(np.diff(each, order, axis=1), axis=-1).mean() for each in places]
        for order in (1, 3)
    )
    steps = (found[2] - truth.steps)[..., :2] * matcher.fps
    return {
        "pose_error_cm": float(apart.mean()),
        "pose_error_95_cm": float(np.percentile(apart, 95)),
        "rotation_error_degrees": float(angles[..., list(data.values.body)].mean()),
        "root_speed_error": float(np.linalg.norm(steps, axis=-1).mean()),
        "speed_ratio": float(speeds[0] / max(speeds[1], 1e-9)),
        "jerk_ratio": float(jerks[0] / max(jerks[1], 1e-9)),
    }


def matcher_lines(health: Mapping[str, Any]) -> list[str]:
    """Sentences on the measures."""
    return [
        f"decompressed poses: joints {health['pose_error_cm']:.2f} cm from the database's on "
        f"average, {health['rotation_error_degrees']:.2f} degrees; root "
        f"{health['root_speed_error']:.3f} m/s",
        f"joints move {health['speed_ratio']:.2f} times as fast as the database's, with "
        f"{health['jerk_ratio']:.2f} times the jerk",
    ]
