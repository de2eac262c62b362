"""Runs of any runner along goals: driven, measured, and written as one page with its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.apps.options import SteeringOptions
from deepphase.apps.reports.page import (
    Page,
    measure_entries,
    measure_table,
    save_report,
    write_motion,
    write_table,
)
from deepphase.apps.runs.goals import Goal, complete_goals
from deepphase.apps.runs.take import compared_take, run_take
from deepphase.apps.terminal import note, progress, table, warn
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.findings import ground_findings, run_findings
from deepphase.evaluation.measurement import Measure, joint_rotations, measure, measures_of
from deepphase.motion.ball import Ball
from deepphase.motion.root_trajectory import RootMotion
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

# Root motion -> the joint that carries the travel, in words.
_CARRIERS: dict[RootMotion, str] = {
    "auto": "the topmost joint carries the travel",
    "root": "a joint above the hips, on the ground, carries the travel",
    "hips": "the hips carry the travel",
    "in_place": "the motion is in place, without travel and turn",
}


def motion_note(run: Run, root_motion: RootMotion) -> str:
    """The sentence on travel and units of the motion files of a run."""
    unit = f"{run.spec.conventions.unit_m:g} m"
    return (
        f"In the motion files {_CARRIERS[root_motion]} (--root-motion). One unit of the BVH files "
        f"is {unit}, as in the source clips; glb is in metres."
    )


def write_motions(
    run: Run, folder: Path, stem: str, root_motion: RootMotion = "auto"
) -> list[tuple[str, str]]:
    """Write the motion of all characters and their frames; name and description of each file."""
    files = []
    for character in range(run.characters):
        own = stem if run.characters == 1 else f"{stem}-{character + 1:02d}"
        files += write_motion(run.clip(character, own, root_motion), folder, own)
        table = frame_columns(run, character)
        write_table(folder / f"{own}.frames.csv", list(table), zip(*table.values(), strict=True))
        files.append((f"{own}.frames.csv", "root, goals, contacts and phases of every frame"))
    return files


def frame_columns(run: Run, character: int) -> dict[str, Sequence[object]]:
    """Name -> (frames,) values of one character's frames, the columns of its table.

    ``t`` in seconds; ``x``, ``z`` and ``facing`` of the root in metres and radians, and with goals
    the same with ``desired_``; ``alive``; ``contact_`` of each foot, in [0, 1]; ``jumped`` and the
    tracks of runners that have them; ``phase_`` in cycles, ``frequency_`` in Hz and ``amplitude_``
    of each phase channel; ``weight_`` of each expert.
    """
    numbers: dict[str, Array] = {
        "x": run.positions[character, :, 0],
        "z": run.positions[character, :, 1],
        "facing": run.angles[character],
    }
    if run.desired_positions is not None and run.desired_angles is not None:
        numbers["desired_x"] = run.desired_positions[character, :, 0]
        numbers["desired_z"] = run.desired_positions[character, :, 1]
        numbers["desired_facing"] = run.desired_angles[character]
    numbers["alive"] = run.alive[character]
    for index, foot in enumerate(run.spec.feet):
        numbers[f"contact_{foot}"] = run.contacts[character, :, index]
    if run.jumped is not None:
        numbers["jumped"] = run.jumped[character]
    for name, values in run.tracks.items():
        if values.ndim == 2:
            numbers[name] = values[character]
    if run.phases is not None:
        for name in ("phase", "frequency", "amplitude"):
            values = getattr(run.phases, name)[character]
            numbers |= {f"{name}_{i}": column for i, column in enumerate(values.T)}
    if run.gating is not None:
        numbers |= {f"weight_{i}": column for i, column in enumerate(run.gating[character].T)}
    times = [f"{index / run.fps:.4f}" for index in range(len(run))]
    table: dict[str, Sequence[object]] = {"t": times}
    return table | {name: _texts(values) for name, values in numbers.items()}


def _texts(values: Array) -> Sequence[object]:
    if values.dtype.kind == "U":
        return [str(value) for value in values]
    if values.dtype.kind in "biu":
        return [str(int(value)) for value in values]
    return [f"{value:.5f}" for value in values]


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
