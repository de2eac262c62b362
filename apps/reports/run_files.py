"""The files of a run: the motion of every character, and a table of its frames."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from deepphase.formats.load import save
from deepphase.replacing import replacing
from matching.database import MotionDatabase
from matching.playback import Playback
from matching.run import Run


def write_run(
    run: Run, playback: Playback, database: MotionDatabase, folder: Path, stem: str
) -> list[tuple[str, str]]:
    """Write the motion of all characters and their frames; (name, what it is) of each file."""
    files = []
    for character in range(run.characters):
        own = stem if run.characters == 1 else f"{stem}-{character + 1:02d}"
        clip = run.clip(playback, character, own)
        for suffix in (".bvh", ".glb"):
            save(clip, folder / f"{own}{suffix}")
            files.append((f"{own}{suffix}", "the motion"))
        with replacing(folder / f"{own}.frames.csv") as file:
            file.write(_frames(run, database, character).encode())
        files.append((f"{own}.frames.csv", "what played in every frame, and what was wished"))
    return files


def _frames(run: Run, database: MotionDatabase, character: int) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "t",
            "clip",
            "frame",
            "jumped",
            "cost",
            "x",
            "z",
            "facing",
            "wished_x",
            "wished_z",
            "wished_facing",
            "held",
        ]
    )
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
        writer.writerow(
            [
                f"{index / run.fps:.4f}",
                database.clip_names[clips[index]],
                int(frames[index]),
                int(run.jumped[character, index]),
                *(f"{value:.5f}" for value in numbers[index]),
                held,
            ]
        )
    return text.getvalue()
