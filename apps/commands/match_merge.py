"""`deepphase match merge`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from apps.terminal import next_step, note, progress, warn


def command(
    shards: list[Path],
    output: Path,
    index: Literal["auto", "exact", "flat", "ivf", "hnsw", "ivfpq"] = "auto",
) -> None:
    """Merge the shards of a motion database into one file, the same as if it was built at once.

    Parameters
    ----------
    shards
        All shards of `deepphase match build --shard`, or their folder.
    output
        Database file to write. Its index is kept beside it.
    index
        Kind of search index, as in `deepphase match build`; auto takes that of the shards.
    """
    from apps.runs.database import database_report
    from deepphase.atomic_write import check_writable
    from matching.database.database import MotionDatabase
    from matching.search.searcher import open_searcher

    check_writable(output, example="motion.database")
    with progress() as shown:
        # Damaged bytes would be merged under new hashes.
        joined = MotionDatabase.load(shards)
        if index != "auto":
            joined = replace(joined, index=index)
        joined.save(output)
        saved = MotionDatabase.load(output, verify=False)
        searcher = open_searcher(saved, progress=shown, note=warn)
    database_report(saved, searcher)
    note(f"database: {output}")
    next_step("match", "run", output, "--path", "square", "-o", "run")
