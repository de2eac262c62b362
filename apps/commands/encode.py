"""`deepphase encode`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from deepphase.apps import terminal
from deepphase.apps.input_checks import claim, is_motion
from deepphase.arrays import counted
from deepphase.corpus.motion_files import is_store, unique_stems
from deepphase.errors import FormatError, ParameterError
from deepphase.files import check_writable
from deepphase.shipped import SHIPPED


def command(
    files: list[Path],
    output: Path,
    csv: bool = False,
    workers: int | None = None,
    skeleton: str | None = None,
) -> None:
    """Write the phases of every frame of clips or songs, as CLIP.phases.npz each.

    Parameters
    ----------
    files
        A phase model of `deepphase train phase`, or a baseline of `deepphase fit phases`; then
        motion files, folders of motion files, or stores; for a model of songs, sound files and
        folders of them. Without a model, the shipped one for any skeleton reads the motion.
    output
        Folder for the phases.
    csv
        Also write CLIP.phases.csv.
    """
    from deepphase.corpus.clips import clips_in
    from deepphase.corpus.motion_files import holds_only_songs
    from deepphase.corpus.songs import song_entries
    from deepphase.phase.config import reads_songs

    # Refused before torch is imported.
    songs = [path for path in files if holds_only_songs(path)]
    if songs and songs[0] == files[0]:
        raise _song_without_model(songs[0], "no model of songs is given")
    shipped = SHIPPED["any_skeleton"]
    model, files = (shipped.path, files) if is_motion(files[0]) else (files[0], files[1:])
    if not files:
        raise ParameterError(
            "no clips are given", hint="name motion files, folders or stores after the model"
        )
    of_songs = reads_songs(model)
    if songs and not of_songs:
        raise _song_without_model(songs[0], f"{model.name} reads motion")
    from deepphase.phase.extractor import encode_files, opened_model

    # Files that are not models are refused before a folder is made and clips are looked for.
    loaded: Any = opened_model(model)
    if model == shipped.path:
        terminal.note("no model is given: the shipped model for any skeleton reads the clips")
        terminal.note_shipped(shipped)
    check_writable(output / "clip.phases.npz")
    with terminal.progress() as report:
        if of_songs:
            entries = song_entries(files)
        else:
            entries = clips_in(files, joints=loaded.signals.joints, skeleton=skeleton)
        sha256 = loaded.sha256
        for stem in unique_stems(entry.name for entry in entries):
            path = output / f"{stem}.phases.npz"
            _claim_phases(path, sha256)
            if csv and not path.exists():
                claim(path.with_suffix(".csv"))
        done = encode_files(model, entries, output, csv=csv, workers=workers, progress=report)
    for text in (text for each in done for text in each.notes):
        terminal.warn(text)
    refused = [each.error for each in done if each.error is not None]
    what = "songs" if of_songs else "clips"
    terminal.list_or_refuse(refused, len(done), what, "encoded")
    written = len(done) - len(refused)
    frames = sum(each.frames for each in done)
    terminal.note(
        f"{counted(written, what[:-1])}, {frames:,} frames at {loaded.fps:g} fps -> {output}"
    )
    terminal.refuse_unwritten(refused)
    if of_songs:
        terminal.next_step("dance", files[0] if files[0].is_file() else "SONG", "-o", "dance")
    elif model == shipped.path:
        is_folder = files[0].is_dir() and not is_store(files[0])
        terminal.next_step("app", files[0] if is_folder else files[0].parent)
    else:
        terminal.next_step("figures", model, files[0], "-o", "figures")


def _claim_phases(path: Path, model_sha256: str) -> None:
    """Refuse to replace what is no file of phases of the model."""
    from deepphase.formats.npz.archive import read_npz
    from deepphase.phase.parameters import FORMAT, VERSION

    if path.exists():
        with suppress(FormatError):
            if read_npz(path).meta(FORMAT, VERSION).get("model_sha256") == model_sha256:
                return
        claim(path)


def _song_without_model(song: Path, fact: str) -> ParameterError:
    one = "SONG" if song.is_dir() else song
    return ParameterError(
        f"{song.name} {'has songs' if song.is_dir() else 'is a song'}, and {fact}",
        hint="train a model of songs (deepphase train phase SONGS -o song.model) and give it "
        f"first: deepphase encode song.model {song}; or dance to a song: deepphase dance {one}",
    )
