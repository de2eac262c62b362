"""`deepphase samples`."""

from __future__ import annotations

from pathlib import Path

from deepphase.apps.terminal import next_step, note, progress
from deepphase.errors import ParameterError

_SONGS = ((92, 4), (104, 4), (118, 4))
_SEED = 1


def command(folder: str, seconds: float = 20.0) -> None:
    """Write clips that the shipped characters perform, to try every command with.

    A person walks, runs, goes backward and aside, turns, starts and stops, stands, and walks in
    three styles; a dog walks and trots. FOLDER/dances has dances with their songs. Names and
    folders say what each clip is.

    Parameters
    ----------
    folder
        Folder to write.
    seconds
        Length of a clip in seconds.
    """
    import soundfile

    from deepphase.apps.samples import write_samples
    from deepphase.atomic_write import check_writable
    from deepphase.formats.bvh.writer import save_bvh
    from deepphase.synthetic import dance, make_song

    into = Path(folder)
    if not 2.0 <= seconds <= 600.0:
        raise ParameterError(
            f"clips of {seconds:g} s are not made", hint="give --seconds of 2 to 600"
        )
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise ParameterError("this is not an empty folder", hint="name a new one", path=into)
    check_writable(into / "dances" / "dance.bvh")
    with progress() as shown:
        count = len(write_samples(into, seconds, _SEED, shown))
    for number, (tempo, beats) in enumerate(_SONGS):
        song = make_song(number, seconds, tempo_bpm=float(tempo), beats_per_bar=beats)
        path = into / "dances" / f"dance_{tempo}_bpm.bvh"
        save_bvh(dance(song, number).clip, path)
        soundfile.write(path.with_suffix(".flac"), song.samples, song.sample_rate)
    note(f"{count} clips and {len(_SONGS)} dances with their songs -> {into}")
    next_step("inspect", into)
