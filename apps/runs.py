"""Runs of any runner: driven, measured, and written as one page with its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.apps.input_checks import claim_folder
from deepphase.apps.options import SteeringOptions, complete_goals
from deepphase.apps.reports import page as reports
from deepphase.apps.terminal import note, progress, table, warn
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.findings import ground_findings, run_findings, time_findings
from deepphase.evaluation.measurement import Measure, ObservedRun, measures_of
from deepphase.evaluation.run_measures import observed_measures
from deepphase.motion.root_trajectory import RootMotion
from deepphase.phase.rings import ring_projection
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.laid_run import feet_on_ground, lay_run
from deepphase.steering.run import (
    SQUARED,
    Run,
    Runner,
    RunnerSource,
    rollout,
    start_on_path,
    start_under_gamepad,
)
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.laying import GROUND_MEASURES
from deepphase.viewer import take as player
from deepphase.viewer.actor import Actor
from deepphase.work import Progress

if TYPE_CHECKING:
    from deepphase.apps.options import Goal

# Root motion -> the joint that carries the travel, in words.
_CARRIERS: dict[RootMotion, str] = {
    "auto": "the topmost joint carries the travel",
    "root": "a joint above the hips, on the ground, carries the travel",
    "hips": "the hips carry the travel",
    "in_place": "the motion is in place, without travel and turn",
}


def write_motions(
    run: Run, folder: Path, label: str, root_motion: RootMotion = "auto"
) -> list[tuple[str, str]]:
    """Write the motion of all characters and their frames; name and description of each file."""
    files = []
    for character, stem in enumerate(_stems(label, run.characters)):
        files += reports.write_motion(run.clip(character, stem, root_motion), folder, stem)
        table = reports.frame_columns(run, character)
        reports.write_table(
            folder / f"{stem}.frames.csv", list(table), zip(*table.values(), strict=True)
        )
        files.append((f"{stem}.frames.csv", "root, goals, contacts and phases of every frame"))
    return files


def _stems(label: str, characters: int) -> list[str]:
    """Stems of the files of each character of a run."""
    stem = label.replace(", ", "-").replace(" ", "-")
    if characters == 1:
        return [stem]
    return [f"{stem}-{number:02d}" for number in range(1, characters + 1)]


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
    """Drive characters along one goal, on `ground` or laid on it, and measure the run."""
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
    observed, measures = ObservedRun(run, source.data), list[Measure]()
    findings = run_findings(observed) + time_findings(run)
    if observed.characters:
        measures = observed_measures(observed)
    if run.spec.ball is not None:
        from deepphase.controllers.ball.dribbling import DRIBBLING_MEASURES, dribbling_measures

        touches = source.data.get("ball", {}).get("touches_per_second")
        measures += measures_of(
            {f"ball_{name}": row for name, row in DRIBBLING_MEASURES.items()},
            {f"ball_{name}": each for name, each in dribbling_measures(run, run.spec.ball).items()},
            {} if touches is None else {"ball_touches": float(touches)},
        )
    if ground is not None:
        is_laid = run.spec.ground is None
        if is_laid:
            run, feet = lay_run(run, ground)
            run = replace(run, spec=replace(run.spec, ground=ground))
        else:
            feet = feet_on_ground(run)
        findings += ground_findings(feet, laid=is_laid)
        rows = {f"on_ground_{name}": row for name, row in GROUND_MEASURES.items()}
        on_ground, on_floor = [own.ground for own in feet], [own.floor for own in feet]
        measures += measures_of(rows, _ground_means(on_ground), _ground_means(on_floor))
    return RunResult(goal.name, run, measures, findings)


def _ground_means(measured: Sequence[dict[str, float] | None]) -> dict[str, float]:
    """Means over characters of the measures of feet on ground; empty without any."""
    known = [own for own in measured if own is not None]
    return {
        f"on_ground_{name}": float(np.mean([own[name] for own in known]))
        for name in (GROUND_MEASURES if known else ())
    }


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
) -> None:
    """Drive characters of every source along all goals; write the runs, and print their measures.

    Speeds and the report's data are those of the first source.
    """
    source, several = next(iter(sources.values())), len(sources) > 1
    ways = complete_goals(
        goals, source.travelling_speed, seconds=steering.seconds, speed=steering.speed
    )
    labels = [f"{way.name}, {name}" if several else way.name for name in sources for way in ways]
    stems = [stem for label in labels for stem in _stems(label, steering.characters)]
    claim_folder(
        output,
        (
            f"{stem}{suffix}"
            for stem in stems
            for suffix in (*reports.MOTION_SUFFIXES, ".frames.csv")
        ),
    )
    # Label -> a run, and by what it differs from others in the report.
    results: dict[str, RunResult] = {}
    differs: dict[str, dict[str, str]] = {}
    how: dict[str, Any]
    how = {name: getattr(steering, name) for name in ("seconds", "speed", "characters")}
    with progress() as shown:
        for label, ((name, own), way) in zip(labels, product(sources.items(), ways), strict=True):
            differs[label] = {"goal": way.name} | ({"features": name} if several else {})
            results[label] = run_goal(own, way, ground=ground, progress=shown, **how)
    measures = {label: result.measures for label, result in results.items()}
    findings = [f"{label}: {text}" for label, own in results.items() for text in own.findings]
    takes = {label: run_take(result.run, label) for label, result in results.items()}
    files: list[tuple[str, str]] = []
    for label, result in results.items():
        files += write_motions(result.run, output, label, steering.root_motion)
    run = next(iter(results.values())).run
    entries: list[Mapping[str, Any]] = []
    for label, own_measures in measures.items():
        entries += reports.measure_entries(own_measures, run.characters, differs[label])
    reports.save_report(
        output,
        made_with,
        source.data,
        source.seed,
        entries,
        findings=findings,
        settings=asdict(source.settings)
        | {
            "characters": run.characters,
            "labels": dict(source.labels),
            "root_motion": steering.root_motion,
            "terrain": None if run.spec.ground is None else run.spec.ground.name,
        },
    )
    page = reports.Page(f"Runs of {title}", f"Motion {run.spec.note}.")
    beside = [
        compared_take({name: takes[f"{way.name}, {name}"] for name in sources}, way.name)
        for way in (ways if several else ())
    ]
    page.add_takes([*beside, *takes.values()])
    if findings:
        page.add_text("It did not go as desired:").add_list(findings)
    else:
        page.add_text("No character ran away, stood like a statue or was lost.")
    page.add_measures(measures)
    page.add_files(files)
    page.add_text(
        *notes,
        f"In the motion files {_CARRIERS[steering.root_motion]} (--root-motion). One unit of the "
        f"BVH files is {run.spec.conventions.unit_m:g} m, as in the source; glb is in metres.",
    )
    table(*reports.headline_table(measures))
    for text in findings:
        warn(text)
    note(f"report: {page.write(output / 'index.html')}")


# Maximum number of characters in one take; pages with more open slowly.
MAX_ACTORS = 24
# Metres between characters that are compared.
_APART_M = 1.2
# Metres of ground around a run and between its points, and points along its longer side.
_MARGIN_M, _SPACING_M, _MAX_POINTS = 3.0, 0.1, 400


def run_take(run: Run, name: str) -> player.Take:
    """All characters of a run; phases, weights, jumps and costs are the first one's."""
    ground = run.spec.ground
    shown = min(run.characters, MAX_ACTORS)
    speeds = np.linalg.norm(np.gradient(run.positions[:shown], axis=1), axis=-1) * run.fps
    curves = [player.Curve("speed", "m/s", speeds.T, run.fps)]
    if run.desired_positions is not None:
        away = np.linalg.norm(run.positions - run.desired_positions, axis=-1)[:shown]
        curves.append(player.Curve("distance from the desired place", "m", away.T, run.fps))
    if "cost" in run.tracks:
        curves.append(
            player.Curve("cost of the last search", "", run.tracks["cost"][:shown].T, run.fps)
        )
    costs = _costs(run)
    jumps = np.zeros(0) if run.jumped is None else np.flatnonzero(run.jumped[0]) / run.fps
    note = f"Motion {run.spec.note}. Circles ahead: the trajectory of the next second."
    if run.characters > 1:
        note += " Phases, weights, jumps and costs are the first character's."
    if run.characters > shown:
        note += f" The first {shown} of {run.characters} characters."
    return player.Take.from_motions(
        [_actor(run, index) for index in range(shown)],
        name,
        # Beside costs there is no room for it.
        manifold=_ring(run) if costs is None else None,
        channels=None if run.phases is None else player.Channels(run.phases[0], run.fps),
        gating=None if run.gating is None else player.Gating(run.gating[0], run.fps),
        curves=curves,
        markers=[player.Marker("jump", float(time), float(time)) for time in jumps],
        note=note,
        costs=costs,
        terrain=None if ground is None else ground_patch(ground, run.positions),
    )


def _costs(run: Run) -> player.CostComparison | None:
    """Costs of the first character by feature, of runs that search."""
    names = [name for name in run.tracks if name.startswith(SQUARED)]
    if not names:
        return None
    terms = np.stack([run.tracks[name][0] for name in names], axis=1)
    changed = [0, *(1 + np.flatnonzero((np.diff(terms, axis=0) != 0).any(axis=1))).tolist()]
    searches = [
        player.ComparedCosts(
            frame / run.fps,
            "What the search has found, by what it differs from what is asked for.",
            [player.CostOption("plays", terms[frame])],
        )
        for frame in changed
    ]
    return player.CostComparison(tuple(name.removeprefix(SQUARED) for name in names), searches)


def _ring(run: Run) -> player.ManifoldCloud | None:
    """The phases of the first character in the plane of their rings; None without."""
    if run.phases is None:
        return None
    manifold = run.phases[0].manifold()
    if not np.isfinite(manifold).all():
        return None
    projection = ring_projection(manifold)
    path = projection(manifold)
    return player.ManifoldCloud(path[:0], path, run.fps, projection.explained)


def compared_take(takes: Mapping[str, player.Take], name: str) -> player.Take:
    """The first characters of several runs along one path, by what moves them, side by side."""
    kinds = [title.partition(": ")[0] for title in takes]
    # Their kinds name them where these differ.
    names = kinds if len(set(kinds)) == len(kinds) else list(takes)
    actors = [
        replace(take.actors[0].shifted(_APART_M * index, 0.0), name=names[index], colour="")
        for index, take in enumerate(takes.values())
    ]
    note = f"On one path, {_APART_M:g} m apart: {', '.join(takes)}."
    return player.Take.from_motions(actors, name, note=note)


def _actor(run: Run, character: int) -> Actor:
    """A character's motion with its root states, contacts, goals and ball."""
    positions, angles = run.positions[character], run.angles[character]
    route = ahead = None
    if run.path is not None and run.origins is not None:
        times = run.path.times[0] + np.linspace(0.0, len(run) / run.fps, 600)
        route = run.path.positions_at(times) + run.origins[character]
    if run.trajectory is not None:
        ahead = np.concatenate([positions[:, None], run.trajectory[character]], axis=1)
    ball: dict[str, Any] = {}
    if run.spec.ball is not None:
        ball = {"ball": run.tracks["ball"][character], "ball_radius_m": run.spec.ball.radius_m}
    return Actor.from_clip(
        run.clip(character),
        name=f"character {character + 1}" if run.characters > 1 else "run",
        feet=tuple(run.spec.skeleton.index(name) for name in run.spec.feet),
        contacts=run.contacts[character] > 0.5,
        root_positions=np.insert(positions, 1, 0.0, axis=1),
        root_directions=np.stack([np.sin(angles), np.zeros_like(angles), np.cos(angles)], axis=1),
        desired_trajectory=ahead,
        desired_path=route,
        **ball,
    )


def ground_patch(ground: Heightmap, places: Array) -> Heightmap:
    """The ground around places (..., 2), coarse enough to draw."""
    places = places.reshape(-1, 2)
    low, high = places.min(axis=0) - _MARGIN_M, places.max(axis=0) + _MARGIN_M
    spacing = max(_SPACING_M, float((high - low).max()) / _MAX_POINTS)
    counts = np.ceil((high - low) / spacing).astype(int) + 1
    x, z = (low[axis] + spacing * np.arange(counts[axis]) for axis in (0, 1))
    heights = ground.at(np.stack(np.meshgrid(x, z), axis=-1))
    return Heightmap(heights, spacing, (float(low[0]), float(low[1])), ground.name)
