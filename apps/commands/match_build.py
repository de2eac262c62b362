"""`deepphase match build`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from apps.label_filter import labels_told
from apps.terminal import note, progress, table, warn
from deepphase.errors import ParameterError


def command(
    store: Path,
    output: Path,
    model: Path | None = None,
    config: str = "phase_trajectory",
    index: str = "auto",
    labels: str | None = None,
    skeleton: str | None = None,
    extend: Path | None = None,
    end_margin_s: float = 0.25,
    songs: Path | None = None,
) -> None:
    """Build a motion database: the features of every frame of a store, and an index over them.

    Parameters
    ----------
    store
        A store, at the model's rate.
    output
        The database file to write; its index is kept beside it.
    model
        The phase model, as `deepphase train phase` wrote it; needed where the features have
        phases.
    config
        Which features: a YAML file, or the name of a shipped layout (configs/matching).
    index
        exact, flat, ivf, hnsw, ivfpq or auto.
    labels
        Only clips with these labels, as in style=old+happy,action=walk.
    skeleton
        Which skeleton group, where the store has several.
    extend
        A database whose rows are taken as they are; the store's clips are put behind them.
    end_margin_s
        Frames with less than this left in their clip are not offered.
    songs
        The folder that was prepared into the store, with the clips' songs, where the features
        hear music; the store's own folder if not given.
    """
    from apps.reports.database_songs import with_dances
    from deepphase.corpus.store import open_store
    from deepphase.features.layout import FeatureLayout
    from deepphase.phase.extractor import load_extractor
    from deepphase.replacing import check_writable
    from matching.database import MotionDatabase
    from matching.search import INDEX_NAMES, open_searcher
    from matching.song_tracks import DancedSongs, is_of_songs

    if index not in INDEX_NAMES:
        raise ParameterError(f"no index {index!r}", hint=f"indices: {', '.join(INDEX_NAMES)}")
    if output.is_dir():
        raise ParameterError(
            f"{output} is a folder", hint=f"name the database file: -o {output / 'motion.database'}"
        )
    check_writable(output)
    clips = open_store(store, skeleton)
    if labels is not None:
        clips = clips.selected(labels_told(labels))
    trained = None if model is None else load_extractor(model)
    grown = None if extend is None else MotionDatabase.load(extend)
    layout = FeatureLayout.load(config) if grown is None else grown.layout
    heard = None
    with progress() as shown:
        if is_of_songs(layout):
            heard = DancedSongs.heard(clips, songs or store.absolute().parent, layout, shown)
            clips = heard.store
            for clip, why in heard.left_out:
                warn(f"{clip}: left out: {why}")
        if grown is None:
            database = MotionDatabase.build(
                clips,
                layout,
                trained,
                tracks=heard,
                end_margin_s=end_margin_s,
                spool=output.absolute().parent,
                progress=shown,
            )
        else:
            database = grown.extended(
                clips, trained, tracks=heard, spool=output.absolute().parent, progress=shown
            )
        if heard is not None:
            database = with_dances(database, heard, shown)
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
        f"{len(saved.offered_rows):,} of them offered to searches"
    )
    if idle:
        note(f"{idle} clips are too short for the features' reach: none of their frames is offered")
    note(f"index: {searcher.name}, {'exact' if searcher.exact else 'approximate'}")
    for name, share in getattr(searcher, "recall", {}).items():
        queries, ranks = name.rsplit("_", 1)
        note(f"  recall of the nearest {ranks}, {queries.replace('_', '-')} queries: {share:.3f}")
    note(f"database: {output}")
