"""`deepphase convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from deepphase.apps.each_clip import write_clips
from deepphase.apps.options.groups import StoreOptions


def command(
    clips: list[Path],
    output: Path,
    format: Literal["bvh", "glb", "npz", "fbx", "usda"] = "bvh",
    allow_truncated: bool = False,
    reading: StoreOptions = StoreOptions(),  # noqa: B008 (frozen)
) -> None:
    """Convert clips to another file format.

    Parameters
    ----------
    clips
        Motion files, folders of motion files, or stores.
    output
        File to write, whose suffix selects the format; a folder if there are several clips.
    format
        File format of the clips in an output folder.
    allow_truncated
        Use the readable frames of files that end too early.
    """
    write_clips(clips, output, format, reading, lambda clip: clip, allow_truncated=allow_truncated)
