"""Recordings of what was steered, as BVH files of a folder."""

from __future__ import annotations

from pathlib import Path

from deepphase.atomic_write import atomic_write
from deepphase.corpus.motion_files import RECORDINGS_FOLDER
from deepphase.errors import CheckpointError, FormatError
from deepphase.formats.load import load
from deepphase.temporary_files import temporary_folder

MAX_BYTES = 100_000_000
"""Bytes of a recording: a minute of a large skeleton has some 20 million."""


def save_recording(folder: Path, name: str, content: bytes) -> tuple[Path, float]:
    """Write BVH text below a folder, as recordings/NAME_01.bvh; its file and length in seconds."""
    with temporary_folder() as place:
        (place / "recording.bvh").write_bytes(content)
        try:
            seconds = load(place / "recording.bvh").duration
        except FormatError as error:
            raise FormatError(error.fact, hint="record it again") from None
    recordings = folder / RECORDINGS_FOLDER
    try:
        recordings.mkdir(exist_ok=True)
        stem = (
            "".join(c if c.isalnum() or c in "-_ ." else "_" for c in name).strip(". ") or "motion"
        )
        number = 1
        while (path := recordings / f"{stem}_{number:02d}.bvh").exists():
            number += 1
        with atomic_write(path) as file:
            file.write(content)
    except OSError as error:
        raise CheckpointError(
            f"the recording cannot be written: {error.strerror or error}", path=recordings
        ) from None
    return path, seconds
