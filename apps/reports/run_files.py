"""The files of a run: the motion of every character, and a table of its frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from apps.reports.motion_files import character_stem, write_motion, write_table
from matching.database import MotionDatabase
from matching.playback import Playback
from matching.run import Run

_COLUMNS = (
    *("t", "clip", "frame", "jumped", "cost", "x", "z", "facing"),
    *("wished_x", "wished_z", "wished_facing", "held"),
)


def write_run(
    run: Run, playback: Playback, database: MotionDatabase, folder: Path, stem: str
) -> list[tuple[str, str]]:
    """Write the motion of all characters and their frames; (name, what it is) of each file."""
    files = []
    for character in range(run.characters):
        own = character_stem(stem, character, run.characters)
        files += write_motion(run.clip(playback, character, own), folder, own)
        write_table(folder / f"{own}.frames.csv", _COLUMNS, _frames(run, database, character))
        files.append((f"{own}.frames.csv", "what played in every frame, and what was wished"))
    return files


def _frames(run: Run, database: MotionDatabase, character: int) -> Iterator[list[object]]:
    rows = run.rows[character]
    clips, frames = database.clip_of(rows), database.frame_of(rows)
    numbers = np.column_stack(
        [
            run.costs[character],
            run.positions[character],
            run.angles[character],
            run.wished_positions[character],
            run.wished_angles[character],
        ]
    )
    for index in range(len(run)):
        held = "".join("1" if each else "0" for each in run.held[character, index])
        yield [
            f"{index / run.fps:.4f}",
            database.clip_names[clips[index]],
            int(frames[index]),
            int(run.jumped[character, index]),
            *(f"{value:.5f}" for value in numbers[index]),
            held,
        ]
