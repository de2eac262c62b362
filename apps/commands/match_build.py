"""`deepphase match build`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from apps.options.groups import parse_labels
from apps.terminal import next_step, note, progress, table, warn
from deepphase.features.layout import FeatureLayout

CONFIGS = FeatureLayout


def command(
    store: Path,
    output: Path,
    model: Path | None = None,
    config: str = "phase_trajectory",
    index: Literal["auto", "exact", "flat", "ivf", "hnsw", "ivfpq"] = "auto",
    labels: str | None = None,
    skeleton: str | None = None,
    extend: Path | None = None,
    end_margin_s: float = 0.25,
    songs: Path | None = None,
) -> None:
    """Build a motion database: the features of every frame of a store, and a search index.

    Parameters
    ----------
    store
        A store with the frame rate of the model.
    output
        Database file to write. Its index is kept beside it.
    model
        Phase model of `deepphase train phase`, or a baseline of `deepphase fit phases`; needed if
        the features include phases.
    config
        Features of a frame: a YAML file, or the name of a shipped layout (configs/matching).
    index
        Kind of search index. exact is an exact tree; flat, ivf, hnsw and ivfpq are FAISS indices;
        auto chooses by size.
    labels
        Use only clips with these labels, as in style=old+happy,action=walk.
    skeleton
        Name of the skeleton group to use, if the store holds several.
    extend
        Existing database to extend with the clips of the store.
    end_margin_s
        Exclude frames from searches that are closer than this to the end of their clip, in
        seconds.
    songs
        Folder with the songs of the clips, if the features include music; the folder of the
        store if not given.
    """
    from apps.dances.databases import with_songs
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.store import open_store
    from deepphase.phase.extractor import load_extractor
    from matching.database.database import MotionDatabase
    from matching.music.song_tracks import ClipSongTracks, has_song_tracks
    from matching.search.searcher import open_searcher

    check_writable(output, example="motion.database")
    clips = open_store(store, skeleton)
    if labels is not None:
        clips = clips.selected(parse_labels(labels))
    trained = None if model is None else load_extractor(model)
    grown = None if extend is None else MotionDatabase.load(extend)
    layout = FeatureLayout.load(config) if grown is None else grown.layout
    song_tracks = None
    with progress() as shown:
        if has_song_tracks(layout):
            song_tracks = ClipSongTracks.read(
                clips, songs or store.absolute().parent, layout, shown
            )
            clips = song_tracks.store
            for clip, why in song_tracks.left_out:
                warn(f"{clip}: left out: {why}")
        if grown is None:
            database = MotionDatabase.build(
                clips,
                layout,
                trained,
                tracks=song_tracks,
                end_margin_s=end_margin_s,
                spool=output.absolute().parent,
                progress=shown,
            )
        else:
            database = grown.extended(
                clips, trained, tracks=song_tracks, spool=output.absolute().parent, progress=shown
            )
        if song_tracks is not None:
            database = with_songs(database, song_tracks, shown)
        database.save(output)
        saved = MotionDatabase.load(output, verify=False)
        searcher = open_searcher(saved, index, progress=shown, note=warn)
    rows = [
        (feature.name, str(feature.dims), feature.unit, f"{feature.weight:g}")
        for feature in saved.layout
    ]
    table(("feature", "values", "unit", "weight"), rows)
    short = Counter(saved.clip_of(saved.offered_rows).tolist())
    idle = len(saved.clip_names) - len(short)
    note(
        f"{len(saved.clip_names)} clips, {len(saved):,} frames of {saved.dims} values, "
        f"{len(saved.offered_rows):,} of them can be found by searches"
    )
    if idle:
        note(f"{idle} clips are shorter than the time that the features span: searches skip them")
    note(f"index: {searcher.name}, {'exact' if searcher.exact else 'approximate'}")
    for name, share in getattr(searcher, "recall", {}).items():
        queries, ranks = name.rsplit("_", 1)
        note(f"  recall of the nearest {ranks}, {queries.replace('_', '-')} queries: {share:.3f}")
    note(f"database: {output}")
    if song_tracks is None:
        next_step("match", "run", output, "--path", "square", "-o", "run")
    else:
        next_step("dance", "SONG", "--database", output, "-o", "dance")
