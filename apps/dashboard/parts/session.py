"""State of one browser session: uploaded clips, its files, and a temporary folder.

Uploads are not trusted. The format of a motion file is found from its content, and clips are
checked as those of a corpus are. The name of an upload is only displayed: while its bytes are read,
they lie in the session's folder under a random name.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import streamlit as st

from deepphase.apps.dashboard.parts.folder import FoundFile, folder_of
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.clips import agreed_point_sets
from deepphase.corpus.groups import have_one_body
from deepphase.corpus.motion_files import MotionFile
from deepphase.corpus.prepare_file import FileTask, PreparedFile, prepare_file
from deepphase.errors import DeepPhaseError, FormatError, ParameterError
from deepphase.formats.load import MOTION_FORMATS
from deepphase.formats.markers.c3d import is_c3d
from deepphase.formats.reading import FRONT_BYTES, foreign_content, unique_names
from deepphase.motion.clip import Clip
from deepphase.motion.resample import ResampleLimit
from deepphase.work import within_memory

_KEY = "deepphase session"
# Limits of one session, so that many can share a machine.
MAX_CLIPS, MAX_FRAMES, MAX_FILES = 200, 400_000, 12
# Bytes of one upload's clips while they are resampled.
_MAX_CLIP_BYTES = 512 << 20
_MAX_NAME_LETTERS = 60
# As BVH, a session's most frames of a body of 22 joints have some 240 MB.
MAX_MOTION_MB = 256
# Frames a second of the clips of a session.
UPLOAD_FPS = 60.0
# Suffixes that the browser's file dialog lists: formats of one file that need no other program.
MOTION_SUFFIXES = tuple(
    suffix.removeprefix(".") for suffix in MOTION_FORMATS if suffix not in (".gltf", ".fbx", ".amc")
)
# Bytes in which the root element of an XML file begins.
_XML_FRONT = 4096
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Session:
    """Clips and files of one session, which are removed at its end."""

    def __init__(self) -> None:
        self.clips: list[tuple[Clip, Mapping[str, Any]]] = []
        self.files: list[FoundFile] = []
        # Upload -> its frames a second, instead of what the file says.
        self.rates: Mapping[str, float] = {}
        self._folder: Path | None = None
        self._stores: list[ClipStore] | None = None

    @property
    def folder(self) -> Path:
        """The session's temporary folder, created at its first use."""
        if self._folder is None:
            self._folder = folder_of(self)
        return self._folder

    @property
    def frames(self) -> int:
        """Frames of all clips."""
        return sum(len(clip) for clip, _ in self.clips)

    @property
    def room(self) -> ResampleLimit:
        """What resampling may produce of the next upload."""
        return ResampleLimit(max(MAX_FRAMES - self.frames, 0), _MAX_CLIP_BYTES)

    def add_clip(self, clip: Clip, provenance: Mapping[str, Any]) -> Clip:
        """Add a clip, and return it under a unique name."""
        if len(self.clips) >= MAX_CLIPS or self.frames + len(clip) > MAX_FRAMES:
            raise ParameterError(
                f"there are more than {MAX_CLIPS} clips or {MAX_FRAMES:,} frames in one session",
                hint="remove some, or give the program a folder: deepphase app FOLDER",
            )
        clip = replace(clip, name=unused_name(clip.name, {other.name for other, _ in self.clips}))
        self.clips.append((clip, provenance))
        self._stores = None
        return clip

    def remove_clips(self, file: str = "") -> None:
        """Remove the clips of one upload, or of all."""
        self.clips = [own for own in self.clips if file and own[0].source.path != file]
        self._stores = None

    def new_path(self, suffix: str) -> Path:
        """A path of a random name in the session's folder."""
        return self.folder / f"{secrets.token_hex(8)}{suffix}"

    def add_file(self, path: Path, name: str) -> FoundFile:
        """Add a file of the folder under a unique name; beyond the limit the oldest goes."""
        name = unused_name(name, {file.name for file in self.files})
        file = FoundFile.described(path, name, own=True)
        while len(self.files) >= MAX_FILES:
            self.files.pop(0).path.unlink(missing_ok=True)
        self.files.append(file)
        return file

    @contextmanager
    def uploaded(self, content: bytes, suffix: str, name: str = "") -> Iterator[Path]:
        """An upload as a file under a random name, within a block; errors name the upload."""
        path = self.new_path(suffix)
        try:
            path.write_bytes(content)
            yield path
        except DeepPhaseError as error:
            fact = error.fact.removeprefix(f"{path.stem}: ")
            shown = safe_name(name) if name else None
            raise type(error)(fact, hint=error.hint, path=shown, line=error.line) from None
        finally:
            path.unlink(missing_ok=True)

    def stores(self) -> list[ClipStore]:
        """The uploaded clips, one store for each skeleton and body."""
        if self._stores is None:
            groups: list[list[tuple[Clip, Mapping[str, Any]]]] = []
            for clip, given in self.clips:
                same = (group for group in groups if have_one_body(group[0][0], clip))
                group = next(same, None)
                if group is None:
                    groups.append(group := [])
                group.append((clip, given))
            stores = [
                ClipStore.from_clips(clips, provenance=provenance)
                for clips, provenance in (zip(*group, strict=True) for group in groups)
            ]
            names = unique_names([store.group for store in stores], "-")[0]
            self._stores = [
                replace(store, group=name) for store, name in zip(stores, names, strict=True)
            ]
        return self._stores


def session() -> Session:
    """The session that the current page runs in."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    return st.session_state[_KEY]


def unused_name(name: str, taken: Collection[str]) -> str:
    """The name, with a number behind it where it is taken, as in "walk (2)"."""
    unused, number = name, 2
    while unused in taken:
        unused, number = f"{name} ({number})", number + 1
    return unused


def plain_file_name(name: str, usual: str = "clip") -> str:
    """The name of a file without signs that a program could refuse, at most 60 letters."""
    plain = "".join(c if c.isalnum() or c in "-_ ." else "_" for c in name)
    return plain[:_MAX_NAME_LETTERS].strip(". ") or usual


def safe_name(file: str) -> str:
    """The name of a file without folders and unprintable characters, at most 60 letters."""
    last = PurePosixPath(file.replace("\\", "/")).name
    stem = "".join(c if c.isprintable() else " " for c in PurePosixPath(last).stem).strip()
    return stem[:_MAX_NAME_LETTERS] or "file"


@dataclass(frozen=True)
class UploadResult:
    """Outcome of one upload: its clips and notes, or the error."""

    file: str
    clips: tuple[Clip, ...] = ()
    notes: tuple[str, ...] = ()
    error: DeepPhaseError | None = None
    rate: float | None = None  # Frames a second as given for the file


def read_upload(own: Session, file: str, content: bytes) -> UploadResult:
    """Read one file and add its clips to a session."""
    name = safe_name(file)
    try:
        prepared = prepared_upload(own, file, content, UPLOAD_FPS)
        clips = tuple(own.add_clip(clip, given) for clip, given in prepared.clips)
    except DeepPhaseError as error:
        error = type(error)(error.fact, hint=error.hint, path=name)
        return UploadResult(name, error=error, rate=own.rates.get(name))
    notes = [*prepared.notes, *(note for clip in clips for note in clip.source.notes)]
    notes += [glitch.sentence for glitch in prepared.glitches]
    return UploadResult(name, clips, tuple(dict.fromkeys(notes)), rate=own.rates.get(name))


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
    for suffix, kind in MOTION_FORMATS.items():
        if front.startswith(kind.begins):
            return suffix
    if b"<mvnx" in content[:_XML_FRONT]:
        return ".mvnx"
    foreign = foreign_content(content)
    if not foreign and is_c3d(content):
        return ".c3d"
    raise FormatError(
        f"this is {foreign}" if foreign else "this is not a known motion format",
        hint=f"upload {', '.join(f'.{suffix}' for suffix in MOTION_SUFFIXES)}",
    )


def _read(own: Session, name: str, content: bytes, fps: float) -> PreparedFile:
    with own.uploaded(content, suffix_of(content)) as path:
        file = MotionFile(path, name, name)
        sets, labels = agreed_point_sets([file]), {"from": "upload"}
        reader = {"fps": own.rates[name]} if name in own.rates else {}
        task = FileTask(file, fps, reader, sets, labels, limit=own.room)
        prepared = prepare_file(task)
    if isinstance(prepared, DeepPhaseError):
        raise FormatError(prepared.fact, hint=prepared.hint, line=prepared.line)
    key = f"{prepared.sha256}/{fps:g}/{own.rates.get(name)}"
    for _, provenance in prepared.clips:
        provenance["key"] = key
    return prepared
