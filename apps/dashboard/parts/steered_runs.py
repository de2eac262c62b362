"""Runs of controllers and motion databases on page Control: requests, results and files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deepphase.apps.dashboard.parts.steerables import OpenController, OpenMatching
from deepphase.apps.dashboard.parts.widgets import file_bytes, sentence, zip_of
from deepphase.apps.reports.measure_table import MeasureTable
from deepphase.apps.runs.decisions import run_costs
from deepphase.apps.runs.files import frame_columns, write_run, write_table
from deepphase.apps.runs.request import RunRequest, measured_run
from deepphase.apps.runs.take import compared_take, run_take
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.evaluation.measured_runs import RUN_MEASURES, RunMeasures, data_values
from deepphase.matching.player.player import PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.motion.clip import Clip
from deepphase.motion.root_motion import RootMotion
from deepphase.progress import Progress
from deepphase.steering.path import GroundPath
from deepphase.steering.run import Run, Runner, RunnerSource
from deepphase.temporary_files import temporary_folder
from deepphase.viewer.take import Take

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


@dataclass(frozen=True, eq=False)
class SteeredRun:
    """A run with everything that page Control displays and offers for download.

    Parameters
    ----------
    take
        For the player.
    measures
        Its measures beside those of the data.
    note
        A warning to display; empty if there is none.
    run, name
        The recorded frames, and the name of their files.
    columns
        Function for further columns of the tables of frames, see `write_run`.
    """

    take: Take
    measures: MeasureTable
    note: str
    run: Run
    name: str
    columns: Callable[[Run, int], Mapping[str, Sequence[object]]]

    def clip(self, character: int, root_motion: RootMotion = "auto") -> Clip:
        """The motion of one character."""
        return self.run.clip(character, self.name, root_motion)

    def archive(self, root_motion: RootMotion = "auto") -> bytes:
        """Motion and frames of all characters as one ZIP file."""
        with temporary_folder() as folder:
            write_run(self.run, folder, self.name, self.columns, root_motion)
            return zip_of(folder)

    def frames(self, character: int) -> bytes:
        """The frame table of one character as CSV."""
        table = frame_columns(self.run, character) | dict(self.columns(self.run, character))
        return file_bytes(
            lambda path: write_table(path, list(table), zip(*table.values(), strict=True)),
            "frames.csv",
        )


def compared(runs: Mapping[str, SteeredRun], name: str) -> tuple[Take, MeasureTable]:
    """Runs along one path as one take, side by side, and their measures in one table.

    Parameters
    ----------
    runs
        What moves the character -> its run.
    name
        Name of the take.
    """
    rows = [(title, run.measures.columns[0][1]) for title, run in runs.items()]
    reference = next(iter(runs.values())).measures.reference
    take = compared_take({title: run.take for title, run in runs.items()}, name)
    return take, MeasureTable(RUN_MEASURES, rows, reference)


def run_table(measures: RunMeasures | None, data: Mapping[str, Any]) -> MeasureTable:
    """Measures of a run beside those of the data; an empty table without measures."""
    names = RUN_MEASURES if measures is not None else ()
    values = {name: getattr(measures, name) for name in names}
    return MeasureTable(RUN_MEASURES, [("this run", values)], data_values(data))


def usual_request(
    opened: OpenController | OpenMatching, request: SteeringRequest
) -> SteeringRequest:
    """The request of one character along the same path, with usual settings and any label."""
    return replace(request, characters=1, labels={}, settings=opened.usual)


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
    source: RunnerSource[Runner] = opened.source(request.labels, request.settings, request.seed)
    options = RunRequest(seconds=request.seconds, characters=request.characters)
    measured = measured_run(source, options, request.path, progress)
    run, name = measured.run, request.path.name
    note = " ".join(f"{sentence(finding)}." for finding in measured.findings)
    if not run.alive.all():
        note = (
            f"The network diverged after {run.survived_s.min():.1f} s, and the character stands "
            "still from there. Try a slower or smoother path, or a more natural blending."
        )
    costs = run_costs(source, measured) if isinstance(source, PlayerSource) else None
    return SteeredRun(
        take=run_take(measured, name, costs),
        measures=run_table(measured.measures, source.data),
        note=note,
        run=run,
        name=name,
        columns=source.columns,
    )
