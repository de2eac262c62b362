"""Motion files from a reader: told by their content, checked as a corpus is, never trusted.

A file's name is shown and nothing else. Its bytes lie in the session's own folder, under a name of
ours, for as long as they are read.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

import streamlit as st

from apps.dashboard.parts.collection import choose
from apps.dashboard.parts.messages import error_sentence, plain
from apps.dashboard.parts.session import Session, session
from deepphase.corpus.motion_files import MotionFile
from deepphase.corpus.point_sets import agreed_point_sets
from deepphase.corpus.prepared_file import FileTask, PreparedFile, prepare_file
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.formats.file_content import FRONT_BYTES, foreign_content
from deepphase.motion.clip import Clip
from deepphase.phase.extractor import load_extractor

MAX_MODEL_MB = 64
_MOST_LETTERS = 40
Loaded = TypeVar("Loaded")


def loaded(content: bytes, suffix: str, load: Callable[[Path], Loaded]) -> Loaded:
    """What `load` makes of the bytes of a file; its errors, without a path that is ours."""
    # The reader's name is for showing; the file gets one of ours.
    path = session().folder / f"upload-{secrets.token_hex(8)}{suffix}"
    path.write_bytes(content)
    try:
        return load(path)
    except DeepPhaseError as error:
        raise type(error)(error.fact, hint=error.hint) from None
    finally:
        path.unlink(missing_ok=True)


def name_without(suffix: str, name: str, otherwise: str) -> str:
    """A reader's name for a file as it is shown, without that suffix."""
    clean = "".join(c if c.isprintable() else " " for c in name.removesuffix(suffix))
    return clean[:_MOST_LETTERS].strip() or otherwise


def offer_upload(
    label: str,
    what: str,
    help_: str,
    take_in: Callable[[str, bytes], str],
    chosen: Callable[[str], None],
    where: str,
) -> None:
    """Draw where a file is dropped, and what became of it.

    Parameters
    ----------
    label, help_
        Words of the place.
    what
        Kind of file: a key of the page.
    take_in
        Name and bytes -> the name under which it can be chosen; DeepPhaseError where it is refused.
    chosen
        Called once with that name, before the page is drawn anew.
    where
        Where it can be chosen, in words.
    """
    file = st.file_uploader(label, max_upload_size=MAX_MODEL_MB, key=f"{what} upload", help=help_)
    if file is None:
        return
    taken: dict[str, str] = st.session_state.setdefault(f"{what}s taken", {})
    if file.file_id not in taken:
        try:
            name = take_in(file.name, bytes(file.getbuffer()))
        except DeepPhaseError as error:
            taken[file.file_id] = f"!Refused. {plain(file.name)}: {error_sentence(error)}"
        else:
            taken[file.file_id] = f"{plain(name)} can be chosen {where}."
            chosen(name)
            st.rerun()
    words = taken[file.file_id]
    if words.startswith("!"):
        st.error(words[1:], icon=":material/block:")
    else:
        st.success(words, icon=":material/check:")


def read_model_upload(name: str, content: bytes) -> str:
    """Keep a model of this session; the name under which it can be chosen.

    Raises CheckpointError where it is none, or damaged.
    """
    model = loaded(content, ".model", load_extractor)
    return session().add_model(name_without(".model", name, "Model"), model)


def offer_model_upload() -> None:
    """Where a model file is dropped; what became of it."""
    offer_upload(
        "Open a finished model",
        "model",
        "A file that `deepphase train phase`, `deepphase fit phases` or this page wrote. "
        "Nobody else sees it.",
        read_model_upload,
        lambda name: choose(model=f"session:{name}"),
        "on the left of every page",
    )


MAX_MOTION_MB = 64
# What the page offers in the reader's own file chooser.
MOTION_SUFFIXES = ("bvh", "npz", "glb")
# First bytes -> how readers know the format.
_CONTENT = {b"HIERARCHY": ".bvh", b"PK\x03\x04": ".npz", b"glTF": ".glb"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FPS = 60.0
_LONGEST_NAME = 60
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class UploadResult:
    """What became of one file: its clips and what was noticed, or why it was refused."""

    file: str
    clips: tuple[Clip, ...] = ()
    notes: tuple[str, ...] = ()
    error: DeepPhaseError | None = None


def read_upload(own: Session, file: str, content: bytes, *, fps: float = _FPS) -> UploadResult:
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
        clips = tuple(own.add_clip(clip, given) for clip, given in prepared.clips)
    except DeepPhaseError as error:
        return UploadResult(name, error=type(error)(error.fact, hint=error.hint, path=name))
    notes = list(prepared.notes)
    for clip in clips:
        notes += clip.source.notes
    notes += [glitch.sentence for glitch in prepared.glitches]
    return UploadResult(name, clips, tuple(dict.fromkeys(notes)))


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
    if len(content) > MAX_MOTION_MB * 1_000_000:
        raise FormatError(
            f"{len(content) / 1e6:,.0f} MB, more than {MAX_MOTION_MB}",
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
    given = [
        (clip, {**about, "key": f"{prepared.sha256}/{fps:g}"}) for clip, about in prepared.clips
    ]
    return PreparedFile(tuple(given), prepared.notes, prepared.glitches, prepared.sha256)
