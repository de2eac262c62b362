"""Writer of stores, clip by clip, in constant memory; a store appears whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.groups import bodies_of, group_arrays, once, spread_translations
from deepphase.corpus.motion_files import STORE_FORMAT, STORE_JSON, is_store_folder, place_aside
from deepphase.errors import CheckpointError, ParameterError
from deepphase.files import json_hash, temporary_folder, writing
from deepphase.formats.array_file import checked_rate, is_array_file
from deepphase.formats.reading import unique_names
from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton

STORE_VERSION = 2
# Key of a group whose clips are known to have one body's rest frames.
ONE_BODY = "one_body"
ARRAY_TYPES = {
    "rotations": np.float32,
    "translations": np.float32,
    "translated_joints": np.int64,
    "range_starts": np.int64,
    "range_stops": np.int64,
    "offsets": np.float64,
    "end_starts": np.int64,
    "end_parents": np.int64,
    "end_offsets": np.float64,
}


def write_store(path: str | Path, clips: Iterable[Clip]) -> None:
    """Write clips of one rate as a store; of a `ClipStore` with its provenance and options."""
    provenance = iter(getattr(clips, "provenance", ()))
    header = getattr(clips, "header", {})
    with StoreWriter(path) as writer:
        for clip in clips:
            writer.add(clip, next(provenance, None))
        writer.finish(header.get("options"), header.get("left_out", ()))


@dataclass(frozen=True)
class Record:
    """A clip of a `StoreWriter` by its first frame, and where all frames are in the spool."""

    clip: Clip
    provenance: Mapping[str, Any]
    frames: int
    start: int


class StoreWriter:
    """Writer of clips, one after the other, as the store `path`.

    A context manager. Frames are spooled in a hidden folder beside the store, which is removed
    when the block ends. :meth:`finish` writes the store.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.records: list[Record] = []
        # Hierarchy -> skeleton whose order of joints its clips have.
        self._orders: dict[frozenset, Skeleton] = {}
        self._kept: dict[bytes, Any] = {}
        self._fps: float | None = None
        self._open = ExitStack()

    def __enter__(self) -> StoreWriter:
        # Checked now, not after an hour of reading files.
        with writing(self.path):
            self._target = Path(os.path.realpath(self.path))
            _check_replaceable(self.path, self._target)
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self._folder = self._open.enter_context(temporary_folder(self._target.parent))
            self._spool = self._folder / "frames"
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def add(self, clip: Clip, provenance: Mapping[str, Any] | None = None) -> int:
        """Spool a clip; returns its number, for :meth:`replace`.

        Raises ParameterError where its rate differs from that of earlier clips or is impossible.
        """
        if self._fps is not None and float(clip.fps) != self._fps:
            raise ParameterError(
                f"{clip.name}: it has {clip.fps:g} frames a second in a store of {self._fps:g}",
                hint="resample them to one rate",
            )
        self._fps = checked_rate(float(clip.fps))
        self.records.append(self._spooled(clip, provenance or {}))
        return len(self.records) - 1

    def replace(self, number: int, clip: Clip, provenance: Mapping[str, Any]) -> None:
        """Replace an added clip by another one."""
        self.records[number] = self._spooled(clip, provenance)

    def clip(self, number: int) -> Clip:
        """An added clip as stored; its frames are memory-mapped."""
        record = self.records[number]
        rotations, translations = self._frames(record)
        return replace(record.clip, rotations=rotations, translations=translations)

    @property
    def hierarchies(self) -> list[list[int]]:
        """Numbers of the clips of each hierarchy."""
        found: dict[frozenset, list[int]] = {}
        for number, record in enumerate(self.records):
            found.setdefault(record.clip.skeleton.hierarchy, []).append(number)
        return list(found.values())

    def groups(self) -> dict[str, list[int]]:
        """Name -> numbers of the clips of each group: one hierarchy, and rest frames of one body.

        Of several bodies of a hierarchy the one with most frames has the plain name, such as
        Hips-22, and the others Hips-22-2, Hips-22-3.
        """
        plain = [self.records[some[0]].clip.skeleton.group_name for some in self.hierarchies]
        groups: dict[str, list[int]] = {}
        for name, numbers in zip(plain, self.hierarchies, strict=True):
            if plain.count(name) > 1:
                # A hash of the hierarchy makes the name independent of the order of groups.
                key = sorted(self.records[numbers[0]].clip.skeleton.hierarchy, key=str)
                name = f"{name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:8]}"
            parts = bodies_of([self.records[number].clip for number in numbers])
            bodies = [[numbers[index] for index in part] for part in parts]
            bodies.sort(key=lambda body: -sum(self.records[number].frames for number in body))
            for place, body in enumerate(bodies, start=1):
                groups[f"{name}-{place}" if place > 1 else name] = body
        return groups

    def finish(
        self, options: Mapping[str, Any] | None = None, left_out: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Write the store. Raises CheckpointError where it cannot be written."""
        if self._fps is None:
            raise ParameterError("a store must have at least one clip")
        header: dict[str, Any] = {
            "format": STORE_FORMAT,
            "version": STORE_VERSION,
            "made_with": {name: metadata.version(name) for name in ("deepphase", "numpy", "scipy")},
            "options": dict(options or {}),
            "fps": self._fps,
            "left_out": [dict(entry) for entry in left_out],
            "groups": [],
            "sha256": {},
        }
        new = self._folder / "store"
        with writing(self.path):
            for name, numbers in self.groups().items():
                records = [self.records[number] for number in numbers]
                (new / name).mkdir(parents=True)
                header["groups"].append(_description(name, records))
                header["sha256"] |= self._write_group(new / name, records)
            header["json_sha256"] = json_hash(header)
            text = json.dumps(header, ensure_ascii=False, indent=1)
            (new / STORE_JSON).write_text(text, encoding="utf-8")
            _check_replaceable(self.path, self._target)
            self._move_into_place(new)

    def _spooled(self, clip: Clip, provenance: Mapping[str, Any]) -> Record:
        clip = clip.in_order_of(self._orders.setdefault(clip.skeleton.hierarchy, clip.skeleton))
        with writing(self.path), self._spool.open("ab") as file:
            start = file.tell()
            for array in (clip.rotations, clip.translations):
                file.write(np.ascontiguousarray(array, "<f4").data)
        # A copy, which does not keep the other frames in memory.
        frame = {name: getattr(clip, name)[:1].copy() for name in ("rotations", "translations")}
        source, kept = clip.source, self._kept
        orders, notes = once(source.rotation_orders, kept), once(source.notes, kept)
        source = replace(source, rotation_orders=orders, notes=notes)
        first = replace(clip, skeleton=once(clip.skeleton, kept), source=source, **frame)
        return Record(first, provenance, len(clip), start)

    def _frames(self, record: Record) -> tuple[Array, Array]:
        """Rotations and translations of a clip, memory-mapped."""
        shape = record.frames, len(record.clip.skeleton), 4
        rotations = np.memmap(self._spool, "<f4", "r", record.start, shape)
        behind = record.start + rotations.nbytes
        moving = record.frames, len(record.clip.translated_joints), 3
        return rotations, np.memmap(self._spool, "<f4", "r", behind, moving)

    def _write_group(self, folder: Path, records: list[Record]) -> dict[str, str]:
        """Write the arrays of a group; name, with the group's, -> hash of each."""
        clips = [record.clip for record in records]
        arrays = group_arrays(clips, [record.frames for record in records])
        moving, frames = arrays["translated_joints"], int(arrays["range_stops"][-1])
        rotations = (self._frames(record)[0] for record in records)
        translations = (
            spread_translations(record.clip, self._frames(record)[1], moving) for record in records
        )
        contents: dict[str, tuple[tuple[int, ...], Iterable[Array]]] = {
            "rotations": ((frames, len(clips[0].skeleton), 4), rotations),
            "translations": ((frames, len(moving), 3), translations),
            **{name: (array.shape, [array]) for name, array in arrays.items()},
        }
        return {
            f"{folder.name}/{name}": _write_npy(folder / f"{name}.npy", *content)
            for name, content in contents.items()
        }

    def _move_into_place(self, new: Path) -> None:
        """Put the new store in the place of the older one."""
        aside = place_aside(self._target)
        if aside.exists():
            os.replace(aside, self._folder / "abandoned")
        if self._target.exists():
            _copy_modes(self._target, new)
            os.replace(self._target, aside)
        try:
            os.replace(new, self._target)
        finally:
            if aside.exists():
                place = self._folder / "older" if self._target.exists() else self._target
                os.replace(aside, place)


def _write_npy(path: Path, shape: tuple[int, ...], parts: Iterable[Array]) -> str:
    """Write an array, part after part along its first axis; returns the hash of the file."""
    dtype = np.dtype(ARRAY_TYPES[path.stem]).newbyteorder("<")
    described = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    with path.open("w+b") as file:
        # Not `open_memmap`: where the disk is full, a write to a map ends the program by a signal.
        np.lib.format.write_array_header_1_0(file, described)
        for part in parts:
            file.write(np.ascontiguousarray(part, dtype).data)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _description(name: str, records: list[Record]) -> dict[str, Any]:
    """Header entry of a group."""
    skeleton = records[0].clip.skeleton
    names, _ = unique_names([record.clip.name for record in records], "-")
    return {
        "name": name,
        "joints": list(skeleton.names),
        "parents": skeleton.parents.tolist(),
        ONE_BODY: True,
        "frames": sum(record.frames for record in records),
        "clips": [
            {
                "name": unique,
                "labels": dict(record.clip.labels),
                "source": asdict(record.clip.source),
                "provenance": dict(record.provenance),
            }
            for unique, record in zip(names, records, strict=True)
        ],
    }


def _copy_modes(old: Path, new: Path) -> None:
    """Give the files and folders of a new store the permissions of an older one."""
    inner = old / STORE_JSON if old.is_dir() else old
    if not inner.exists():
        return
    of_folder, of_file = (stat.S_IMODE(path.stat().st_mode) for path in (old, inner))
    # Who reads the file of an earlier version may enter the folder.
    of_folder |= 0 if old.is_dir() else (of_file & 0o444) >> 2
    for path in (new, *new.rglob("*")):
        path.chmod(of_folder if path.is_dir() else of_file)


def _check_replaceable(path: Path, target: Path) -> None:
    if is_store_folder(target) or not target.exists() or is_array_file(target):
        return
    kind = "a folder" if target.is_dir() else "another file"
    if not target.is_dir() or any(target.iterdir()):
        other = path / "motions.store" if path.is_dir() else path.with_suffix(".store")
        raise CheckpointError(
            f"a store would be written over {kind}",
            hint=f"give a new name, such as {other}",
            path=path,
        )
