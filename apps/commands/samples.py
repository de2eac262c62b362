"""`deepphase samples`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deepphase.apps.terminal import next_step, note, progress
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.motion.clip import Clip

# Beats a minute and beats in a bar of the songs.
_SONGS = ((92, 4), (104, 4), (118, 4))
_SEED = 1


def command(
    folder: str, of: Literal["person", "dog", "dances"] = "person", seconds: float = 20.0
) -> None:
    """Write clips that the shipped characters perform, to try every command with.

    The person walks, runs, goes backward and aside, turns, stops, stands, and walks in three
    styles. The names of the files say what each clip is.

    Parameters
    ----------
    folder
        Folder to write.
    of
        Who performs: the shipped person or dog, or synthetic dances, each with its song.
    seconds
        Length of a clip in seconds.
    """
    from deepphase.apps.samples import dog_clips, person_clips
    from deepphase.atomic_write import check_writable
    from deepphase.formats.bvh.writer import save_bvh

    if not 2.0 <= seconds <= 600.0:
        raise ParameterError(
            f"clips of {seconds:g} s are not made", hint="give --seconds of 2 to 600"
        )
    into = Path(folder)
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise ParameterError("this is not an empty folder", hint="name a new one", path=into)
    check_writable(into / "clip.bvh")
    names = []
    with progress() as report:
        if of == "dances":
            clips = _dances(into, seconds)
        else:
            clips = (person_clips if of == "person" else dog_clips)(seconds, _SEED, report)
        for clip in clips:
            save_bvh(clip, into / f"{clip.name}.bvh")
            names.append(clip.name)
    note(f"{len(names)} clips -> {into}")
    next_step("inspect", into)


def _dances(folder: Path, seconds: float) -> Iterator[Clip]:
    """Synthetic dances, whose songs are written into the folder."""
    from dataclasses import replace

    import soundfile

    from deepphase.apps.dance_sources import synthetic_dances

    for number, (song, clip) in enumerate(synthetic_dances(_SONGS, seconds), start=1):
        name = f"dance_{number:02d}"
        soundfile.write(folder / f"{name}.flac", song.samples, song.sample_rate)
        yield replace(clip, name=name)
