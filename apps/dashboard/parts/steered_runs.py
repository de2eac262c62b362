"""Runs of what can be steered: made once, kept for a while, as takes, tables and files."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Literal

import streamlit as st

from apps.dashboard.parts.result_cache import ResultCache
from apps.dashboard.parts.steerables import OpenController, OpenMatching
from apps.runs.files import write_run
from apps.runs.request import MeasuredRun, RunRequest, measured_run
from apps.runs.take import run_take
from controllers.runtime.frame import CharacterSettings
from deepphase.evaluation.run_measures import RUN_MEASURES, data_values
from deepphase.figures.player.take import Take
from deepphase.formats.load import save
from deepphase.motion.clip import Clip
from deepphase.progress import Progress
from deepphase.steering.path import GroundPath
from deepphase.steering.run import Runner, RunnerSource
from matching.player.player import PlayerSettings

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

    path: GroundPath
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
class RunMeasure:
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
    measures: Mapping[str, RunMeasure]
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
def run_cache() -> ResultCache[SteeredRun]:
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
    source = _source(opened, ask)
    request = RunRequest(seconds=ask.seconds, characters=ask.characters)
    made = measured_run(source, request, ask.path, progress)
    run, name = made.run, ask.path.name
    note = ""
    if not run.alive.all():
        note = (
            f"The network left all bounds after {run.survived_s.min():.1f} s and stands still from "
            "there: a slower or rounder path, or a more natural blending, is easier for it."
        )
    return SteeredRun(
        take=run_take(made, name),
        measures=_measures(made, source.data),
        note=note,
        clip=lambda character: run.clip(character, name),
        write=lambda folder: write_run(run, folder, name, source.columns),
    )


def _source(opened: OpenController | OpenMatching, ask: Ask) -> RunnerSource[Runner]:
    settings = ask.settings
    if isinstance(opened, OpenController):
        assert isinstance(settings, CharacterSettings)
        return opened.source(ask.labels, settings, ask.seed)
    assert isinstance(settings, PlayerSettings)
    return opened.source(ask.labels, settings, ask.seed)


def _measures(made: MeasuredRun, data: Mapping[str, Any]) -> dict[str, RunMeasure]:
    if made.measures is None:
        return {}
    beside = data_values(data)
    return {
        name: RunMeasure(name, made.value(name), beside.get(name), unit, definition)
        for name, (unit, definition) in RUN_MEASURES.items()
    }
