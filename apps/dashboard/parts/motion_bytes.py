"""Clips as the content of motion files."""

from __future__ import annotations

from typing import Literal

from deepphase.formats.load import save
from deepphase.motion.clip import Clip
from deepphase.temporary_files import temporary_folder


def motion_bytes(clip: Clip, format: Literal["bvh", "glb"]) -> bytes:
    """A clip as the content of a file."""
    with temporary_folder() as folder:
        path = folder / f"clip.{format}"
        save(clip, path)
        return path.read_bytes()
