"""Loops of the commands over clips, of which those that cannot be read are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepphase.apps.options.groups import ClipOptions
from deepphase.apps.terminal import list_or_refuse, note, progress
from deepphase.errors import DeepPhaseError

if TYPE_CHECKING:
    from deepphase.corpus.clips import ClipEntry
    from deepphase.motion.clip import Clip

# Notes that are printed, of all files together.
_MAX_NOTES = 12


def each_clip(
    entries: Sequence[ClipEntry], use: Callable[[ClipEntry], object], doing: str, done: str
) -> None:
    """Call a function with every clip; those that it refuses are listed."""
    refused: list[DeepPhaseError] = []
    with progress() as report:
        for number, entry in enumerate(entries, start=1):
            try:
                use(entry)
            except DeepPhaseError as error:
                refused.append(error)
            report(doing, number, len(entries), entry.name)
    list_or_refuse(refused, len(entries), "clips", done)


def write_clips(
    paths: list[Path],
    output: Path,
    format: str,
    reading: ClipOptions,
    change: Callable[[Clip], Clip],
    write: Callable[[Clip, Path], None] | None = None,
    **options: Any,
) -> None:
    """Read every clip, change it and write it; what cannot be read or changed is listed.

    Notes of the readers are printed once each.
    """
    from deepphase.corpus.clips import clips_in
    from deepphase.corpus.motion_files import clip_targets
    from deepphase.formats.load import save

    entries = clips_in(paths, **reading.clips, **options)
    targets = clip_targets([entry.name for entry in entries], paths, output, format)
    texts: dict[str, None] = {}
    seconds: list[float] = []
    left = iter(targets)

    def write_entry(entry: ClipEntry) -> None:
        target = next(left)
        clip = change(entry.load())
        (write or save)(clip, target)
        texts.update(dict.fromkeys(clip.source.notes))
        seconds.append(len(clip) / clip.fps)

    each_clip(entries, write_entry, "writing", "written")
    for text in list(texts)[:_MAX_NOTES]:
        note(text)
    if len(texts) > _MAX_NOTES:
        note(f"{len(texts) - _MAX_NOTES} more notes; `deepphase inspect` prints those of each file")
    note(f"{len(seconds)} clips, {sum(seconds) / 60.0:.1f} minutes -> {output}")
