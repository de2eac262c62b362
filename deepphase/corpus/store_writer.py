"""Writer of stores, clip by clip, in constant memory; a store appears whole or not at all."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import writing
from deepphase.errors import CheckpointError, ParameterError
from deepphase.formats.array_file import is_array_file
from deepphase.formats.header_values import checked_rate
from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton
from deepphase.temporary_files import temporary_folder

STORE_FORMAT, STORE_VERSION = "deepphase.store", 2
STORE_JSON = "store.json"
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
_QUATERNION_BYTES = 16


def write_store(
    path: str | Path,
    clips: Iterable[Clip],
    *,
    options: Mapping[str, Any] | None = None,
    left_out: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Write clips of one rate as a store, with a group for every hierarchy.

    Parameters
    ----------
    options, left_out
        Options of the preparation, and the files that could not be used (file, reason, line).
    """
    provenance = iter(getattr(clips, "provenance", ()))
    with StoreWriter(path) as writer:
        for clip in clips:
            writer.add(clip, next(provenance, None))
        writer.finish(options, left_out)


def is_store_folder(path: Path) -> bool:
    """Whether a folder has the JSON of a store."""
    try:
        with (path / STORE_JSON).open("rb") as file:
            return STORE_FORMAT.encode() in file.read(100)
    except OSError:
        return False


def json_hash(header: Mapping[str, Any]) -> str:
    """Hash of the JSON of a store, its own hash left out."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Record:
    """A clip of a `StoreWriter` by its first frame, and where all frames are in the spool."""

    clip: Clip
    provenance: Mapping[str, Any]
    frames: int
    start: int


class StoreWriter:
    """Writer of clips, one after the other, as one store.

    A context manager. Frames are spooled in a hidden folder beside the store, which is removed
    when the block ends. :meth:`finish` writes the store.

    Parameters
    ----------
    path
        The store. A missing parent folder is created.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._groups: dict[frozenset, _Spool] = {}
        self._places: list[tuple[_Spool, int]] = []
        self._fps: float | None = None
        self._open = ExitStack()

    def __enter__(self) -> StoreWriter:
        # Checked now, not after an hour of reading files.
        with writing(self.path):
            target = Path(os.path.realpath(self.path))
            _check_replaceable(self.path, target)
            target.parent.mkdir(parents=True, exist_ok=True)
            self._folder = self._open.enter_context(temporary_folder(target.parent))
            self._target = target
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def __len__(self) -> int:
        return len(self._places)

    def add(self, clip: Clip, provenance: Mapping[str, Any] | None = None) -> int:
        """Spool a clip; returns its number, for :meth:`replace`.

        Raises
        ------
        ParameterError
            Where its rate differs from that of earlier clips, or is impossible.
        CheckpointError
            Where writing fails.
        """
        if self._fps is not None and float(clip.fps) != self._fps:
            raise ParameterError(
                f"{clip.name}: it has {clip.fps:g} frames a second in a store of {self._fps:g}",
                hint="resample them to one rate",
            )
        self._fps = checked_rate(float(clip.fps))
        key = clip.skeleton.hierarchy
        if key not in self._groups:
            self._groups[key] = _Spool(clip.skeleton, self._folder / f"{len(self._groups)}.frames")
        group = self._groups[key]
        with writing(self.path):
            group.records.append(group.spooled(clip, provenance or {}))
        self._places.append((group, len(group.records) - 1))
        return len(self._places) - 1

    def replace(self, number: int, clip: Clip, provenance: Mapping[str, Any]) -> None:
        """Replace an added clip by another one of the same hierarchy."""
        group, place = self._places[number]
        with writing(self.path):
            group.records[place] = group.spooled(clip, provenance)

    def record(self, number: int) -> Record:
        """An added clip without its frames."""
        group, place = self._places[number]
        return group.records[place]

    def clip(self, number: int) -> Clip:
        """An added clip as stored; its frames are memory-mapped."""
        group, place = self._places[number]
        record = group.records[place]
        rotations, translations = group.frames_of(record)
        return replace(record.clip, rotations=rotations, translations=translations)

    def groups(self) -> list[list[tuple[int, Record]]]:
        """Number and record of each clip, by group, in the order of addition."""
        by_group: dict[int, list[tuple[int, Record]]] = {}
        for number, (group, place) in enumerate(self._places):
            by_group.setdefault(id(group), []).append((number, group.records[place]))
        return list(by_group.values())

    def finish(
        self,
        options: Mapping[str, Any] | None = None,
        left_out: Iterable[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """Write the store, in the order of addition; returns its header.

        Raises
        ------
        ParameterError
            Where no clip was added.
        CheckpointError
            Where the store cannot be written.
        """
        if self._fps is None:
            raise ParameterError("a store must have at least one clip")
        names = self._group_names()
        header: dict[str, Any] = {
            "format": STORE_FORMAT,
            "version": STORE_VERSION,
            "made_with": {
                package: importlib.metadata.version(package)
                for package in ("deepphase", "numpy", "scipy")
            },
            "options": dict(options or {}),
            "fps": self._fps,
            "left_out": [dict(entry) for entry in left_out],
            "groups": [
                group.description(name)
                for name, group in zip(names, self._groups.values(), strict=True)
            ],
        }
        new = self._folder / "store"
        with writing(self.path):
            hashes: dict[str, str] = {}
            for name, group in zip(names, self._groups.values(), strict=True):
                (new / name).mkdir(parents=True)
                for key, digest in group.write(new / name):
                    hashes[f"{name}/{key}"] = digest
            header["sha256"] = hashes
            text = json.dumps(
                header | {"json_sha256": json_hash(header)}, ensure_ascii=False, indent=1
            )
            (new / STORE_JSON).write_text(text, encoding="utf-8")
            _check_replaceable(self.path, self._target)
            if self._target.exists():
                os.replace(self._target, self._folder / "older")
            os.replace(new, self._target)
        return header

    def _group_names(self) -> list[str]:
        plain = [group.skeleton.group_name for group in self._groups.values()]
        names = []
        for name, key in zip(plain, self._groups, strict=True):
            # A hash of the hierarchy makes the name independent of the order of groups.
            digest = hashlib.sha256(repr(sorted(key, key=str)).encode()).hexdigest()[:4]
            names.append(f"{name}-{digest}" if plain.count(name) > 1 else name)
        return list(unique_clip_names(names))


class _Spool:
    """Clips of one hierarchy, their frames in a file of raw float32 numbers."""

    def __init__(self, skeleton: Skeleton, path: Path) -> None:
        self.skeleton = skeleton
        self.records: list[Record] = []
        self._path = path

    def spooled(self, clip: Clip, provenance: Mapping[str, Any]) -> Record:
        clip = clip.in_order_of(self.skeleton)
        with self._path.open("ab") as file:
            start = file.tell()
            file.write(_float32_bytes(clip.rotations))
            file.write(_float32_bytes(clip.translations))
        # A copy, which does not keep the other frames in memory.
        first = replace(
            clip, rotations=clip.rotations[:1].copy(), translations=clip.translations[:1].copy()
        )
        return Record(first, provenance, len(clip), start)

    def frames_of(self, record: Record) -> tuple[Array, Array]:
        """Rotations and translations of a clip, memory-mapped."""
        shape = record.frames, len(self.skeleton), 4
        behind = record.start + record.frames * len(self.skeleton) * _QUATERNION_BYTES
        moving = record.frames, len(record.clip.translated_joints), 3
        return (
            np.memmap(self._path, "<f4", "r", record.start, shape),
            np.memmap(self._path, "<f4", "r", behind, moving),
        )

    def _translations(self, record: Record, moving: Array) -> Array:
        clip = record.clip
        own = self.frames_of(record)[1]
        return spread_translations(own, clip.translated_joints, moving, clip.skeleton)

    def description(self, name: str) -> dict[str, Any]:
        """Header entry of the group."""
        names = unique_clip_names(record.clip.name for record in self.records)
        return {
            "name": name,
            "joints": list(self.skeleton.names),
            "parents": self.skeleton.parents.tolist(),
            "frames": sum(record.frames for record in self.records),
            "clips": [
                {
                    "name": unique,
                    "labels": dict(record.clip.labels),
                    "source": asdict(record.clip.source),
                    "provenance": dict(record.provenance),
                }
                for unique, record in zip(names, self.records, strict=True)
            ],
        }

    def write(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Write the group's arrays; name and hash of each."""
        records, joints = self.records, len(self.skeleton)
        moving = translated_by_any(record.clip.translated_joints for record in records)
        lengths = np.array([record.frames for record in records])
        stops = np.cumsum(lengths)
        frames = int(stops[-1])
        skeletons = [record.clip.skeleton for record in records]
        rotations = (self.frames_of(record)[0] for record in records)
        translations = (self._translations(record, moving) for record in records)
        yield "rotations", _write_npy(folder, "rotations", (frames, joints, 4), rotations)
        shape = frames, len(moving), 3
        yield "translations", _write_npy(folder, "translations", shape, translations)
        for key, values in (
            ("translated_joints", moving),
            ("range_starts", stops - lengths),
            ("range_stops", stops),
            ("offsets", np.stack([skeleton.offsets for skeleton in skeletons])),
            ("end_starts", np.cumsum([0, *(len(skeleton.end_parents) for skeleton in skeletons)])),
            ("end_parents", np.concatenate([skeleton.end_parents for skeleton in skeletons])),
            ("end_offsets", np.concatenate([skeleton.end_offsets for skeleton in skeletons])),
        ):
            yield key, _write_npy(folder, key, values.shape, [values])


def unique_clip_names(names: Iterable[str]) -> tuple[str, ...]:
    """Unique names; repeated ones are numbered from the second on: walk, walk-2, walk-3."""
    given = list(names)
    plain = set(given)
    taken: set[str] = set()
    counts: dict[str, int] = {}
    result = []
    for name in given:
        unique = name
        while unique in taken or (unique != name and unique in plain):
            counts[name] = counts.get(name, 1) + 1
            unique = f"{name}-{counts[name]}"
        taken.add(unique)
        result.append(unique)
    return tuple(result)


def shared_skeletons(skeletons: Iterable[Skeleton]) -> tuple[Skeleton, ...]:
    """The skeletons, equal ones as one object. All have the same names in the same order."""
    known: dict[bytes, Skeleton] = {}
    return tuple(
        known.setdefault(
            b"|".join(
                array.tobytes()
                for array in (skeleton.offsets, skeleton.end_parents, skeleton.end_offsets)
            ),
            skeleton,
        )
        for skeleton in skeletons
    )


def translated_by_any(translated_joints: Iterable[Array]) -> Array:
    """(joints,) rising indices that occur in any of the arrays."""
    return np.unique(np.concatenate(list(translated_joints)))


def spread_translations(
    translations: Array, translated_joints: Array, wanted: Array, skeleton: Skeleton
) -> Array:
    """(frames, wanted, 3) translations; joints that the clip does not translate are at rest."""
    if len(wanted) == len(translated_joints):
        return translations
    spread = np.empty((len(translations), len(wanted), 3), translations.dtype)
    spread[:] = skeleton.offsets[wanted]
    spread[:, np.searchsorted(wanted, translated_joints)] = translations
    return spread


def _float32_bytes(array: Array) -> Any:
    return np.ascontiguousarray(array, "<f4").reshape(-1).view(np.uint8).data


def _write_npy(folder: Path, name: str, shape: tuple[int, ...], parts: Iterable[Array]) -> str:
    """Write an array, part after part along its first axis; returns the hash of the file."""
    dtype = np.dtype(ARRAY_TYPES[name]).newbyteorder("<")
    front = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        front, {"descr": dtype.str, "fortran_order": False, "shape": shape}
    )
    digest = hashlib.sha256(front.getvalue())
    with (folder / f"{name}.npy").open("wb") as file:
        file.write(front.getvalue())
        for part in parts:
            content = np.ascontiguousarray(part, dtype).reshape(-1).view(np.uint8).data
            digest.update(content)
            file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _check_replaceable(path: Path, target: Path) -> None:
    if target.is_dir():
        fact = "" if is_store_folder(target) or not any(target.iterdir()) else "a folder"
    else:
        fact = "another file" if target.exists() and not is_array_file(target) else ""
    if fact:
        raise CheckpointError(
            f"a store would be written over {fact}",
            hint=f"give a new name, such as {_other_name(path)}",
            path=path,
        )


def _other_name(path: Path) -> Path:
    return path / "motions.store" if path.is_dir() else path.with_suffix(".store")
