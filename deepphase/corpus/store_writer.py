"""Writer of store files, clip by clip, atomically and in constant memory."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from deepphase.arrays import Array
from deepphase.atomic_write import check_writable, writing
from deepphase.checkout import version
from deepphase.corpus.skeleton_group import default_group_name, hierarchy, unique_clip_names
from deepphase.corpus.spool import GroupSpool, Record
from deepphase.errors import ParameterError
from deepphase.formats.array_file import write_arrays
from deepphase.formats.header_values import checked_rate
from deepphase.motion.clip import Clip
from deepphase.short_repr import brief_repr
from deepphase.temporary_files import temporary_folder

STORE_FORMAT = "deepphase.store"
STORE_VERSION = 1


@brief_repr
@dataclass(frozen=True)
class StoreGroup:
    """Summary of a skeleton group of a store.

    Parameters
    ----------
    name
        Name, such as "Hips-22".
    joints
        Joint names.
    clips, minutes
        Number of clips, and their total duration.
    """

    name: str
    joints: tuple[str, ...] = field(repr=False)
    clips: int
    minutes: float


class StoreWriter:
    """Writer of clips, one after the other, as one store.

    A context manager. Frames are spooled in a hidden folder beside the store, which is removed
    when the block ends. :meth:`finish` writes the store.

    Parameters
    ----------
    path
        The store file. A missing folder is created.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._groups: dict[frozenset, GroupSpool] = {}
        self._places: list[tuple[GroupSpool, int]] = []
        self._fps: float | None = None
        self._open = ExitStack()

    def __enter__(self) -> StoreWriter:
        # Checked now, not after an hour of reading files.
        check_writable(self.path, example="motions.store")
        with writing(self.path):
            self._spool = self._open.enter_context(temporary_folder(self.path.parent))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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
        key = hierarchy(clip.skeleton)
        with writing(self.path):
            group = self._groups.get(key)
            if group is None:
                group = GroupSpool(clip.skeleton, self._spool / str(len(self._groups)))
                self._groups[key] = group
            self._places.append((group, group.append(clip, provenance or {})))
        return len(self._places) - 1

    def replace(self, number: int, clip: Clip, provenance: Mapping[str, Any]) -> None:
        """Replace an added clip by another one of the same hierarchy."""
        group, place = self._places[number]
        with writing(self.path):
            group.replace(place, clip, provenance)

    def record(self, number: int) -> Record:
        """An added clip without its frames."""
        group, place = self._places[number]
        return group.records[place]

    def clip(self, number: int) -> Clip:
        """An added clip as stored; its frames are memory-mapped."""
        if self._fps is None:
            raise IndexError(number)
        group, place = self._places[number]
        return group.clip(place, self._fps)

    def groups(self) -> list[list[tuple[int, Record]]]:
        """Number and record of each clip, by group, in the order of addition."""
        by_group: dict[int, list[tuple[int, Record]]] = {}
        for number, (group, place) in enumerate(self._places):
            by_group.setdefault(id(group), []).append((number, group.records[place]))
        return list(by_group.values())

    def summary(self) -> list[StoreGroup]:
        """The skeleton groups of the clips added so far."""
        fps = self._fps or 1.0
        return [
            StoreGroup(
                name=name,
                joints=tuple(group.skeleton.names),
                clips=len(group.records),
                minutes=group.frames / fps / 60.0,
            )
            for name, group in zip(self._group_names(), self._groups.values(), strict=True)
        ]

    def finish(
        self,
        options: Mapping[str, Any] | None = None,
        left_out: Iterable[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """Write the store, in the order of addition; returns its header.

        Raises
        ------
        ParameterError
            Where no clip was added to a store.
        CheckpointError
            Where the file cannot be written.
        """
        if self._fps is None:
            raise ParameterError("a store must have at least one clip")
        arrays: dict[str, Array] = {}
        described = []
        for name, group in zip(self._group_names(), self._groups.values(), strict=True):
            with writing(self.path):
                own = group.arrays()
            arrays.update({f"{name}/{key}": array for key, array in own.items()})
            described.append(group.description(name))
        header = {
            "made_with": {
                "deepphase": version(),
                "numpy": importlib.metadata.version("numpy"),
                "scipy": importlib.metadata.version("scipy"),
            },
            "options": dict(options or {}),
            "fps": self._fps,
            "groups": described,
            "left_out": [dict(each) for each in left_out],
        }
        return write_arrays(self.path, arrays, header, format=STORE_FORMAT, version=STORE_VERSION)

    def _group_names(self) -> list[str]:
        plain = [default_group_name(group.skeleton) for group in self._groups.values()]
        names = []
        for name, key in zip(plain, self._groups, strict=True):
            # A hash of the hierarchy makes the name independent of the order of groups.
            digest = hashlib.sha256(repr(sorted(key, key=str)).encode()).hexdigest()[:4]
            names.append(f"{name}-{digest}" if plain.count(name) > 1 else name)
        return list(unique_clip_names(names))


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
    path
        The file; an existing one is replaced at the end.
    clips
        A list, a generator, or a `ClipStore`, whose provenance is kept. One clip at a time is
        in memory.
    options, left_out
        Options of the preparation, and the files that could not be used (file, reason, line).

    Raises
    ------
    ParameterError
        Where there is no clip or the rates differ.
    CheckpointError
        Where the file cannot be written.
    """
    provenance = iter(getattr(clips, "provenance", ()))
    with StoreWriter(path) as writer:
        for clip in clips:
            writer.add(clip, next(provenance, None))
        writer.finish(options, left_out)
