"""Motion files from a reader: told by their content, checked as a corpus is, never trusted.

A file's name is shown and nothing else. Its bytes lie in the session's own folder, under a name of
ours, for as long as they are read.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from apps.pages.parts.session import Session
from deepphase.corpus.motion_files import MotionFile
from deepphase.corpus.point_sets import agreed_point_sets
from deepphase.corpus.prepared_file import FileTask, PreparedFile, prepare_file
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.formats.file_content import FRONT_BYTES, foreign_content
from deepphase.motion.clip import Clip

MOST_MEGABYTES = 64
# What the page offers in the reader's own file chooser.
SUFFIXES = ("bvh", "npz", "glb")
# First bytes -> how readers know the format.
_CONTENT = {b"HIERARCHY": ".bvh", b"PK\x03\x04": ".npz", b"glTF": ".glb"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FPS = 60.0
_LONGEST_NAME = 60
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Taken:
    """What became of one file: its clips and what was noticed, or why it was refused."""

    file: str
    clips: tuple[Clip, ...] = ()
    notes: tuple[str, ...] = ()
    error: DeepPhaseError | None = None


def take_in(own: Session, file: str, content: bytes, *, fps: float = _FPS) -> Taken:
    """Read one file into a session's clips.

    Parameters
    ----------
    own
        Whose clips they become.
    file
        What the reader calls it.
    content
        Its bytes.
    fps
        Frames a second that its clips are resampled to.
    """
    name = shown_name(file)
    try:
        prepared = _read(own.folder, name, content, fps)
        clips = tuple(own.add_clip(clip, told) for clip, told in prepared.clips)
    except DeepPhaseError as error:
        return Taken(name, error=type(error)(error.fact, hint=error.hint, path=name))
    notes = list(prepared.notes)
    for clip in clips:
        notes += clip.source.notes
    notes += [glitch.sentence for glitch in prepared.glitches]
    return Taken(name, clips, tuple(dict.fromkeys(notes)))


def shown_name(file: str) -> str:
    """A file's name without folders, signs that cannot be printed, or too many letters."""
    last = PurePosixPath(file.replace("\\", "/")).name
    stem = "".join(c if c.isprintable() else " " for c in PurePosixPath(last).stem).strip()
    return stem[:_LONGEST_NAME] or "file"


def suffix_of(content: bytes) -> str:
    """The suffix that a file of this content should have.

    Raises FormatError where it is no motion file that can be uploaded.
    """
    if not content:
        raise FormatError("an empty file", hint="upload it again")
    if len(content) > MOST_MEGABYTES * 1_000_000:
        raise FormatError(
            f"{len(content) / 1e6:,.0f} MB, more than {MOST_MEGABYTES}",
            hint="cut it, or put it into a folder: deepphase app FOLDER",
        )
    front = content[:FRONT_BYTES].removeprefix(_BYTE_ORDER_MARK).lstrip()
    for begin, suffix in _CONTENT.items():
        if front.startswith(begin):
            return suffix
    found = foreign_content(content)
    raise FormatError(
        f"this is {found}" if found else "its content is no motion that is known",
        hint="upload BVH, .npz (AMASS, points, our own) or .glb",
    )


def _read(folder: Path, name: str, content: bytes, fps: float) -> PreparedFile:
    path = folder / f"upload-{next(_NUMBERS)}{suffix_of(content)}"
    try:
        path.write_bytes(content)
        point_sets = agreed_point_sets([MotionFile(path, name, name)], None)
        task = FileTask(
            path=path,
            file=name,
            name=name,
            labels={"from": "upload"},
            pieces=(),
            table=None,
            fps=fps,
            reader={},
            min_seconds=0.0,
            point_sets=point_sets,
        )
        prepared = prepare_file(task)
    finally:
        path.unlink(missing_ok=True)
    if prepared.reason is not None:
        raise FormatError(prepared.reason, hint=prepared.hint, line=prepared.line)
    told = [
        (clip, {**about, "key": f"{prepared.sha256}/{fps:g}"}) for clip, about in prepared.clips
    ]
    return PreparedFile(tuple(told), prepared.notes, prepared.glitches, prepared.sha256)
