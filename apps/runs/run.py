"""Runs of any runner along goals: driven, measured, and written as one page with its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.apps.options.groups import SteeringOptions
from deepphase.apps.reports.measures import measure_entries, measure_table, save_report
from deepphase.apps.reports.page import Page
from deepphase.apps.runs.files import motion_note, write_motions
from deepphase.apps.runs.goals import Goal, complete_goals
from deepphase.apps.runs.take import compared_take, run_take
from deepphase.apps.terminal import note, progress, table, warn
from deepphase.errors import ParameterError
from deepphase.evaluation.findings import ground_findings, run_findings
from deepphase.evaluation.measurement import Measure, joint_rotations, measure, measures_of
from deepphase.motion.ball import Ball
from deepphase.progress import Progress
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.laid_run import FeetOnGround, feet_on_ground, lay_run
from deepphase.steering.run import (
    Run,
    Runner,
    RunnerSource,
    rollout,
    start_on_path,
    start_under_gamepad,
)
from deepphase.terrain.ground_measures import GROUND_MEASURES
from deepphase.terrain.heightmap import Heightmap


@dataclass(frozen=True, eq=False)
class RunResult:
    """A run along one goal; without measures, no character was alive long enough."""

    goal: str
    run: Run
    measures: list[Measure]
    findings: list[str]


def run_goal(
    source: RunnerSource[Runner],
    goal: Goal,
    *,
    seconds: float | None = None,
    speed: float | None = None,
    characters: int = 1,
    ground: Heightmap | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Drive characters along one goal, and measure the run.

    `speed` is m/s at full deflection of the gamepad. On ground, the run was made or laid on it.
    """
    if characters < 1:
        raise ParameterError(
            f"characters must be at least 1, not {characters}", hint="give --characters 1 or more"
        )
    runner: Runner
    if isinstance(goal, Gamepad):
        top_speed = speed or source.travelling_speed or GamepadSettings().top_speed
        settings = GamepadSettings(top_speed=top_speed)
        runner, stick = start_under_gamepad(source, goal, characters=characters, settings=settings)
        run = rollout(runner, stick, seconds or goal.duration, progress)
    else:
        runner, way = start_on_path(source, goal, characters=characters)
        run = rollout(runner, way, seconds or way.path.duration, progress)
    columns = [source.columns(run, character) for character in range(characters)]
    tracks = {name: np.array([own[name] for own in columns]) for name in columns[0]}
    run = replace(run, tracks={**run.tracks, **tracks})
    findings = run_findings(run, source.data)
    measures: list[Measure] = []
    try:
        measures = measure(run, source.data)
    except ParameterError:
        if run.alive[:, : round(run.fps)].all():
            raise
    if run.spec.ball is not None:
        measures += _ball_measures(run, run.spec.ball, source.data)
    if ground is not None:
        is_laid = run.spec.ground is None
        if is_laid:
            run, feet = lay_run(run, ground)
            run = replace(run, spec=replace(run.spec, ground=ground))
        else:
            feet = feet_on_ground(run)
        findings += ground_findings(feet, laid=is_laid)
        measures += _ground_measures(feet)
    return RunResult(goal.name, run, measures, findings)


def _ball_measures(run: Run, ball: Ball, data: Mapping[str, Any]) -> list[Measure]:
    from deepphase.controllers.ball.dribbling import DRIBBLING_MEASURES, dribbling_measures

    touches = data.get("ball", {}).get("touches_per_second")
    return measures_of(
        {f"ball_{name}": row for name, row in DRIBBLING_MEASURES.items()},
        {f"ball_{name}": value for name, value in dribbling_measures(run, ball).items()},
        {} if touches is None else {"ball_touches": float(touches)},
    )


def _ground_measures(feet: Sequence[FeetOnGround]) -> list[Measure]:
    """Means over characters of the measures of feet on ground, beside those on the flat floor."""

    def means(measured: Sequence[object]) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for name in GROUND_MEASURES:
            values = [getattr(own, name) for own in measured if own is not None]
            found[f"on_ground_{name}"] = sum(values) / len(values) if values else None
        return found

    return measures_of(
        {f"on_ground_{name}": row for name, row in GROUND_MEASURES.items()},
        means([own.ground for own in feet]),
        {k: v for k, v in means([own.floor for own in feet]).items() if v is not None},
    )


def report_runs(
    sources: Mapping[str, RunnerSource[Runner]],
    goals: Mapping[str, Goal | None],
    ground: Heightmap | None,
    steering: SteeringOptions,
    output: Path,
    *,
    title: str,
    notes: Sequence[str] = (),
    made_with: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Drive characters of every source along all goals; write the runs, and print their measures.

    Speeds and the report's data are those of the first source. `goals` are of `read_goals`.
    """
    source = next(iter(sources.values()))
    ways = complete_goals(
        goals, source.travelling_speed, seconds=steering.seconds, speed=steering.speed
    ).values()
    with progress() as shown:
        options: dict[str, Any] = {
            "seconds": steering.seconds,
            "speed": steering.speed,
            "characters": steering.characters,
            "ground": ground,
            "progress": shown,
        }
        results = {
            name: [run_goal(own, way, **options) for way in ways] for name, own in sources.items()
        }
    labelled = {
        f"{result.goal}, {name}" if len(results) > 1 else result.goal: result
        for name, runs in results.items()
        for result in runs
    }
    page = _write_runs(
        results, labelled, output, source, steering, title, notes, made_with, entries
    )
    table(*measure_table({label: result.measures for label, result in labelled.items()}))
    for label, result in labelled.items():
        for finding in result.findings:
            warn(f"{label}: {finding}")
    note(f"report: {page}")


def _write_runs(
    results: Mapping[str, Sequence[RunResult]],
    labelled: Mapping[str, RunResult],
    folder: Path,
    source: RunnerSource[Runner],
    steering: SteeringOptions,
    title: str,
    notes: Sequence[str],
    made_with: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
) -> Path:
    """Write one page with the player, motion files, tables and report.json; return the page."""
    root_motion, data, several = steering.root_motion, source.data, len(results) > 1
    files: list[tuple[str, str]] = []
    takes, measured, joints = {}, [], []
    rotations: dict[str, dict[str, float]] = {}
    names = [name for name, runs in results.items() for _ in runs]
    for name, (label, result) in zip(names, labelled.items(), strict=True):
        stem = label.replace(", ", "-").replace(" ", "-")
        files += write_motions(result.run, folder, stem, root_motion)
        takes[label] = run_take(result.run, label)
        by = {"goal": result.goal} | ({"features": name} if several else {})
        measured += measure_entries(result.measures, result.run.characters, by)
        rotations[label] = joint_rotations(result.run)
        joints += [
            {
                "name": "joint_rotation",
                "definition": "mean over frames, of local rotations",
                "value": value,
                "unit": "deg/s",
                "n": result.run.characters,
                "by": {**by, "joint": joint},
                "data": data["joint_rotations"][joint],
            }
            for joint, value in rotations[label].items()
        ]
    first = next(iter(results.values()))
    beside = []
    for number, result in enumerate(first if several else ()):
        of_goal = list(takes.values())[number :: len(first)]
        beside.append(compared_take(dict(zip(results, of_goal, strict=True)), result.goal))
    findings = [f"{label}: {text}" for label, own in labelled.items() for text in own.findings]
    run = first[0].run
    save_report(
        folder,
        made_with,
        data,
        source.seed,
        [*measured, *joints, *entries],
        findings=findings,
        settings=asdict(source.settings)
        | {
            "characters": run.characters,
            "labels": dict(source.labels),
            "root_motion": root_motion,
            "terrain": None if run.spec.ground is None else run.spec.ground.name,
        },
    )
    page = Page(f"Runs of {title}", f"Motion {run.spec.note}.")
    page.add_takes([*beside, *takes.values()])
    if findings:
        page.add_list(findings, heading="Findings")
    else:
        page.add_text("No character ran away, stood like a statue or was lost.")
    page.add_measures({label: result.measures for label, result in labelled.items()})
    for text in notes:
        page.add_text(text)
    page.add_table(
        ("Joint", *rotations, "The data"),
        [
            (
                joint,
                *(f"{own[joint]:.1f}" if joint in own else "" for own in rotations.values()),
                f"{value:.1f}",
            )
            for joint, value in data["joint_rotations"].items()
        ],
        heading="Rotation of each joint (deg/s)",
    )
    page.add_files(files)
    page.add_text(motion_note(run, root_motion))
    return page.write(folder / "index.html")
