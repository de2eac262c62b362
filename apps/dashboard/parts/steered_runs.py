"""Runs of controllers and motion databases on page Control: requests, results and files."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace

from deepphase.apps.dashboard.parts.steerables import OpenController, OpenMatching
from deepphase.apps.dashboard.parts.widgets import file_bytes, sentence, zip_of
from deepphase.apps.runs.files import frame_columns, write_motions, write_table
from deepphase.apps.runs.run import run_goal
from deepphase.apps.runs.take import run_take
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.evaluation.measurement import Measure
from deepphase.matching.player.settings import PlayerSettings
from deepphase.motion.clip import Clip
from deepphase.motion.root_trajectory import RootMotion
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
    seconds
        Length of the run.
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
    run, name
        The recorded frames, and the name of their files.
    """

    take: Take
    measures: list[Measure]
    note: str
    run: Run
    name: str

    def clip(self, character: int, root_motion: RootMotion = "auto") -> Clip:
        """The motion of one character."""
        return self.run.clip(character, self.name, root_motion)

    def archive(self, root_motion: RootMotion = "auto") -> bytes:
        """Motion and frames of all characters as one ZIP file."""
        with temporary_folder() as folder:
            write_motions(self.run, folder, self.name, root_motion)
            return zip_of(folder)

    def frames(self, character: int) -> bytes:
        """The frame table of one character as CSV."""
        table = frame_columns(self.run, character)
        return file_bytes(
            lambda path: write_table(path, list(table), zip(*table.values(), strict=True)),
            "frames.csv",
        )


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
    """Run a controller or motion matching along the path of a request, and measure the run."""
    source: RunnerSource[Runner] = opened.source(request.labels, request.settings, request.seed)
    result = run_goal(
        source,
        request.path,
        seconds=request.seconds,
        characters=request.characters,
        progress=progress,
    )
    run, name = result.run, request.path.name
    note = " ".join(f"{sentence(finding)}." for finding in result.findings)
    if not run.alive.all():
        note = (
            f"The network diverged after {run.survived_s.min():.1f} s, and the character stands "
            "still from there. Try a slower or smoother path, or a more natural blending."
        )
    return SteeredRun(run_take(run, name), result.measures, note, run, name)
