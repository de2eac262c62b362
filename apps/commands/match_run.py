"""`deepphase match run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deepphase.apps.options.groups import SteeringOptions, parse_labels
from deepphase.apps.options.player import PlayerOptions
from deepphase.apps.terminal import next_step, note, progress, table, warn
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.matching.player.player import PlayerSettings
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
    index: str = "auto",
    store: Path | None = None,
    player: PlayerOptions = PlayerOptions(),  # noqa: B008 (frozen)
    steering: SteeringOptions = SteeringOptions(),  # noqa: B008 (frozen)
) -> None:
    """Move characters along a path or by a gamepad recording, by motion matching.

    Parameters
    ----------
    source
        Motion database of `deepphase match build`, or matcher of
        `deepphase train matching`.
    output
        Folder for index.html, player.html, report.json, and .bvh, .glb and a table of every run.
    labels
        Use only clips with these labels, as in style=normal,action=walk+run.
    include
        Play actions, too: action for all of them, or labels of clips as in action=bow+kick.
    compare
        Also run with pose features in place of the phases, and list both in one table.
    beside
        Databases, matchers and controllers, separated by commas, whose characters follow the same
        goals; one player and one table have them all.

    Other Parameters
    ----------------
    index
        Search index: exact, or a string of FAISS's index_factory such as IVF1024,Flat; auto is that
        of the database.
    store
        Store of the database's clips, if it was moved.
    """
    from deepphase.apps.runs.database import index_line
    from deepphase.apps.runs.matching import matching_report, played_moments, unknown_labels
    from deepphase.apps.runs.request import RunRequest, goals_of, read_goals
    from deepphase.atomic_write import check_writable
    from deepphase.matching.database.on_ground import has_ground_heights
    from deepphase.matching.player.moment_filter import moments_line

    read = read_goals(steering.path, steering.gamepad)
    request = RunRequest.of_options(steering)
    settings = player.settings(played_moments(include))
    wanted = parse_labels(labels) if labels else {}
    check_writable(output / "index.html")
    of_database = {"compare": compare, "index": index != "auto", "store": store}
    _check_of_database(source, {**of_database, "weight": player.weight})
    with progress() as report_progress:
        runners = _opened(source, store, index, player, report_progress)
        # The motion of databases without heights is laid on the ground afterwards.
        ground = request.ground if has_ground_heights(runners.database.layout) else None
        runners = replace(
            runners, labels=wanted, settings=settings, seed=steering.seed, ground=ground
        )
        goals = goals_of(read, request, runners.travelling_speed)
        notes = unknown_labels(goals, runners)
        paths = [] if beside is None else [Path(each.strip()) for each in beside.split(",")]
        others = {each.name: _beside(each, settings, report_progress) for each in paths}
        report = matching_report(
            runners,
            goals,
            request,
            output,
            file=source.name,
            beside=others,
            compare=compare,
            index=index,
            progress=report_progress,
            note=warn,
        )
    for text in notes:
        warn(text)
    for each in report.tables:
        table(each.headings, each.rows)
    for finding in report.findings:
        warn(finding)
    note(moments_line(runners.database, runners.played))
    note(index_line(runners.searcher))
    note(f"report: {report.page}")
    next_step("app", source.parent)


def _opened(
    source: Path, store: Path | None, index: str, player: PlayerOptions, report: Progress
) -> PlayerSource:
    """The source of the players of a database, with the factors of its weights, or of a matcher."""
    from deepphase.corpus.store import open_store
    from deepphase.formats.array_file import read_header
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.database.reweighted import reweighted
    from deepphase.matching.learned.matcher import FORMAT as MATCHER
    from deepphase.matching.learned.matcher import Matcher
    from deepphase.matching.player.playback import Playback
    from deepphase.matching.player.source import PlayerSource, database_measures
    from deepphase.matching.search.searcher import open_searcher

    if source.is_file() and read_header(source)["format"] == MATCHER:
        matcher = Matcher.load(source)
        player.check(matcher.database)
        return matcher.source()
    opened = MotionDatabase.load(source, store=None if store is None else open_store(store))
    player.check(opened)
    opened = reweighted(opened.with_kinds(report), player.weight_factors)
    playback = Playback.of_database(opened, report)
    searcher = open_searcher(opened, index, progress=report, note=warn)
    data = database_measures(opened, playback)
    return PlayerSource(opened, playback, searcher, data=data)


def _beside(path: Path, settings: PlayerSettings, report: Progress) -> RunnerSource[Runner]:
    """The source of what moves beside others: a database or a matcher, or a controller."""
    from deepphase.controllers.runtime.controller import FORMAT as CONTROLLER
    from deepphase.controllers.runtime.controller import Controller
    from deepphase.controllers.runtime.start import CharacterSource
    from deepphase.formats.array_file import read_header

    if read_header(path)["format"] == CONTROLLER:
        return CharacterSource(Controller.load(path))
    return replace(_opened(path, None, "auto", PlayerOptions(), report), settings=settings)


def _check_of_database(source: Path, options: Mapping[str, object]) -> None:
    """Raise ParameterError where an option is given that a matcher does not take."""
    from deepphase.formats.array_file import read_header
    from deepphase.matching.learned.matcher import FORMAT as MATCHER

    given = [name for name, value in options.items() if value]
    if given and source.is_file() and read_header(source)["format"] == MATCHER:
        raise ParameterError(
            f"--{given[0]} is an option of motion databases, and {source.name} is a matcher",
            hint="give the database that it was trained on, or leave the option out",
        )
