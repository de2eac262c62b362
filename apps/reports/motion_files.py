"""The motion of a run's characters as files, and tables of their frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from deepphase.formats.load import save
from deepphase.motion.clip import Clip
from deepphase.replacing import replacing

_SUFFIXES = (".bvh", ".glb")


def character_stem(stem: str, character: int, characters: int) -> str:
    """The name of one character's files."""
    return stem if characters == 1 else f"{stem}-{character + 1:02d}"


def write_motion(clip: Clip, folder: Path, stem: str) -> list[tuple[str, str]]:
    """Write a motion as BVH and glb; (name, what it is) of each file."""
    for suffix in _SUFFIXES:
        save(clip, folder / f"{stem}{suffix}")
    return [(f"{stem}{suffix}", "the motion") for suffix in _SUFFIXES]


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    with replacing(path) as file:
        file.write(text.getvalue().encode())
