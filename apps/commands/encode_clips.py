"""`deepphase encode`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from apps.options import refuse_for_songs, told_skeleton
from apps.terminal import list_left_out, note, progress
from deepphase.errors import DeepPhaseError, FormatError

# Bytes: with a number and our suffix behind it, still a name that every disk takes.
_LONGEST_STEM = 230


def command(
    model: Path,
    files: list[Path],
    output: Path,
    csv: bool = False,
    skeleton: str | None = None,
    unit: str | None = None,
    up: str | None = None,
    file_fps: float | None = None,
    allow_truncated: bool = False,
    skeleton_description: str | None = None,
) -> None:
    """Write the phases of every frame of clips or songs: <clip>.phases.npz each.

    Parameters
    ----------
    model
        A phase model or a baseline: what `deepphase train phase` or `deepphase fit phases` wrote.
    files
        Motion files, folders of them, or stores; for a model of songs, sound files and folders.
    output
        Folder for the phases.
    csv
        Also write <clip>.phases.csv.
    skeleton
        Which skeleton group of a store.
    unit
        Unit of the files (m, cm, mm, inch, foot or metres as a number); inferred if not given.
    up
        Up axis of the files (x, y, z, -x, -y, -z); inferred if not given.
    file_fps
        Frames a second of the files, where theirs is wrong.
    allow_truncated
        Take the readable frames of files that end too early.
    skeleton_description
        A YAML file that says which point is which, for point tracks.
    """
    from deepphase.corpus.clips import clips_in
    from deepphase.corpus.song_files import find_songs
    from deepphase.music.cache import song_features
    from deepphase.phase.extractor import PhaseExtractor, load_extractor, reads_songs
    from deepphase.phase.model import PhaseModel
    from deepphase.phase.phase_file import save_csv, save_phases

    of_songs = reads_songs(model)
    trained: PhaseExtractor = PhaseModel.load(model) if of_songs else load_extractor(model)
    options = {"unit": unit, "up": up, "fps": file_fps, "allow_truncated": allow_truncated}
    if of_songs:
        refuse_for_songs(
            skeleton=skeleton,
            unit=unit,
            up=up,
            file_fps=file_fps,
            allow_truncated=allow_truncated,
            skeleton_description=skeleton_description,
        )
    description = told_skeleton(skeleton_description)
    refused: list[DeepPhaseError] = []
    written: set[str] = set()
    frames = 0
    window_s, digest = trained.window / trained.fps, trained.sha256
    with progress() as report:
        entries: list[Callable[[], Any]]
        if of_songs:
            entries = [partial(song_features, song) for song in find_songs(files)]
        else:
            clips = clips_in(files, skeleton=skeleton, description=description, **options)
            entries = [clip.load for clip in clips]
        for index, load in enumerate(entries):
            try:
                phases = trained.encode(load())
            except DeepPhaseError as error:
                refused.append(error)
                continue
            finally:
                report("encoding", index + 1, len(entries), "")
            stem = _unused(phases.name, written)
            save_phases(
                phases, output / f"{stem}.phases.npz", window_s=window_s, model_sha256=digest
            )
            if csv:
                save_csv(phases, output / f"{stem}.phases.csv")
            frames += len(phases)
    if len(entries) == len(refused) == 1:
        raise refused[0]
    list_left_out("left out", refused)
    what = "songs" if of_songs else "clips"
    if not written:
        raise FormatError(
            f"none of {len(refused)} {what} could be encoded", hint="the reasons stand above"
        )
    note(f"{len(written)} {what}, {frames:,} frames at {trained.fps:g} fps -> {output}")


def _unused(name: str, written: set[str]) -> str:
    """A file stem of its own for each clip, also where two folders hold the same name."""
    safe = "".join(c if c.isalnum() or c in "-_.() " else "_" for c in name)
    safe = safe.encode()[:_LONGEST_STEM].decode(errors="ignore").strip() or "clip"
    stem, count = safe, 1
    while stem.lower() in written:
        count += 1
        stem = f"{safe}-{count}"
    written.add(stem.lower())
    return stem
