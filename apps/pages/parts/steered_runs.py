"""Runs of what can be steered: made once, kept for a while, as takes, tables and files."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Literal

import numpy as np
import streamlit as st

from apps.pages.parts.open_steering import OpenController, OpenMatching
from apps.pages.parts.result_cache import ResultCache
from apps.reports.control_files import write_rollout
from apps.reports.control_measures import MEASURES as CONTROL_MEASURES
from apps.reports.control_run import ControlRequest, ControlRun, control_run
from apps.reports.control_take import control_take
from apps.reports.match_run_report import MEASURES as MATCH_MEASURES
from apps.reports.run_files import write_run
from apps.reports.run_request import Request, measured_run
from apps.reports.run_take import run_take
from controllers.character_frame import CharacterSettings
from controllers.rollout_measures import data_values
from deepphase.figures.player.take import Take
from deepphase.formats.load import save
from deepphase.motion.clip import Clip
from deepphase.progress import Progress
from deepphase.steering.path import Path
from matching.player import PlayerSettings

# Runs kept for all sessions together, and what one may hold: characters times seconds.
_KEPT, MOST_CHARACTER_S = 8, 240.0


@dataclass(frozen=True, eq=False)
class Ask:
    """What is wished.

    Parameters
    ----------
    path
        Where to go, when.
    seconds
        How long.
    characters, seed
        How many, and of the beginnings of all but the first.
    labels
        Label -> values: one for a controller.
    settings
        How they run.
    """

    path: Path
    seconds: float
    characters: int = 1
    seed: int = 0
    labels: Mapping[str, list[str]] = field(default_factory=dict)
    settings: CharacterSettings | PlayerSettings = field(default_factory=CharacterSettings)

    @property
    def key(self) -> Hashable:
        """Changes with what is asked."""
        path = self.path
        facings = None if path.facings is None else path.facings.tobytes()
        return (
            *(path.name, path.times.tobytes(), path.positions.tobytes(), facings),
            tuple((name, tuple(values)) for name, values in path.labels.items()),
            *(self.seconds, self.characters, self.seed, self.settings),
            tuple((name, tuple(values)) for name, values in self.labels.items()),
        )


@dataclass(frozen=True)
class Measure:
    """One measure of a run, its value of the data, and what it is."""

    name: str
    value: float | None
    data: float | None
    unit: str
    definition: str


@dataclass(frozen=True, eq=False)
class SteeredRun:
    """A run as a page shows it.

    Parameters
    ----------
    take
        For the player.
    measures
        By their name.
    note
        What a reader should know of it, in words; empty if nothing.
    clip
        Character -> its motion.
    write
        Writes all files into a folder.
    """

    take: Take
    measures: Mapping[str, Measure]
    note: str
    clip: Callable[[int], Clip]
    write: Callable[[FilePath], object]

    def motion(self, character: int, format: Literal["bvh", "glb"]) -> bytes:
        """One character's motion as a file."""
        with tempfile.TemporaryDirectory(prefix="deepphase-") as folder:
            path = FilePath(folder) / f"run.{format}"
            save(self.clip(character), path)
            return path.read_bytes()

    def archive(self) -> bytes:
        """Motion and frames of all characters as one ZIP file."""
        with tempfile.TemporaryDirectory(prefix="deepphase-") as folder:
            self.write(FilePath(folder))
            content = io.BytesIO()
            with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(FilePath(folder).iterdir()):
                    archive.write(path, path.name)
            return content.getvalue()

    def frames(self, character: int) -> bytes:
        """The table of one character's frames, CSV."""
        with tempfile.TemporaryDirectory(prefix="deepphase-") as folder:
            self.write(FilePath(folder))
            return sorted(FilePath(folder).glob("*.frames.csv"))[character].read_bytes()


@st.cache_resource(show_spinner=False)
def kept_runs() -> ResultCache[SteeredRun]:
    """One for the whole program."""
    return ResultCache(_KEPT)


def steered_run(
    opened: OpenController | OpenMatching, ask: Ask, progress: Progress | None = None
) -> SteeredRun:
    """Run what is open as it is asked for.

    Raises
    ------
    ParameterError
        Where it cannot go like that.
    """
    if isinstance(opened, OpenController):
        return _controlled(opened, ask, progress)
    return _matched(opened, ask, progress)


def _controlled(opened: OpenController, ask: Ask, progress: Progress | None) -> SteeredRun:
    assert isinstance(ask.settings, CharacterSettings)
    controller = opened.controller
    request = ControlRequest(
        seconds=ask.seconds,
        characters=ask.characters,
        seed=ask.seed,
        labels={name: values[0] for name, values in ask.labels.items()},
        settings=ask.settings,
    )
    made = control_run(controller, request, ask.path, progress)
    run = made.run
    note = ""
    if not run.alive.all():
        note = (
            f"The network left all bounds after {run.survived_s.min():.1f} s and stands still from "
            "there: a slower or rounder path, or a more natural blending, is easier for it."
        )
    return SteeredRun(
        take=control_take(run, controller, made.path, made.origins, ask.path.name),
        measures=_control_measures(made, opened),
        note=note,
        clip=lambda character: run.clip(character, ask.path.name),
        write=lambda folder: write_rollout(run, folder, ask.path.name),
    )


def _control_measures(made: ControlRun, opened: OpenController) -> dict[str, Measure]:
    if made.measures is None:
        return {}
    data = data_values(opened.controller)
    return {
        name: Measure(name, getattr(made.measures, name), data.get(name), unit, definition)
        for name, (unit, definition) in CONTROL_MEASURES.items()
    }


def _matched(opened: OpenMatching, ask: Ask, progress: Progress | None) -> SteeredRun:
    assert isinstance(ask.settings, PlayerSettings)
    request = Request(
        seconds=ask.seconds,
        characters=ask.characters,
        seed=ask.seed,
        labels=ask.labels,
        settings=ask.settings,
    )
    database, playback, data = opened.database, opened.playback, opened.data
    run, measured = measured_run(
        request, database, playback, opened.searcher, ask.path, data, progress
    )
    of_data = {
        "contact_speed": data.mean_contact_speed,
        "jerk": data.jerk,
        "jump_jerk": data.jerk,
        "jump_acceleration": data.usual_acceleration,
        "over_usual": 0.001,
    }
    measures = {
        name: Measure(name, getattr(measured, name), of_data.get(name), unit, definition)
        for name, unit, definition in MATCH_MEASURES
    }
    speed = float(np.linalg.norm(np.gradient(run.positions, axis=1), axis=-1).mean()) * run.fps
    measures["speed"] = Measure("speed", speed, None, "m/s", "mean of the root")
    return SteeredRun(
        take=run_take(run, playback, ask.path, ask.path.name),
        measures=measures,
        note="",
        clip=lambda character: run.clip(playback, character, ask.path.name),
        write=lambda folder: write_run(run, playback, database, folder, ask.path.name),
    )
