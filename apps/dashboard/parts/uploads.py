"""Uploads of motion and model files, which are not trusted.

The format of a file is found from its content, and clips are checked as those of a corpus are. The
name of an upload is only displayed: while its bytes are read, they lie in the session's folder
under a random name.
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
from deepphase.formats.markers.c3d import is_c3d
from deepphase.memory import within_memory
from deepphase.motion.clip import Clip
from deepphase.motion.resample import ResampleLimit
from deepphase.phase.extractor import load_model

MAX_MODEL_MB = 64
_MAX_LETTERS = 40
Loaded = TypeVar("Loaded")


def load_upload(content: bytes, suffix: str, load: Callable[[Path], Loaded]) -> Loaded:
    """Write the bytes to a temporary file and load it; errors do not name that file."""
    path = session().folder / f"upload-{secrets.token_hex(8)}{suffix}"
    path.write_bytes(content)
    try:
        return load(path)
    except DeepPhaseError as error:
        raise type(error)(error.fact, hint=error.hint) from None
    finally:
        path.unlink(missing_ok=True)


def display_name(suffix: str, name: str, default: str) -> str:
    """The name of an upload as pages display it, without the suffix; `default` if it is empty."""
    clean = "".join(c if c.isprintable() else " " for c in name.removesuffix(suffix))
    return clean[:_MAX_LETTERS].strip() or default


def offer_upload(
    label: str,
    kind: str,
    help_: str,
    read: Callable[[str, bytes], str],
    choose_upload: Callable[[str], None],
    where: str,
) -> None:
    """Draw a file uploader and the outcome of the upload.

    Parameters
    ----------
    label, help_
        Texts of the widget.
    kind
        Kind of file, as in "model"; part of the widget's key.
    read
        Name and bytes -> the name under which the upload can be chosen; raises DeepPhaseError for
        a file that it refuses.
    choose_upload
        Called once with that name, before the page runs again.
    where
        Place of the chooser, as in "above".
    """
    file = st.file_uploader(label, max_upload_size=MAX_MODEL_MB, key=f"{kind} upload", help=help_)
    if file is None:
        return
    # Id of an upload -> message; refusals begin with "!".
    outcomes: dict[str, str] = st.session_state.setdefault(f"{kind} uploads", {})
    if file.file_id not in outcomes:
        try:
            name = read(file.name, bytes(file.getbuffer()))
        except DeepPhaseError as error:
            outcomes[file.file_id] = f"!Refused. {plain(file.name)}: {error_sentence(error)}"
        else:
            outcomes[file.file_id] = f"{plain(name)} can be chosen {where}."
            choose_upload(name)
            st.rerun()
    words = outcomes[file.file_id]
    if words.startswith("!"):
        st.error(words[1:], icon=":material/block:")
    else:
        st.success(words, icon=":material/check:")


def read_model_upload(name: str, content: bytes) -> str:
    """Add an uploaded model to the session, and return the name under which it can be chosen.

    Raises
    ------
    CheckpointError
        If the file is not a model, or damaged.
    """
    model = load_upload(content, ".model", load_model)
    return session().add_model(display_name(".model", name, "Model"), model)


def offer_model_upload() -> None:
    """Draw the uploader of model files."""
    offer_upload(
        "Open a finished model",
        "model",
        "A file that `deepphase train phase`, `deepphase fit phases` or this page wrote. "
        "Other users cannot see it.",
        read_model_upload,
        lambda name: choose(model=f"session:{name}"),
        "on the left of every page",
    )


MAX_MOTION_MB = 64
UPLOAD_FPS = 60.0
"""Frames a second of the clips of a session."""

# Suffixes that the browser's file dialog lists.
MOTION_SUFFIXES = ("bvh", "npz", "glb", "c3d", "trc", "csv", "mvnx")
# First bytes -> suffix of the format.
_CONTENT = {
    b"HIERARCHY": ".bvh",
    b"PK\x03\x04": ".npz",
    b"glTF": ".glb",
    b"PathFileType": ".trc",
    b"Format Version": ".csv",
    b'"Format Version': ".csv",
}
# Bytes in which the root element of an XML file begins.
_XML_FRONT = 4096
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MAX_NAME_LETTERS = 60
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class UploadResult:
    """Outcome of one upload: its clips and notes, or the error."""

    file: str
    clips: tuple[Clip, ...] = ()
    notes: tuple[str, ...] = ()
    error: DeepPhaseError | None = None


def read_upload(
    own: Session, file: str, content: bytes, *, fps: float = UPLOAD_FPS
) -> UploadResult:
    """Read one file and add its clips to a session.

    Parameters
    ----------
    own
        The session.
    file
        Name of the upload.
    content
        Bytes of the upload.
    fps
        Rate that the clips are resampled to, Hz.
    """
    name = safe_name(file)
    try:
        prepared = prepared_upload(own, file, content, fps=fps)
        clips = tuple(own.add_clip(clip, given) for clip, given in prepared.clips)
    except DeepPhaseError as error:
        return UploadResult(name, error=type(error)(error.fact, hint=error.hint, path=name))
    notes = list(prepared.notes)
    for clip in clips:
        notes += clip.source.notes
    notes += [glitch.sentence for glitch in prepared.glitches]
    return UploadResult(name, clips, tuple(dict.fromkeys(notes)))


def prepared_upload(
    own: Session, file: str, content: bytes, *, fps: float = UPLOAD_FPS
) -> PreparedFile:
    """Read one file as `read_upload` does, without adding its clips to the session.

    Raises
    ------
    DeepPhaseError
        If the file is refused.
    """
    return within_memory(_read, own.folder, safe_name(file), content, fps, own.room)


def safe_name(file: str) -> str:
    """The name of a file without folders and unprintable characters, at most 60 letters."""
    last = PurePosixPath(file.replace("\\", "/")).name
    stem = "".join(c if c.isprintable() else " " for c in PurePosixPath(last).stem).strip()
    return stem[:_MAX_NAME_LETTERS] or "file"


def suffix_of(content: bytes) -> str:
    """The suffix that belongs to the content of a file.

    Raises
    ------
    FormatError
        If it is not a motion file that can be uploaded.
    """
    if not content:
        raise FormatError("this is an empty file", hint="upload it again")
    if len(content) > MAX_MOTION_MB * 1_000_000:
        raise FormatError(
            f"the file has {len(content) / 1e6:,.0f} MB, more than {MAX_MOTION_MB}",
            hint="split it, or open it from a folder: deepphase app FOLDER",
        )
    front = content[:FRONT_BYTES].removeprefix(_BYTE_ORDER_MARK).lstrip()
    for signature, suffix in _CONTENT.items():
        if front.startswith(signature):
            return suffix
    if b"<mvnx" in content[:_XML_FRONT]:
        return ".mvnx"
    foreign = foreign_content(content)
    if not foreign and is_c3d(content):
        return ".c3d"
    raise FormatError(
        f"this is {foreign}" if foreign else "no known motion format",
        hint="upload BVH, .npz (AMASS, points, our own), .glb, C3D, TRC, Motive's CSV or MVNX",
    )


def _read(
    folder: Path, name: str, content: bytes, fps: float, limit: ResampleLimit
) -> PreparedFile:
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
            limit=limit,
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
