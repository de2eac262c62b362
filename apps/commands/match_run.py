"""`deepphase match run`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deepphase.apps.options.groups import PlayerOptions, SteeringOptions, parse_labels
from deepphase.apps.terminal import next_step, note, progress, table, warn
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.matching.player.settings import PlayerSettings
    from deepphase.matching.player.source import PlayerSource
    from deepphase.progress import Progress
    from deepphase.steering.run import Runner, RunnerSource


def command(
    source: Path,
    output: Path,
    labels: str | None = None,
    include: str | None = None,
    compare: bool = False,
    beside: str | None = None,
    player: PlayerOptions = PlayerOptions(),  # noqa: B008 (frozen)
    steering: SteeringOptions = SteeringOptions(),  # noqa: B008 (frozen)
) -> None:
    """Move characters along a path or by a gamepad recording, by motion matching.

    Parameters
    ----------
    source
        Motion database of `deepphase match build`, or matcher of `deepphase train matching`.
    output
        Folder for index.html, which plays the runs, report.json and, for every run, .bvh, .glb
        and a table of its frames.
    labels
        Use only clips with these labels, as in style=normal,action=walk+run.
    include
        Play actions, too: action for all of them, or labels of clips as in action=bow+kick.
    compare
        Also run with pose features in place of the phases, and list both in one table.
    beside
        Databases, matchers and controllers, separated by commas, whose characters follow the same
        goals; one player and one table have them all.
    """
    from deepphase.apps.reports.measures import measure_table
    from deepphase.apps.runs.goals import complete_goals, read_goals, run_ground
    from deepphase.apps.runs.matching import (
        compared_sources,
        feature_entries,
        index_line,
        played_moments,
        unknown_labels,
    )
    from deepphase.apps.runs.run import columns_of, run_goal, write_runs
    from deepphase.atomic_write import check_writable
    from deepphase.matching.database.on_ground import has_ground_heights
    from deepphase.matching.player.settings import moments_line

    read = read_goals(steering.path, steering.gamepad)
    ground = run_ground(steering)
    settings = player.settings(played_moments(include))
    wanted = parse_labels(labels) if labels else {}
    check_writable(output / "index.html")
    if _is_matcher(source):
        for name, value in {"compare": compare, "weight": player.weight}.items():
            if value:
                raise ParameterError(
                    f"--{name} is an option of motion databases, and {source.name} is a matcher",
                    hint="give the database that it was trained on, or leave the option out",
                )
    with progress() as report:
        opened = _opened(source, player, report)
        # The motion of databases without heights is laid on the ground afterwards.
        walked = ground if has_ground_heights(opened.database.layout) else None
        opened = replace(
            opened, labels=wanted, settings=settings, seed=steering.seed, ground=walked
        )
        goals = complete_goals(read, opened.travelling_speed, **steering.made_path)
        notes = unknown_labels(goals, opened)
        own = compared_sources(opened, report) if compare else {source.name: opened}
        sources: dict[str, RunnerSource[Runner]] = dict(own)
        for path in [] if beside is None else [Path(name.strip()) for name in beside.split(",")]:
            sources[path.name] = _beside(path, settings, report)
        results = {
            name: [
                run_goal(runners, goal, **steering.run, ground=ground, progress=report)
                for goal in goals.values()
            ]
            for name, runners in sources.items()
        }
        page = write_runs(
            results,
            output,
            opened,
            title=f"Runs of {source.name}",
            notes=[moments_line(opened.database, opened.played)],
            made_with=opened.database.made_with,
            root_motion=steering.root_motion,
            entries=feature_entries(own),
        )
    for text in notes:
        warn(text)
    table(*measure_table(columns_of(results)))
    for runs in results.values():
        for result in runs:
            for finding in result.findings:
                warn(f"{result.goal}: {finding}")
    note(moments_line(opened.database, opened.played))
    note(index_line(opened.searcher))
    note(f"report: {page}")
    next_step("app", source.parent)


def _is_matcher(path: Path) -> bool:
    from deepphase.formats.array_file import read_header
    from deepphase.matching.learned.matcher import FORMAT

    return path.is_file() and read_header(path)["format"] == FORMAT


def _opened(source: Path, player: PlayerOptions, report: Progress) -> PlayerSource:
    """The source of the players of a database, with the factors of its weights, or of a matcher."""
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.database.variants import reweighted
    from deepphase.matching.learned.matcher import Matcher
    from deepphase.matching.player.playback import Playback
    from deepphase.matching.player.source import PlayerSource, database_measures
    from deepphase.matching.search.searcher import open_searcher

    if _is_matcher(source):
        matcher = Matcher.load(source)
        player.check(matcher.database)
        return matcher.source()
    database = MotionDatabase.load(source)
    player.check(database)
    database = reweighted(database.with_kinds(report), player.weight_factors)
    playback = Playback.of_database(database, report)
    searcher = open_searcher(database, progress=report, note=warn)
    data = database_measures(database, playback)
    return PlayerSource(database, playback, searcher, data=data)


def _beside(path: Path, settings: PlayerSettings, report: Progress) -> RunnerSource[Runner]:
    """The source of what moves beside others: a database or a matcher, or a controller."""
    from deepphase.controllers.runtime.controller import FORMAT as CONTROLLER
    from deepphase.controllers.runtime.controller import Controller
    from deepphase.controllers.runtime.start import CharacterSource
    from deepphase.formats.array_file import read_header

    if read_header(path)["format"] == CONTROLLER:
        return CharacterSource(Controller.load(path))
    return replace(_opened(path, PlayerOptions(), report), settings=settings)
