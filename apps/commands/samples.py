"""`deepphase samples`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from deepphase.apps.input_checks import new_folder
from deepphase.apps.terminal import next_step, note, progress
from deepphase.errors import ParameterError


def command(
    folder: str,
    of: Literal["person", "dog", "dances"] = "person",
    seconds: float = 20.0,
    seed: int = 1,
) -> None:
    """Write clips that the shipped characters perform, to try every command with.

    The person walks, runs, goes backward and aside, turns, stops, stands, and walks in three
    styles. The names of the files say action and style, which other commands take as labels.

    Parameters
    ----------
    folder
        Folder to write.
    of
        Who performs: the shipped person, dog or dancer; a song lies beside each dance.
    seconds
        Length of a clip in seconds.
    seed
        Another number makes other clips of the same names, to measure a model on.
    """
    from deepphase.apps.samples import save_samples

    if not 2.0 <= seconds <= 600.0:
        raise ParameterError(
            f"clips of {seconds:g} s are not made", hint="give --seconds of 2 to 600"
        )
    into = Path(folder)
    new_folder(into)
    with progress() as report:
        paths = save_samples(into, of, seconds, seed, report)
    note(f"{len(paths)} clips -> {into}")
    next_step("inspect", into)
