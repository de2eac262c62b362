"""Loop of the commands that read clips and write one motion file for each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.options.groups import StoreOptions
from apps.terminal import list_left_out, note, progress
from deepphase.errors import DeepPhaseError, FormatError

if TYPE_CHECKING:
    from deepphase.motion.clip import Clip

# Notes that are printed, of all files together.
_MAX_NOTES = 12


def write_clips(
    paths: list[Path],
    output: Path,
    format: str,
    reading: StoreOptions,
    change: Callable[[Clip], Clip],
    **options: Any,
) -> None:
    """Read every clip, change it and write it; what cannot be read or changed is listed.

    Notes of the readers are printed once each.

    Parameters
    ----------
    paths
        Motion files, folders of motion files, or stores.
    output, format
        As of :func:`deepphase.corpus.clip_files.clip_targets`.
    change
        Makes the clip that is written of the clip that is read.
    options
        More options of the readers.

    Raises
    ------
    DeepPhaseError
        If no clip can be written.
    """
    from deepphase.corpus.clip_files import clip_targets
    from deepphase.corpus.clips import clips_in
    from deepphase.formats.load import save

    entries = clips_in(
        paths,
        skeleton=reading.skeleton,
        description=reading.description,
        **reading.reader,
        **options,
    )
    targets = clip_targets([entry.name for entry in entries], paths, output, format)
    refused: list[DeepPhaseError] = []
    texts: dict[str, None] = {}
    written, seconds = 0, 0.0
    with progress() as report:
        for number, (entry, target) in enumerate(zip(entries, targets, strict=True), start=1):
            try:
                clip = change(entry.load())
                save(clip, target)
                texts.update(dict.fromkeys(clip.source.notes))
                written, seconds = written + 1, seconds + len(clip) / clip.fps
            except DeepPhaseError as error:
                refused.append(error)
            report("writing", number, len(entries), entry.name)
    if len(entries) == len(refused) == 1:
        raise refused[0]
    list_left_out("left out", refused)
    if not written:
        raise FormatError(
            f"none of {len(refused)} clips could be written", hint="the reasons are listed above"
        )
    for text in list(texts)[:_MAX_NOTES]:
        note(text)
    if len(texts) > _MAX_NOTES:
        note(f"{len(texts) - _MAX_NOTES} more notes; `deepphase inspect` prints those of each file")
    note(f"{written} clips, {seconds / 60.0:.1f} minutes -> {output}")
