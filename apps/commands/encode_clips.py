"""`deepphase encode`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from apps.options.groups import StoreOptions, refuse_for_songs
from apps.terminal import list_left_out, next_step, note, progress
from deepphase.errors import DeepPhaseError, FormatError

# Bytes. With a number and the suffix, the name stays within the 255 of file systems.
_MAX_STEM_BYTES = 230


def command(
    model: Path,
    files: list[Path],
    output: Path,
    csv: bool = False,
    allow_truncated: bool = False,
    reading: StoreOptions = StoreOptions(),  # noqa: B008 (frozen)
) -> None:
    """Write the phases of every frame of clips or songs, as CLIP.phases.npz each.

    Parameters
    ----------
    model
        Phase model of `deepphase train phase`, or a baseline of `deepphase fit phases`.
    files
        Motion files, folders of motion files, or stores; for a model of songs, sound files and
        folders of them.
    output
        Folder for the phases.
    csv
        Also write CLIP.phases.csv.
    allow_truncated
        Use the readable frames of files that end too early.
    """
    from deepphase.atomic_write import check_writable
    from deepphase.corpus.clips import clips_in
    from deepphase.corpus.songs import find_songs
    from deepphase.music.cache import song_features
    from deepphase.phase.extractor import PhaseExtractor, load_extractor, reads_songs
    from deepphase.phase.model import PhaseModel
    from deepphase.phase.phase_file import save_csv, save_phases

    of_songs = reads_songs(model)
    trained: PhaseExtractor = PhaseModel.load(model) if of_songs else load_extractor(model)
    if of_songs:
        refuse_for_songs(reading, allow_truncated=allow_truncated)
    check_writable(output / "clip.phases.npz")
    options = {**reading.reader, "allow_truncated": allow_truncated}
    description = reading.description
    refused: list[DeepPhaseError] = []
    written: set[str] = set()
    frames = 0
    window_s, digest = trained.window / trained.fps, trained.sha256
    with progress() as report:
        entries: list[Callable[[], Any]]
        if of_songs:
            entries = [partial(song_features, song) for song in find_songs(files)]
        else:
            clips = clips_in(files, skeleton=reading.skeleton, description=description, **options)
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
            f"none of {len(refused)} {what} could be encoded", hint="the reasons are listed above"
        )
    note(f"{len(written)} {what}, {frames:,} frames at {trained.fps:g} fps -> {output}")
    if of_songs:
        next_step("doctor")
    else:
        next_step("figures", model, files[0], "-o", "figures")


def _unused(name: str, written: set[str]) -> str:
    """A unique file stem for each clip, even if two folders hold the same name."""
    safe = "".join(c if c.isalnum() or c in "-_.() " else "_" for c in name)
    safe = safe.encode()[:_MAX_STEM_BYTES].decode(errors="ignore").strip() or "clip"
    stem, count = safe, 1
    while stem.lower() in written:
        count += 1
        stem = f"{safe}-{count}"
    written.add(stem.lower())
    return stem
