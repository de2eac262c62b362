"""What a run of a motion database is asked for, and the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.progress import Progress
from deepphase.steering.followers import StickSettings
from deepphase.steering.path import Path as GroundPath
from deepphase.steering.stick import Stick
from matching.database import MotionDatabase
from matching.playback import Playback
from matching.player import PlayerSettings
from matching.run import Run, recorded
from matching.run_measures import DataMeasures, RunMeasures, run_measures
from matching.search import Searcher
from matching.start import start_on_path, start_under_stick


@dataclass(frozen=True)
class Request:
    """What is to be run.

    Parameters
    ----------
    paths
        Files or names of made paths; none where a stick leads.
    stick
        A recorded stick.
    seconds, speed, size, characters, labels, index, seed
        As `deepphase match run` has them.
    settings
        How characters play.
    """

    paths: tuple[str, ...] = ("wave",)
    stick: Path | None = None
    seconds: float | None = None
    speed: float | None = None
    size: float | None = None
    characters: int = 1
    labels: Mapping[str, list[str]] = field(default_factory=dict)
    index: str = "auto"
    seed: int = 0
    settings: PlayerSettings = field(default_factory=PlayerSettings)


def unknown_labels(wishes: Mapping[str, GroundPath | Stick], database: MotionDatabase) -> list[str]:
    """Sentences on labels of paths and sticks that the database does not have.

    Raises ParameterError where it has the label and not the value.
    """
    known = {name for labels in database.labels for name in labels}
    notes = []
    for name, wish in wishes.items():
        asked = wish.labels if isinstance(wish, GroundPath) else wish.buttons
        for column, values in asked.items():
            if column not in known:
                notes.append(f"{name}: the database has no label {column!r}: it is passed over")
                continue
            for value in dict.fromkeys(filter(None, values)):
                database.rows_with({column: value})
    return notes


def measured_run(
    request: Request,
    database: MotionDatabase,
    playback: Playback,
    searcher: Searcher,
    wish: GroundPath | Stick,
    data: DataMeasures,
    progress: Progress | None,
) -> tuple[Run, RunMeasures]:
    """Let characters play towards one wish, and measure that."""
    common: dict[str, Any] = {
        "characters": request.characters,
        "labels": request.labels or None,
        "settings": request.settings,
        "seed": request.seed,
    }
    seconds = request.seconds or wish.duration
    origins = np.zeros((request.characters, 2))
    path = None
    if isinstance(wish, GroundPath):
        path = wish
        player, follower = start_on_path(database, playback, searcher, path, **common)
        origins = follower.origins
        run = recorded(player, follower, seconds, progress)
    else:
        speed = request.speed or playback.travelling_speed or StickSettings().top_speed
        player, led = start_under_stick(
            database,
            playback,
            searcher,
            wish,
            stick_settings=StickSettings(top_speed=speed),
            **common,
        )
        run = recorded(player, led, seconds, progress)
    return run, run_measures(run, playback, data, path, origins)
