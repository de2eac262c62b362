"""Uploads of motion files, which are not trusted.

The format of a file is found from its content, and clips are checked as those of a corpus are. The
name of an upload is only displayed: while its bytes are read, they lie in the session's folder
under a random name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from deepphase.apps.dashboard.parts.session import Session, safe_name
from deepphase.corpus.clips import agreed_point_sets
from deepphase.corpus.motion_files import MotionFile
from deepphase.corpus.prepare_file import FileTask, PreparedFile, prepare_file
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.formats.load import MOTION_FORMATS
from deepphase.formats.markers.c3d import is_c3d
from deepphase.formats.reading import FRONT_BYTES, foreign_content
from deepphase.memory import within_memory
from deepphase.motion.clip import Clip

MAX_MOTION_MB = 64
# Frames a second of the clips of a session.
UPLOAD_FPS = 60.0
# Suffixes that the browser's file dialog lists: formats of one file that need no other program.
MOTION_SUFFIXES = tuple(
    suffix.removeprefix(".") for suffix in MOTION_FORMATS if suffix not in (".gltf", ".fbx", ".amc")
)
# First bytes -> suffix of the format.
_CONTENT = {
    b"HIERARCHY": ".bvh",
    b"PK\x03\x04": ".npz",
    b"glTF": ".glb",
    b"\x93NUMPY": ".npy",
    b"PathFileType": ".trc",
    b"Format Version": ".csv",
    b'"Format Version': ".csv",
}
# Bytes in which the root element of an XML file begins.
_XML_FRONT = 4096
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class UploadResult:
    """Outcome of one upload: its clips and notes, or the error."""

    file: str
    clips: tuple[Clip, ...] = ()
    notes: tuple[str, ...] = ()
    error: DeepPhaseError | None = None


def read_upload(own: Session, file: str, content: bytes) -> UploadResult:
    """Read one file and add its clips to a session."""
    name = safe_name(file)
    try:
        prepared = prepared_upload(own, file, content, UPLOAD_FPS)
        clips = tuple(own.add_clip(clip, given) for clip, given in prepared.clips)
    except DeepPhaseError as error:
        return UploadResult(name, error=type(error)(error.fact, hint=error.hint, path=name))
    notes = [*prepared.notes, *(note for clip in clips for note in clip.source.notes)]
    notes += [glitch.sentence for glitch in prepared.glitches]
    return UploadResult(name, clips, tuple(dict.fromkeys(notes)))


def prepared_upload(own: Session, file: str, content: bytes, fps: float) -> PreparedFile:
    """Read one file at a rate in Hz as `read_upload` does, without adding its clips."""
    return within_memory(_read, own, safe_name(file), content, fps)


def suffix_of(content: bytes) -> str:
    """The suffix that belongs to the content of a file."""
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
        f"this is {foreign}" if foreign else "this is not a known motion format",
        hint="upload BVH, .npz (AMASS, points, our own), .glb, C3D, TRC, Motive's CSV or MVNX",
    )


def _read(own: Session, name: str, content: bytes, fps: float) -> PreparedFile:
    with own.uploaded(content, suffix_of(content)) as path:
        file = MotionFile(path, name, name)
        sets, labels = agreed_point_sets([file]), {"from": "upload"}
        prepared = prepare_file(FileTask(file, fps, point_sets=sets, labels=labels, limit=own.room))
    if prepared.error is not None:
        error = prepared.error
        raise FormatError(error.fact, hint=error.hint, line=error.line)
    key = f"{prepared.sha256}/{fps:g}"
    return replace(
        prepared, clips=tuple((clip, {**about, "key": key}) for clip, about in prepared.clips)
    )
