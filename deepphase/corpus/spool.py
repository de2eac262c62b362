"""Spool of a skeleton group while a store is written: frames on disk, the rest in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.skeleton_group import (
    spread_translations,
    translated_by_any,
    unique_clip_names,
)
from deepphase.motion.clip import Clip, Source
from deepphase.motion.skeleton import Skeleton
from deepphase.temporary_files import mapped_array

_QUATERNION_BYTES = 16


@dataclass(frozen=True)
class Record:
    """A clip without its frames, and the offsets in bytes of these in the spool files."""

    name: str
    labels: Mapping[str, str]
    source: Source
    provenance: Mapping[str, Any]
    skeleton: Skeleton
    translated_joints: Array
    frames: int
    rotations_at: int
    translations_at: int


class GroupSpool:
    """Clips of one hierarchy, appended to two files of raw float32 numbers.

    Parameters
    ----------
    skeleton
        The first clip's skeleton; joints of all clips are put in its order.
    stem
        Path of the spool files without their suffix.
    """

    def __init__(self, skeleton: Skeleton, stem: Path) -> None:
        self.skeleton = skeleton
        self.records: list[Record] = []
        self._rotations = stem.with_suffix(".rotations")
        self._translations = stem.with_suffix(".translations")

    @property
    def frames(self) -> int:
        """Frames of all clips together."""
        return sum(record.frames for record in self.records)

    def append(self, clip: Clip, provenance: Mapping[str, Any]) -> int:
        """Append a clip; returns its index. Raises OSError where writing fails."""
        self.records.append(self._spooled(clip, provenance))
        return len(self.records) - 1

    def replace(self, place: int, clip: Clip, provenance: Mapping[str, Any]) -> None:
        """Replace an earlier clip. Raises OSError where writing fails."""
        self.records[place] = self._spooled(clip, provenance)

    def clip(self, place: int, fps: float) -> Clip:
        """A clip as it is stored."""
        record = self.records[place]
        rotations, translations = self._frames_of(record)
        return Clip(
            skeleton=record.skeleton,
            rotations=rotations,
            translations=translations,
            fps=fps,
            translated_joints=record.translated_joints,
            labels=record.labels,
            source=record.source,
            name=record.name,
        )

    def description(self, name: str) -> dict[str, Any]:
        """Header entry of the group."""
        names = unique_clip_names(record.name for record in self.records)
        return {
            "name": name,
            "joints": list(self.skeleton.names),
            "parents": self.skeleton.parents.tolist(),
            "frames": self.frames,
            "clips": [
                {
                    "name": unique,
                    "labels": dict(record.labels),
                    "source": asdict(record.source),
                    "provenance": dict(record.provenance),
                }
                for unique, record in zip(names, self.records, strict=True)
            ],
        }

    def arrays(self) -> dict[str, Array]:
        """The store's arrays of this group; the long ones are maps of spool files."""
        records = self.records
        moving = translated_by_any(record.translated_joints for record in records)
        lengths = np.array([record.frames for record in records])
        stops = np.cumsum(lengths)
        skeletons = [record.skeleton for record in records]
        rotations, translations = self._long_arrays(stops - lengths, moving)
        return {
            "rotations": rotations,
            "translations": translations,
            "translated_joints": moving,
            "range_starts": stops - lengths,
            "range_stops": stops,
            "offsets": np.stack([skeleton.offsets for skeleton in skeletons]),
            "end_starts": np.cumsum([0, *(len(skeleton.end_parents) for skeleton in skeletons)]),
            "end_parents": np.concatenate([skeleton.end_parents for skeleton in skeletons]),
            "end_offsets": np.concatenate([skeleton.end_offsets for skeleton in skeletons]),
        }

    def _spooled(self, clip: Clip, provenance: Mapping[str, Any]) -> Record:
        clip = clip.in_order_of(self.skeleton)
        return Record(
            name=clip.name,
            labels=clip.labels,
            source=clip.source,
            provenance=provenance,
            skeleton=clip.skeleton,
            translated_joints=clip.translated_joints,
            frames=len(clip),
            rotations_at=_append(self._rotations, clip.rotations),
            translations_at=_append(self._translations, clip.translations),
        )

    def _long_arrays(self, starts: Array, moving: Array) -> tuple[Array, Array]:
        joints, frames = len(self.skeleton), self.frames
        rotations_shape, translations_shape = (frames, joints, 4), (frames, len(moving), 3)
        as_spooled = all(
            record.rotations_at == start * joints * _QUATERNION_BYTES
            and len(record.translated_joints) == len(moving)
            for record, start in zip(self.records, starts, strict=True)
        )
        if as_spooled:
            return (
                _mapped(self._rotations, rotations_shape),
                _mapped(self._translations, translations_shape),
            )
        # A clip was replaced, or translates fewer joints than another: written again, also on disk.
        rotations = mapped_array(rotations_shape, "<f4", self._rotations.parent)
        translations = mapped_array(translations_shape, "<f4", self._rotations.parent)
        for record, start in zip(self.records, starts, strict=True):
            stop = start + record.frames
            rotations[start:stop], own = self._frames_of(record)
            translations[start:stop] = spread_translations(
                own, record.translated_joints, moving, record.skeleton
            )
        return rotations, translations

    def _frames_of(self, record: Record) -> tuple[Array, Array]:
        joints, moving = len(self.skeleton), len(record.translated_joints)
        return (
            _mapped(self._rotations, (record.frames, joints, 4), at=record.rotations_at),
            _mapped(self._translations, (record.frames, moving, 3), at=record.translations_at),
        )


def _append(path: Path, array: Array) -> int:
    """Append as float32; returns the offset in bytes of the first value."""
    with path.open("ab") as file:
        start = file.tell()
        file.write(np.ascontiguousarray(array, "<f4").reshape(-1).view(np.uint8).data)
    return start


def _mapped(path: Path, shape: tuple[int, ...], at: int = 0) -> np.memmap:
    return np.memmap(path, "<f4", "r", at, shape)
