"""Names and paths of the files that are written for clips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from deepphase.atomic_write import check_writable
from deepphase.errors import ParameterError
from deepphase.formats.load import MOTION_FORMATS

# Bytes. With a number and the suffix, the name stays within the 255 of file systems.
_MAX_STEM_BYTES = 230


def clip_targets(
    names: Sequence[str], inputs: Sequence[Path], output: Path, format: str
) -> list[Path]:
    """The file of each clip: `output` itself for a single one, else files in that folder.

    Parameters
    ----------
    names
        Names of the clips.
    inputs
        Files and folders that they are read from, none of which is overwritten.
    output
        A motion file (by its suffix), or a folder.
    format
        Suffix of files in a folder, without its dot.

    Raises
    ------
    ParameterError
        If one file is named for several clips, or an input would be overwritten.
    CheckpointError
        If the files cannot be written.
    """
    is_file = output.suffix.lower() in MOTION_FORMATS
    if is_file and not output.is_dir():
        if len(names) > 1:
            raise ParameterError(
                f"-o names one file, but there are {len(names)} clips to write",
                hint="name a folder with -o",
                path=output,
            )
        targets = [output]
    else:
        targets = [output / f"{stem}.{format}" for stem in unique_stems(names)]
    read = {path.resolve() for path in inputs if path.is_file()}
    folders = {path.resolve() for path in inputs if path.is_dir()}
    for target in targets:
        place = target.resolve()
        if place in read or (place.is_file() and folders & set(place.parents)):
            raise ParameterError(
                "the clip would overwrite a file that is read",
                hint="choose another folder",
                path=target,
            )
    for target in targets[:1]:
        check_writable(target)
    return targets


def unique_stems(names: Iterable[str]) -> list[str]:
    """A file stem for each name, unique even where names differ in upper and lower case only."""
    written: set[str] = set()
    stems = []
    for name in names:
        safe = "".join(c if c.isalnum() or c in "-_.() " else "_" for c in name)
        safe = safe.encode()[:_MAX_STEM_BYTES].decode(errors="ignore").strip() or "clip"
        stem, count = safe, 1
        while stem.lower() in written:
            count += 1
            stem = f"{safe}-{count}"
        written.add(stem.lower())
        stems.append(stem)
    return stems
