"""`deepphase match build`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepphase.apps.options import ConfigOption, claim, parse_labels
from deepphase.apps.terminal import next_step, note, note_chosen_skeleton, progress, table, warn
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.search.request import Searcher

_DEFAULT, _ON_GROUND = "phase_trajectory", "ground_trajectory"


def command(
    stores: list[Path],
    output: Path,
    model: Path | None = None,
    config: Any = ConfigOption("matching", _DEFAULT, has_keys=False),  # noqa: B008 (frozen)
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
    from deepphase.corpus.store import open_store
    from deepphase.features.layout import FeatureLayout
    from deepphase.files import check_writable
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.database.frame_reader import (
        GROUND_HEIGHTS,
        ClipsOnGround,
        has_ground_heights,
    )
    from deepphase.matching.music.song_tracks import ClipSongTracks, has_song_tracks
    from deepphase.matching.player.trajectory_queries import future_offsets
    from deepphase.matching.search.searcher import open_searcher
    from deepphase.terrain.grounded_clip import ClipGrounds

    if terrain is not None and config == FeatureLayout.load(_DEFAULT):
        config = FeatureLayout.load(_ON_GROUND)
    check_writable(output, example="motion.database")
    loaded = None
    if model is not None:
        # It imports torch.
        from deepphase.phase.extractor import load_model

        loaded = load_model(model)
    joints = () if loaded is None else loaded.signals.joints
    clips = [open_store(store, skeleton, joints=joints) for store in stores]
    for corpus, path in zip(clips, stores, strict=True):
        note_chosen_skeleton(corpus, path)
    if labels is not None:
        clips = [each.selected(parse_labels(labels)) for each in clips]
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
    with progress() as shown:
        options: dict[str, Any] = {"spool": output.absolute().parent, "progress": shown}
        song_tracks = None
        if with_music:
            song_tracks = options["tracks"] = ClipSongTracks.read(clips[0], songs, config, shown)
            for line in song_tracks.clocks.words() if song_tracks.clocks else ():
                note(line)
            for clip, why in song_tracks.left_out:
                warn(f"{clip}: left out: {why}")
            clips = [song_tracks.store]
        if terrain is not None:
            on_ground = options["tracks"] = ClipsOnGround(
                clips[0],
                ClipGrounds.read(terrain),
                future_offsets(config),
                None if trained is None else trained.signals.body,
                shown,
            )
            on_ground.store.save(beside)
            clips = [open_store(beside)]
        database = MotionDatabase.build(clips, config, trained, **options)
        if song_tracks is not None:
            from deepphase.apps.dance_sources import with_songs

            database = with_songs(database, song_tracks, shown)
        replace(database, index=index).save(output)
        # Its temporary files hold the rows once more.
        del database
        saved = MotionDatabase.load(output, verify=False)
        searcher = open_searcher(saved, index, progress=shown, note=warn)
    database_report(saved, searcher)
    note(f"database: {output}")
    next_of_database(saved, output)


def next_of_database(database: MotionDatabase, path: Path) -> None:
    """Print what the features of a database serve for."""
    from deepphase.matching.music.song_tracks import has_song_tracks
    from deepphase.matching.player.trajectory_queries import future_offsets

    if has_song_tracks(database.layout):
        next_step("dance", "SONG", "--database", path, "-o", "dance")
    elif len(future_offsets(database.layout)):
        next_step("match", "run", path, "--path", "square", "-o", "run")
    else:
        next_step("match", "query", path, database.clip_names[0], "-o", "matches")


def database_report(database: MotionDatabase, searcher: Searcher) -> None:
    """Print the features of a new database, its rows and its index."""
    from deepphase.features.moment_kinds import kind_shares_text

    rows = [
        (feature.name, str(feature.dims), feature.unit, f"{feature.weight:g}")
        for feature in database.layout
    ]
    table(("feature", "values", "unit", "weight"), rows)
    offered, clips = database.offered_rows, len(database.clip_names)
    short = clips - len(set(database.clip_of(offered).tolist()))
    size = f"{clips} clips, {len(database):,} frames of {database.dims} values"
    note(f"{size}, {len(offered):,} of them can be found by searches")
    if short:
        note(f"{short} clips are shorter than the time that the features span: searches skip them")
    if database.kinds is not None:
        note(f"moments: {kind_shares_text(database.kinds)}")
        if not database.rows_of_kinds(["idle"]).any():
            held = "characters that stand hold one of the quietest poses, with slow noise on it"
            note(f"no body of the clips stands at rest: {held}")
    note(f"index: {searcher.words()}")
