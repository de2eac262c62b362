"""`deepphase match run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deepphase.apps.options.groups import SteeringOptions, parse_labels
from deepphase.apps.options.player import PlayerOptions
from deepphase.apps.terminal import next_step, note, progress, table, warn
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.apps.runs.request import Goal, RunRequest


def command(
    source: Path,
    output: Path,
    labels: str | None = None,
    include: str | None = None,
    compare: bool = False,
    follow: Path | None = None,
    model: Path | None = None,
    index: Literal["auto", "exact", "flat", "ivf", "hnsw", "ivfpq"] = "auto",
    store: Path | None = None,
    player: PlayerOptions = PlayerOptions(),  # noqa: B008 (frozen)
    steering: SteeringOptions = SteeringOptions(),  # noqa: B008 (frozen)
) -> None:
    """Move characters along a path or by a gamepad recording, by motion matching.

    Parameters
    ----------
    source
        Motion database of `deepphase match build`, or the folder of its shards; or matcher of
        `deepphase train matching`.
    output
        Folder for index.html, player.html and report.json and, for every run, .bvh, .glb and a
        table of its frames.
    labels
        Use only clips with these labels, as in style=normal,action=walk+run.
    include
        Play actions, too, not only idle and locomotion: action for all of them, or labels of clips
        as in action=bow+kick.
    compare
        Also run with pose features in place of the phases, and list both in one table.
    follow
        Motion file of any body, whose phases and codes the database's body follows, in place of a
        path; with --model.
    model
        Phase model with a codebook of both bodies, of `deepphase train phase --config shared`.

    Other Parameters
    ----------------
    index
        Kind of search index. exact is an exact tree; flat, ivf, hnsw and ivfpq are FAISS indices;
        auto takes the index of the database.
    store
        Store of the database's clips, if it was moved.
    """
    from deepphase.apps.runs.database import index_line
    from deepphase.apps.runs.matching import matching_report, played_moments, unknown_labels
    from deepphase.apps.runs.request import RunRequest, goals_of, read_goals
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.store import open_store
    from deepphase.formats.array_file import read_header
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.database.on_ground import has_ground_heights
    from deepphase.matching.database.reweighted import reweighted
    from deepphase.matching.learned.matcher import FORMAT as MATCHER
    from deepphase.matching.player.moment_filter import moments_line
    from deepphase.matching.player.playback import Playback
    from deepphase.matching.player.source import PlayerSource, database_measures
    from deepphase.matching.search.searcher import open_searcher

    read = read_goals(steering.path, steering.gamepad)
    request = RunRequest.of_options(steering)
    settings, factors = player.settings(played_moments(include)), player.weight_factors
    wanted = parse_labels(labels) if labels else {}
    check_writable(output / "index.html")
    if follow is not None:
        if model is None:
            raise ParameterError(
                "--follow needs a phase model that both bodies share",
                hint="give one of `deepphase train phase --config shared` with --model",
            )
        _follow(source, output, follow, model, store)
        return
    if source.is_file() and read_header(source)["format"] == MATCHER:
        _run_matcher(source, output, read, request, wanted, player, steering)
        return
    with progress() as report_progress:
        opened = MotionDatabase.load(source, store=None if store is None else open_store(store))
        player.check(opened)
        opened = reweighted(opened.with_kinds(report_progress), factors)
        playback = Playback.of_database(opened, report_progress)
        goals = goals_of(read, request, playback.travelling_speed)
        searcher = open_searcher(opened, index, progress=report_progress, note=warn)
        data = database_measures(opened, playback)
        # The motion of databases without heights is laid on the ground afterwards.
        ground = request.ground if has_ground_heights(opened.layout) else None
        runners = PlayerSource(
            opened, playback, searcher, wanted, settings, steering.seed, data, ground
        )
        notes = unknown_labels(goals, runners)
        report = matching_report(
            runners,
            goals,
            request,
            output,
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
    note(moments_line(opened, runners.played))
    note(index_line(searcher))
    note(f"report: {report.page}")
    next_step("app", source.parent)


def _follow(source: Path, output: Path, followed: Path, model: Path, store: Path | None) -> None:
    """The command with --follow: files of the body that follows, and a page with both."""
    from deepphase.apps.runs.following import follow_clip
    from deepphase.corpus.store import open_store
    from deepphase.matching.database.database import MotionDatabase

    opened = MotionDatabase.load(source, store=None if store is None else open_store(store))
    with progress() as report_progress:
        found, page = follow_clip(opened, followed, model, output, report_progress)
    note(
        f"{len(found.rows) / opened.fps:.1f} s with {found.jumps} jumps; the same code as the clip "
        f"in {found.same_codes:.0%} of the frames, its phase within {found.phase_error:.3f} cycles"
    )
    note(f"page: {page}")
    next_step("play", output)


def _run_matcher(
    path: Path,
    output: Path,
    read: dict[str, Goal | None],
    request: RunRequest,
    labels: dict[str, list[str]],
    player: PlayerOptions,
    steering: SteeringOptions,
) -> None:
    """The command for a matcher; `read` are the goals that were given."""
    from deepphase.apps.runs.matching import learned_report, unknown_labels
    from deepphase.apps.runs.request import goals_of
    from deepphase.matching.database.on_ground import has_ground_heights
    from deepphase.matching.learned.matcher import Matcher
    from deepphase.matching.learned.source import MatcherSource

    matcher = Matcher.load(path)
    ground = request.ground if has_ground_heights(matcher.layout) else None
    source = MatcherSource(matcher, labels, player.settings(), steering.seed, ground)
    goals = goals_of(read, request, source.travelling_speed)
    for text in unknown_labels(goals, source):
        warn(text)
    with progress() as report_progress:
        report = learned_report(
            source, goals, request, output, file=path.name, progress=report_progress
        )
    for each in report.tables:
        table(each.headings, each.rows)
    for finding in report.findings:
        warn(finding)
    note(f"report: {report.page}")
    next_step("live", path)
