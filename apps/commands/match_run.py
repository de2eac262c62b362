"""`deepphase match run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepphase.apps.options import SteeringOptions, parse_labels
from deepphase.apps.terminal import next_step, note, progress, warn
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.apps.runs.goals import Goal
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.player.settings import MomentFilter
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
    weight: str | None = None,
    keep: str | None = None,
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
    include
        Play actions, too: action for all of them, or labels of clips as in action=bow+kick.
    compare
        Also run with pose features in place of the phases, and list both in one table.
    beside
        Databases, matchers and controllers, separated by commas, whose characters follow the same
        goals; one player and one table have them all.
    weight
        Factors of the weights of features, as in trajectory_direction=0.5,phase_manifold=2; match
        build prints the features.
    keep
        Labels whose values are kept at a cost, separated by commas, or none; if not given, style
        where the database has it.
    """
    from deepphase.apps.runs.goals import read_goals, run_ground

    # Refused before anything long is imported.
    goals = read_goals(steering.path, steering.gamepad)
    ground = run_ground(steering.terrain, seed=steering.seed)
    from deepphase.apps.runs.run import report_runs
    from deepphase.matching.database.frame_reader import has_ground_heights
    from deepphase.matching.player.settings import PlayerSettings, moments_line

    kept = tuple(name.strip() for name in (keep or "").split(",") if name.strip())
    kept = () if kept == ("none",) else kept
    settings = PlayerSettings(moments=played_moments(include))
    settings = settings if keep is None else replace(settings, keep=kept)
    wanted, factors = parse_labels(labels), _factors(weight)
    if _is_matcher(source):
        for name, value in {"compare": compare, "weight": weight}.items():
            if value:
                raise ParameterError(
                    f"--{name} is an option of motion databases, and {source.name} is a matcher",
                    hint="give the database that it was trained on, or leave the option out",
                )
    with progress() as shown:
        opened = _opened(source, factors, shown)
        _check_kept(opened.database, kept)
        # The motion of databases without heights is laid on the ground afterwards.
        walked = ground if has_ground_heights(opened.database.layout) else None
        opened = replace(
            opened, labels=wanted, settings=settings, seed=steering.seed, ground=walked
        )
        notes = _unknown_labels(goals, opened)
        own = _compared(opened, shown) if compare else {source.name: opened}
        sources: dict[str, RunnerSource[Runner]] = dict(own)
        for path in [] if beside is None else [Path(name.strip()) for name in beside.split(",")]:
            sources[path.name] = _beside(path, settings, shown)
    for text in notes:
        warn(text)
    played = moments_line(opened.database, opened.played)
    report_runs(
        sources,
        goals,
        ground,
        steering,
        output,
        title=source.name,
        notes=[played],
        made_with=opened.database.made_with,
        entries=_feature_entries(own),
    )
    note(played)
    note(f"index: {opened.searcher.words()}")
    next_step("app", source.parent)


def _factors(weight: str | None) -> dict[str, float]:
    """Factors of the weights of features by their names."""
    factors = {}
    for part in weight.split(",") if weight else ():
        name, _, value = part.partition("=")
        try:
            factors[name.strip()] = float(value)
        except ValueError:
            fact = f"{part.strip()!r} is not of the form feature=factor"
            raise ParameterError(
                fact, hint="write weights as in trajectory_direction=0.5,phase_manifold=2"
            ) from None
    return factors


def _check_kept(database: MotionDatabase, kept: Sequence[str]) -> None:
    """Raise ParameterError if labels are to be kept that the database does not have."""
    known = {name for labels in database.labels for name in labels}
    if unknown := [name for name in kept if name not in known]:
        raise ParameterError(
            f"no label {unknown[0]!r} to keep in this database",
            hint=f"it has {', '.join(sorted(known)) or 'none'}",
        )


def _is_matcher(path: Path) -> bool:
    from deepphase.formats.array_file import read_header
    from deepphase.matching.learned.matcher import FORMAT

    return path.is_file() and read_header(path)["format"] == FORMAT


def _opened(source: Path, factors: Mapping[str, float], shown: Progress) -> PlayerSource:
    """The source of the players of a database, with the factors of its weights, or of a matcher."""
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.learned.matcher import Matcher
    from deepphase.matching.player.source import PlayerSource

    if _is_matcher(source):
        return Matcher.load(source).source()
    database = MotionDatabase.load(source).with_kinds(shown).reweighted(factors)
    return PlayerSource.of_database(database, progress=shown, note=warn)


def _beside(path: Path, settings: Any, shown: Progress) -> RunnerSource[Runner]:
    """The source of what moves beside others: a database or a matcher, or a controller."""
    from deepphase.controllers.runtime.controller import FORMAT as CONTROLLER
    from deepphase.controllers.runtime.controller import Controller
    from deepphase.controllers.runtime.start import CharacterSource
    from deepphase.formats.array_file import read_header

    if read_header(path)["format"] == CONTROLLER:
        return CharacterSource(Controller.load(path))
    return replace(_opened(path, {}, shown), settings=settings)


def _compared(source: PlayerSource, shown: Progress) -> dict[str, PlayerSource]:
    """The database, and databases of its clips with pose features in place of the phases."""
    from deepphase.matching.database.variants import pose_databases
    from deepphase.matching.search.searcher import open_searcher

    database = source.database
    name = "phases" if database.layout.of_kind("phase_manifold") else "as built"
    sources = {name: source}
    for rival_name, rival in pose_databases(database, shown):
        searcher = open_searcher(rival, progress=shown)
        sources[rival_name] = replace(source, database=rival, searcher=searcher)
    return sources


def _unknown_labels(goals: Mapping[str, Goal | None], source: PlayerSource) -> list[str]:
    """Warnings about labels of goals that the database does not have; refuses unknown values."""
    notes = []
    for name, goal in goals.items():
        labels = getattr(goal, "labels", None) or getattr(goal, "buttons", {})
        for column, values in labels.items():
            if column not in source.label_names:
                notes.append(f"{name}: its motion has no label {column!r}, which is ignored")
                continue
            for value in dict.fromkeys(filter(None, values)):
                source.check_labels({column: value})
    return notes


def _feature_entries(sources: Mapping[str, PlayerSource]) -> list[dict[str, Any]]:
    """Dimensions and memory of the feature rows, for report.json."""
    keys, entries = ("name", "definition", "value", "unit"), []
    for features, source in sources.items():
        own = source.database
        size = ("dimensions", "values in a feature row", own.dims, "")
        memory = ("memory", "of all feature rows", own.features.nbytes, "bytes")
        about = {"n": len(own), "by": {"features": features}}
        entries += [dict(zip(keys, each, strict=True)) | about for each in (size, memory)]
    return entries


def played_moments(include: str | None) -> MomentFilter:
    """The moments that a run plays: idle and locomotion, and what is included by an option."""
    from deepphase.features.moment_kinds import KINDS
    from deepphase.matching.player.settings import MomentFilter

    if include is None:
        return MomentFilter()
    if include in KINDS:
        return MomentFilter(tuple(dict.fromkeys((*MomentFilter().kinds, include))))
    return MomentFilter(clips=parse_labels(include))
