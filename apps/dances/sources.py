"""Choice of a database or a dancer in a folder, for dances without one that is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from apps.dances.databases import known_songs
from controllers.dance.dancer import Dancer
from deepphase.errors import DeepPhaseError, ParameterError
from matching.database.database import MotionDatabase


def dance_source(folder: Path) -> tuple[Path | None, Path | None]:
    """A dancer, or a database of dances: the newest database of a folder, or its newest dancer.

    Databases repeat less than dancers do and never restart, see docs/measurements/dance.md; that
    is why they come first.

    Returns
    -------
    dancer, database
        One of them is None.

    Raises
    ------
    ParameterError
        If the folder has neither.
    """
    for path in _newest(folder, (".db", ".database")):
        try:
            if known_songs(MotionDatabase.load(path, verify=False)):
                return None, path
        except DeepPhaseError:
            # A damaged or foreign file is not a reason not to dance with another.
            continue
    for path in _newest(folder, (".dancer",)):
        try:
            Dancer.load(path)
        except DeepPhaseError:
            continue
        return path, None
    raise ParameterError(
        "no dance database and no dancer in this folder: give a trained dancer (--dancer) or a "
        "dance database (--database)",
        hint="`deepphase train dance` writes the first, `deepphase match build --config "
        "dance_music` the second",
    )


def _newest(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Files of the folder with one of these suffixes, the newest first."""
    files = [path for path in folder.iterdir() if path.suffix in suffixes and path.is_file()]
    yield from sorted(files, key=lambda path: (-path.stat().st_mtime, path.name))
