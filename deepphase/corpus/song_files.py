"""The songs among files and under folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deepphase.corpus.motion_files import SONG_SUFFIXES, existing, files_under, is_motion_file
from deepphase.errors import FormatError


def find_songs(inputs: str | Path | Sequence[str | Path]) -> list[Path]:
    """All sound files among files and under folders, sorted by their path.

    Hidden files and folders are passed over.

    Parameters
    ----------
    inputs
        Folders and files. Files that are named here are taken whatever their suffix.

    Raises
    ------
    FormatError
        Where an input does not exist, or there is no sound.
    """
    given = existing(inputs)
    found: dict[Path, None] = {}
    for root in given:
        if not root.is_dir():
            found[root] = None
            continue
        found |= dict.fromkeys(path for path in files_under(root) if _is_song(path))
    if not found:
        raise FormatError(
            "no songs", hint=f"known: {', '.join(SONG_SUFFIXES)}", path=given[0] if given else None
        )
    return sorted(found)


def holds_only_songs(path: str | Path) -> bool:
    """Whether a path is a sound file, or a folder of sound files without any motion."""
    path = Path(path)
    if not path.is_dir():
        return _is_song(path) and path.is_file()
    files = files_under(path)
    return any(map(_is_song, files)) and not any(map(is_motion_file, files))


def _is_song(path: Path) -> bool:
    return path.suffix.lower() in SONG_SUFFIXES
