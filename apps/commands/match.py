"""`deepphase match`: databases of motion, searches in them, and runs by what they find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deepphase as dp
from deepphase.apps import options, terminal
from deepphase.apps.input_checks import claim, claim_folder
from deepphase.arrays import counted
from deepphase.errors import ParameterError
from deepphase.files import check_writable
from deepphase.formats.array_file import read_header
from deepphase.work import Progress

if TYPE_CHECKING:
    from deepphase.apps.options import Goal
    from deepphase.matching.player.settings import MomentFilter

_MATCHER = "deepphase.matcher"
_DEFAULT, _ON_GROUND = "phase_trajectory", "ground_trajectory"
# Seconds between two matches in one clip.
_APART_S = 0.5


def build_command(
    stores: list[Path],
    output: Path,
    model: Path | None = None,
    config: Any = options.ConfigOption("matching", _DEFAULT, has_keys=False),  # noqa: B008 (frozen)
    index: str = "auto",
    labels: str | None = None,
    skeleton: str | None = None,
    songs: Path | None = None,
    terrain: list[Path] | None = None,
) -> None:
    """Build a motion database: the features of every frame of stores, and a search index.

    Parameters
    ----------
    stores
        Stores with the frame rate of the model.
    output
        Database file to write. Its index is kept beside it.
    model
        Phase model of `deepphase train phase`, or a baseline of `deepphase fit phases`; needed if
        the features include phases.
    config
        Features of a frame.
    index
        Search index, which queries and runs then use: exact, or a string of FAISS's index_factory
        such as IVF1024,Flat or HNSW16, whose recall is printed. auto is exact.
    songs
        Folder with the songs of the clips, if the features include music; where they lay from the
        store if not given.
    terrain
        Folders and files of ground under the clips, from `deepphase fit ground` on the same store.
        Each clip is in the database on its floor and on each of its grounds, and the features
        are those of ground_trajectory if --config is not given. The clips on ground are
        stored beside the database, as OUTPUT.ground.store.
    """
    # Refused before torch is imported.
    if model is None and any(feature.kind == "phase_manifold" for feature in config):
        raise ParameterError(
            "the features need phases, and no phase model is given",
            hint="give --model, or --config pose_trajectory",
        )
    from deepphase.matching.database.build import ClipsOnGround
    from deepphase.matching.database.stored_rows import GROUND_HEIGHTS, has_ground_heights
    from deepphase.matching.music.song_tracks import has_song_tracks
    from deepphase.matching.player.trajectory_queries import future_offsets
    from deepphase.terrain.grounded_clip import ClipGrounds

    if terrain is not None and config == dp.features.FeatureLayout.load(_DEFAULT):
        config = dp.features.FeatureLayout.load(_ON_GROUND)
    check_writable(output, example="motion.database")
    loaded = None
    if model is not None:
        loaded = dp.load_model(model)
    joints = () if loaded is None else loaded.signals.joints
    clips = [dp.corpus.open_store(store, skeleton, joints=joints) for store in stores]
    for corpus, path in zip(clips, stores, strict=True):
        terminal.note_chosen_skeleton(corpus, path)
    if labels is not None:
        clips = [each.selected(options.parse_labels(labels)) for each in clips]
    trained = None if loaded is None else loaded.bound(clips[0])
    with_music = has_song_tracks(config)
    if has_ground_heights(config) != (terrain is not None):
        raise ParameterError(
            "features with heights of the ground need --terrain, and --terrain needs such features",
            hint="give --terrain with ground of `deepphase fit ground`, and --config "
            f"{_ON_GROUND} or a layout with the track {GROUND_HEIGHTS}",
        )
    if with_music and terrain is not None:
        raise ParameterError(
            "features have songs or ground, not both",
            hint="leave out --terrain, or choose features without songs with --config",
        )
    if len(clips) > 1 and (with_music or terrain is not None):
        raise ParameterError(
            "features of songs and of ground need one store", hint="prepare all clips as one store"
        )
    claim(output)
    beside = output.with_suffix(".ground.store")
    if terrain is not None:
        claim(beside)
    with terminal.progress() as shown:
        given: dict[str, Any] = {"spool": output.absolute().parent, "progress": shown}
        song_tracks = None
        if with_music:
            song_tracks = given["tracks"] = dp.matching.ClipSongTracks.read(
                clips[0], songs, config, shown
            )
            for line in song_tracks.clocks.words() if song_tracks.clocks else ():
                terminal.note(line)
            for clip, why in song_tracks.left_out:
                terminal.warn(f"{clip}: left out: {why}")
            clips = [song_tracks.store]
        if terrain is not None:
            on_ground = given["tracks"] = ClipsOnGround(
                clips[0],
                ClipGrounds.read(terrain),
                future_offsets(config),
                None if trained is None else trained.signals.body,
                shown,
            )
            on_ground.store.save(beside)
            clips = [dp.corpus.open_store(beside)]
        database = dp.matching.MotionDatabase.build(clips, config, trained, **given)
        if song_tracks is not None:
            from deepphase.matching.music.song_tracks import with_songs

            database = with_songs(database, song_tracks, shown)
        replace(database, index=index).save(output)
        # Its temporary files hold the rows once more.
        del database
        saved = dp.matching.MotionDatabase.load(output, verify=False)
        searcher = dp.matching.open_searcher(saved, index, progress=shown, note=terminal.warn)
    database_report(saved, searcher)
    terminal.note(f"database: {output}")
    next_of_database(saved, output)


def next_of_database(database: dp.matching.MotionDatabase, path: Path) -> None:
    """Print what the features of a database serve for."""
    from deepphase.matching.music.song_tracks import has_song_tracks
    from deepphase.matching.player.trajectory_queries import future_offsets

    if has_song_tracks(database.layout):
        terminal.next_step("dance", "SONG", "--database", path, "-o", "dance")
    elif len(future_offsets(database.layout)):
        terminal.next_step("match", "run", path, "--path", "square", "-o", "run")
    else:
        terminal.next_step("match", "query", path, database.clip_names[0], "-o", "matches")


def database_report(database: dp.matching.MotionDatabase, searcher: dp.matching.Searcher) -> None:
    """Print the features of a new database, its rows and its index."""
    from deepphase.features.moment_kinds import kind_shares_text

    rows = [
        (feature.name, str(feature.dims), feature.unit, f"{feature.weight:g}")
        for feature in database.layout
    ]
    terminal.table(("feature", "values", "unit", "weight"), rows)
    offered, clips = database.offered_rows, len(database.clip_names)
    short = clips - len(set(database.clip_of(offered).tolist()))
    size = f"{counted(clips, 'clip')}, {len(database):,} frames of {database.dims} values"
    terminal.note(f"{size}, {len(offered):,} of them can be found by searches")
    if short:
        terminal.note(
            f"searches skip {counted(short, 'clip')}, shorter than what the features span"
        )
    if database.kinds is not None:
        terminal.note(f"moments: {kind_shares_text(database.kinds)}")
        if not database.rows_of_kinds(["idle"]).any():
            held = "characters that stand hold one of the quietest poses, with slow noise on it"
            terminal.note(f"no body of the clips stands at rest: {held}")
    terminal.note(f"index: {searcher.words()}")


def query_command(
    database: Path,
    clip: str,
    output: Path,
    frame: int = 0,
    k: int = 10,
    model: Path | None = None,
    labels: str | None = None,
) -> None:
    """Find the frames of a database that are nearest to a frame of a clip.

    Writes matches.csv, a motion file for each match, and a page that plays the query and its
    matches side by side, aligned at the matched frame.

    Parameters
    ----------
    database
        Motion database of `deepphase match build`.
    clip
        Name of a clip in the database, or a motion file.
    output
        Folder for the table, the motion files and the page.
    frame
        Frame of the clip, counted from 0 at the frame rate of the database.
    k
        Number of matches.
    model
        Phase model of the database, needed if the clip is a motion file.
    """
    from deepphase.matching.search.moments import query_moment

    opened = dp.matching.MotionDatabase.load(database)
    query = query_moment(opened, clip, frame, model=model)
    allowed = None if labels is None else opened.rows_with(options.parse_labels(labels))
    written = (path.name for path in output.glob("match_*.bvh"))
    claim_folder(output, ("query.bvh", "matches.csv", *written))
    with terminal.progress() as shown:
        searcher = dp.matching.open_searcher(opened, progress=shown, note=terminal.warn)
    # The second around the query in its own clip is left out.
    own = None if query.row is None else opened.neighbourhood(query.row, 1.0)
    found = dp.matching.nearest_moments(
        opened, searcher, query.query, k, apart_s=_APART_S, allowed=allowed, excluded=own
    )
    if not found:
        raise ParameterError("no frame matches all conditions", hint="relax --labels")
    if len(found) < k:
        terminal.warn(f"{len(found)} matches instead of {k}: no more are {_APART_S:g} s apart")
    # Not before, as what is refused needs no page.
    from deepphase.apps.reports.matches_page import save_matches

    page = save_matches(opened, query, found, output)
    rows = [
        (
            *(str(rank), each.clip, str(each.frame), f"{each.time_s:.2f}", f"{each.distance:.4f}"),
            ", ".join(f"{name}={value}" for name, value in each.labels.items()),
        )
        for rank, each in enumerate(found, start=1)
    ]
    terminal.table(("rank", "clip", "frame", "s", "distance", "labels"), rows)
    terminal.note(f"index: {searcher.words()}")
    terminal.note(f"page: {page}")
    next_of_database(opened, database)


def run_command(
    source: Path,
    output: Path,
    labels: str | None = None,
    include: str | None = None,
    compare: bool = False,
    beside: str | None = None,
    weight: str | None = None,
    keep: str | None = None,
    steering: options.SteeringOptions = options.SteeringOptions(),  # noqa: B008 (frozen)
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
    # Refused before anything is loaded.
    goals = options.read_goals(steering.path, steering.gamepad)
    ground = options.run_ground(steering.terrain, seed=steering.seed)
    from deepphase.apps.runs import report_runs
    from deepphase.matching.database.stored_rows import has_ground_heights
    from deepphase.matching.player.settings import moments_line

    kept = () if keep == "none" else tuple(options.parse_names(keep))
    settings = dp.matching.PlayerSettings(moments=played_moments(include))
    settings = settings if keep is None else replace(settings, keep=kept)
    wanted, factors = options.parse_labels(labels), _factors(weight)
    if read_header(source)["format"] == _MATCHER:
        for name, value in {"compare": compare, "weight": weight}.items():
            if value:
                raise ParameterError(
                    f"--{name} is an option of motion databases, and {source.name} is a matcher",
                    hint="give the database that it was trained on, or leave the option out",
                )
    with terminal.progress() as shown:
        opened = _opened(source, factors, shown)
        assert isinstance(opened, dp.matching.PlayerSource)
        if unknown := sorted({*kept} - opened.label_names):
            raise ParameterError(
                f"no label {unknown[0]!r} to keep in this database",
                hint=f"it has {', '.join(sorted(opened.label_names)) or 'none'}",
            )
        # The motion of databases without heights is laid on the ground afterwards.
        walked = ground if has_ground_heights(opened.database.layout) else None
        opened = replace(
            opened, labels=wanted, settings=settings, seed=steering.seed, ground=walked
        )
        _check_labels(goals, opened)
        own = _compared(opened, shown) if compare else {source.name: opened}
        sources: dict[str, Any] = dict(own)
        for path in map(Path, options.parse_names(beside)):
            other = _opened(path, {}, shown)
            if isinstance(other, dp.matching.PlayerSource):
                other = replace(other, settings=settings)
            sources[path.name] = other
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
    )
    terminal.note(played)
    terminal.note(f"index: {opened.searcher.words()}")
    terminal.next_step("app", output)


def _factors(weight: str | None) -> dict[str, float]:
    """Factors of the weights of features by their names."""
    try:
        return {name: float("+".join(own)) for name, own in options.parse_labels(weight).items()}
    except ValueError:
        hint = "write weights as in trajectory_direction=0.5,phase_manifold=2"
        raise ParameterError(f"--weight {weight} has no number", hint=hint) from None


def _opened(
    path: Path, factors: Mapping[str, float], shown: Progress
) -> dp.matching.PlayerSource | dp.controllers.CharacterSource:
    """The source of what moves by a matcher, a controller, or a database with other weights."""
    kind = read_header(path)["format"]
    if kind == "deepphase.controller":
        return dp.controllers.CharacterSource(dp.controllers.Controller.load(path))
    if kind == _MATCHER:
        return dp.matching.Matcher.load(path).source()
    database = dp.matching.MotionDatabase.load(path).with_kinds(shown).reweighted(factors)
    return dp.matching.PlayerSource.from_database(database, progress=shown, note=terminal.warn)


def _compared(
    source: dp.matching.PlayerSource, shown: Progress
) -> dict[str, dp.matching.PlayerSource]:
    """The database, and databases of its clips with pose features in place of the phases."""
    from deepphase.matching.database.variants import pose_databases

    database = source.database
    name = "phases" if database.layout.of_kind("phase_manifold") else "as built"
    sources = {name: source}
    for rival_name, rival in pose_databases(database, shown):
        searcher = dp.matching.open_searcher(rival, progress=shown)
        sources[rival_name] = replace(source, database=rival, searcher=searcher)
    return sources


def _check_labels(goals: Mapping[str, Goal | None], source: dp.matching.PlayerSource) -> None:
    """Warn about labels of goals that the database does not have; refuse unknown values."""
    for name, goal in goals.items():
        labels = getattr(goal, "labels", None) or getattr(goal, "buttons", {})
        for column, values in labels.items():
            if column not in source.label_names:
                terminal.warn(f"{name}: its motion has no label {column!r}, which is ignored")
                continue
            for value in dict.fromkeys(filter(None, values)):
                source.check_labels({column: value})


def played_moments(include: str | None) -> MomentFilter:
    """The moments that a run plays: idle and locomotion, and what is included by an option."""
    from deepphase.features.moment_kinds import KINDS
    from deepphase.matching.player.settings import MomentFilter

    if include is None:
        return MomentFilter()
    if include in KINDS:
        return MomentFilter(tuple(dict.fromkeys((*MomentFilter().kinds, include))))
    return MomentFilter(clips=options.parse_labels(include))
