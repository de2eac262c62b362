"""Runs of controllers and motion databases on page Control: requests, results and files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Literal

import streamlit as st

from apps.dashboard.parts.motion_bytes import motion_bytes
from apps.dashboard.parts.result_cache import ResultCache
from apps.dashboard.parts.steerables import OpenController, OpenMatching
from apps.runs.decisions import run_costs
from apps.runs.files import write_run
from apps.runs.request import RunRequest, measured_run
from apps.runs.take import run_take
from controllers.runtime.frame import CharacterSettings
from deepphase.evaluation.run_measures import RUN_MEASURES, RunMeasures, data_values
from deepphase.motion.clip import Clip
from deepphase.motion.root_motion import RootMotion
from deepphase.progress import Progress
from deepphase.steering.path import GroundPath
from deepphase.steering.run import Runner, RunnerSource
from deepphase.temporary_files import temporary_folder
from deepphase.viewer.take import Take
from matching.player.player import PlayerSettings
from matching.player.source import PlayerSource

# Runs in the cache that all sessions share.
_CACHED_RUNS = 8
# Limit of one run: characters times seconds.
MAX_CHARACTER_S = 240.0


@dataclass(frozen=True, eq=False)
class SteeringRequest:
    """One run, as the choosers of page Control describe it.

    Parameters
    ----------
    path
        The desired path.
    seconds
        Length of the run.
    characters
        Number of characters, side by side.
    seed
        Random seed for the start poses of characters 2 to N and for stochastic networks.
    labels
        Label -> values; a controller takes one value.
    settings
        Settings of the controller's characters, or of motion matching.
    """

    path: GroundPath
    seconds: float
    characters: int = 1
    seed: int = 0
    labels: Mapping[str, list[str]] = field(default_factory=dict)
    settings: CharacterSettings | PlayerSettings = field(default_factory=CharacterSettings)

    @property
    def key(self) -> Hashable:
        """Hashable content: equal requests have equal keys."""
        path = self.path
        facings = None if path.facings is None else path.facings.tobytes()
        return (
            *(path.name, path.times.tobytes(), path.positions.tobytes(), facings),
            tuple((name, tuple(values)) for name, values in path.labels.items()),
            *(self.seconds, self.characters, self.seed, self.settings),
            tuple((name, tuple(values)) for name, values in self.labels.items()),
        )


@dataclass(frozen=True)
class MeasureRow:
    """One measure: its value in the run and in the data, its unit and its definition."""

    name: str
    value: float | None
    data: float | None
    unit: str
    definition: str


@dataclass(frozen=True, eq=False)
class SteeredRun:
    """A run with everything that page Control displays and offers for download.

    Parameters
    ----------
    take
        For the player.
    measures
        Name -> measure.
    note
        A warning to display; empty if there is none.
    clip
        Index of a character and root motion -> its motion.
    write
        Writes all files into a folder, with this root motion.
    unit_m
        Metres in one unit of the BVH files.
    """

    take: Take
    measures: Mapping[str, MeasureRow]
    note: str
    clip: Callable[[int, RootMotion], Clip]
    write: Callable[[FilePath, RootMotion], object]
    unit_m: float

    def motion(
        self, character: int, format: Literal["bvh", "glb"], root_motion: RootMotion = "auto"
    ) -> bytes:
        """The motion of one character as the content of a file."""
        return motion_bytes(self.clip(character, root_motion), format)

    def archive(self, root_motion: RootMotion = "auto") -> bytes:
        """Motion and frames of all characters as one ZIP file."""
        with temporary_folder() as folder:
            self.write(folder, root_motion)
            content = io.BytesIO()
            with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(folder.iterdir()):
                    archive.write(path, path.name)
            return content.getvalue()

    def frames(self, character: int) -> bytes:
        """The frame table of one character as CSV."""
        with temporary_folder() as folder:
            self.write(folder, "auto")
            return sorted(folder.glob("*.frames.csv"))[character].read_bytes()


@st.cache_resource(show_spinner=False)
def run_cache() -> ResultCache[SteeredRun]:
    """The cache of runs that all sessions share."""
    return ResultCache(_CACHED_RUNS)


def steered_run(
    opened: OpenController | OpenMatching,
    request: SteeringRequest,
    progress: Progress | None = None,
) -> SteeredRun:
    """Run a controller or motion matching along the path of a request, and measure the run.

    Raises
    ------
    ParameterError
        As `measured_run`.
    """
    source = _source(opened, request)
    options = RunRequest(seconds=request.seconds, characters=request.characters)
    measured = measured_run(source, options, request.path, progress)
    run, name = measured.run, request.path.name
    note = " ".join(f"{finding[:1].upper()}{finding[1:]}." for finding in measured.findings)
    if not run.alive.all():
        note = (
            f"The network diverged after {run.survived_s.min():.1f} s, and the character stands "
            "still from there. Try a slower or smoother path, or a more natural blending."
        )
    costs = run_costs(source, measured) if isinstance(source, PlayerSource) else None
    return SteeredRun(
        take=run_take(measured, name, costs),
        measures=measure_rows(measured.measures, source.data),
        note=note,
        clip=lambda character, root_motion: run.clip(character, name, root_motion),
        write=lambda folder, root_motion: write_run(run, folder, name, source.columns, root_motion),
        unit_m=run.spec.conventions.unit_m,
    )


def _source(
    opened: OpenController | OpenMatching, request: SteeringRequest
) -> RunnerSource[Runner]:
    settings = request.settings
    if isinstance(opened, OpenController):
        assert isinstance(settings, CharacterSettings)
        return opened.source(request.labels, settings, request.seed)
    assert isinstance(settings, PlayerSettings)
    return opened.source(request.labels, settings, request.seed)


def measure_rows(measures: RunMeasures | None, data: Mapping[str, Any]) -> dict[str, MeasureRow]:
    """Name -> measure of a run beside that of the data; empty without measures."""
    if measures is None:
        return {}
    references = data_values(data)
    return {
        name: MeasureRow(name, getattr(measures, name), references.get(name), unit, definition)
        for name, (unit, definition) in RUN_MEASURES.items()
    }
