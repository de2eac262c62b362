"""Clip stores: many clips of one skeleton group in a few long arrays, in memory or mapped."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from deepphase.arrays import Array, counted, short_repr, timed
from deepphase.config import require
from deepphase.corpus.groups import check_one_body, group_arrays, spread_translations
from deepphase.corpus.store_writer import write_store
from deepphase.errors import ParameterError, SkeletonError
from deepphase.formats.reading import unique_names
from deepphase.motion.clip import Clip, Source
from deepphase.motion.roles import checked_description
from deepphase.motion.skeleton import Skeleton

# Fields with an entry for each clip.
_PER_CLIP = ("skeletons", "labels", "sources", "provenance", "range_starts", "range_stops")


@dataclass(frozen=True, eq=False)
class ClipStore:
    """Clips of one skeleton group: the same joints under the same parents, at one rate.

    Lengths may differ between clips, for several people; their rest frames are alike, so that the
    rotations of one fit the other. Index frames only by `range_starts` and `range_stops`: a
    selection shares the long arrays.

    Parameters
    ----------
    group
        Name of the group, such as "Hips-22": root and number of joints.
    fps
        Frames per second of every clip.
    skeletons
        Skeleton of each clip, joints in the order of the first; equal ones are one object.
    rotations
        (frames, joints, 4) float32 local rotations (x, y, z, w), clip after clip.
    translations
        (frames, translated joints, 3) float32, metres: local positions.
    translated_joints
        (translated joints,) indices, rising: those that any clip of the group translates.
    range_starts, range_stops
        (clips,) clip i is frames range_starts[i] to range_stops[i] - 1.
    names
        (clips,) unique names.
    labels
        Label -> value, for each clip.
    sources
        Source of each clip; paths are relative to the folder that was prepared.
    provenance
        Mapping for each clip: sha256 of the captured file, glitches and steps of preparation.
    header
        JSON of the store: options, left_out, made_with. Empty in memory.
    path
        The store; None in memory.
    other_bodies
        Names of groups of the store with the same joints and other rest frames, of which this one,
        the largest, was opened because none was named.

    Raises
    ------
    ParameterError
        Where the arrays do not fit together.
    """

    group: str
    fps: float
    skeletons: tuple[Skeleton, ...]
    rotations: Array
    translations: Array
    translated_joints: Array
    range_starts: Array
    range_stops: Array
    names: tuple[str, ...]
    labels: tuple[Mapping[str, str], ...]
    sources: tuple[Source, ...]
    provenance: tuple[Mapping[str, Any], ...]
    header: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None
    other_bodies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        labels = tuple(MappingProxyType(dict(label)) for label in self.labels)
        object.__setattr__(self, "labels", labels)
        clips, frames, joints = len(self.names), len(self.rotations), len(self.skeleton)
        moving, starts, stops = self.translated_joints, self.range_starts, self.range_stops
        for name in _PER_CLIP:
            entries = len(getattr(self, name))
            require(entries == clips, f"there are {clips} clips, but {entries} {name}")
        require(len(set(self.names)) == clips, "two clips of a store must not have the same name")
        rises = len(moving) > 0 and moving[0] == 0 and (np.diff(moving) > 0).all()
        require(
            bool(rises and moving[-1] < joints),
            f"translated_joints must rise from the root, 0, and be below {joints}, the number of "
            "joints",
        )
        shapes = {"rotations": (frames, joints, 4), "translations": (frames, len(moving), 3)}
        for name, shape in shapes.items():
            found = getattr(self, name).shape
            require(found == shape, f"{name} must have shape {shape}, not {found}")
        require(
            bool(((starts >= 0) & (starts < stops) & (stops <= frames)).all()),
            f"clip ranges must have at least one frame and lie within the {frames} frames",
        )

    @classmethod
    def from_clips(
        cls, clips: Iterable[Clip], *, provenance: Iterable[Mapping[str, Any]] | None = None
    ) -> ClipStore:
        """A store of clips in memory, with a mapping of `provenance` for each.

        Joints are put in the order of the first clip; equal names are numbered from the second on.
        Raises ParameterError where there is no clip or the rates differ, and SkeletonError where
        the hierarchies or rest frames differ.
        """
        clips = list(clips)
        if not clips:
            raise ParameterError("a store must have at least one clip")
        first, fps = clips[0].skeleton, float(clips[0].fps)
        for clip in clips:
            both = f"{clips[0].name!r} and {clip.name!r} have"
            if float(clip.fps) != fps:
                raise ParameterError(
                    f"{both} {fps:g} and {clip.fps:g} frames a second, but the clips of a store "
                    "must have one rate",
                    hint="resample them to one rate",
                )
            if not first.same_hierarchy(clip.skeleton):
                other = clip.skeleton.group_name
                raise SkeletonError(
                    f"{both} different skeletons: {first.group_name} and {other}",
                    hint="make one store for each skeleton",
                )
        clips = [clip.in_order_of(first) for clip in clips]
        check_one_body(clips)
        arrays = group_arrays(clips, [len(clip) for clip in clips])
        moving = arrays["translated_joints"]
        translations = [spread_translations(clip, clip.translations, moving) for clip in clips]
        return cls(
            group=first.group_name,
            fps=fps,
            skeletons=shared_skeletons(clip.skeleton for clip in clips),
            rotations=np.concatenate([clip.rotations for clip in clips], dtype=np.float32),
            translations=np.concatenate(translations, dtype=np.float32),
            translated_joints=moving,
            range_starts=arrays["range_starts"],
            range_stops=arrays["range_stops"],
            names=unique_names([clip.name for clip in clips], "-")[0],
            labels=tuple(clip.labels for clip in clips),
            sources=tuple(clip.source for clip in clips),
            provenance=tuple({} for _ in clips) if provenance is None else tuple(provenance),
        )

    def __repr__(self) -> str:
        return short_repr(
            self,
            repr(self.group),
            counted(len(self), "clip"),
            timed(self.frames, self.fps),
            counted(len(self.skeleton), "joint"),
        )

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Clip]:
        return (self.clip(index) for index in range(len(self)))

    @property
    def skeleton(self) -> Skeleton:
        """Skeleton of the first clip; names, parents and order are those of all clips."""
        return self.skeletons[0]

    @property
    def offsets(self) -> Array:
        """Rest offsets of every clip, (clips, joints, 3), metres."""
        return np.stack([skeleton.offsets for skeleton in self.skeletons])

    @property
    def lengths(self) -> Array:
        """(clips,) frames of every clip."""
        return self.range_stops - self.range_starts

    @property
    def frames(self) -> int:
        """Frames of all clips together."""
        return int(self.lengths.sum())

    @property
    def minutes(self) -> float:
        """Duration of all clips together."""
        return self.frames / self.fps / 60.0

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """Files that preparation could not use: file, reason, line (None if unknown), hint."""
        return list(self.header.get("left_out", []))

    @property
    def description(self) -> dict[str, Any] | None:
        """The skeleton description that the clips were prepared with; None without one."""
        content = (self.header.get("options") or {}).get("description")
        return None if content is None else checked_description(content)

    @property
    def origin(self) -> dict[str, Any]:
        """Names of store, group and files, for the provenance of what is made of the clips."""
        files = sorted({source.path for source in self.sources})
        name = None if self.path is None else self.path.name
        return {"store": name, "skeleton": self.group, "files": files}

    @property
    def label_names(self) -> tuple[str, ...]:
        """Labels that any clip has, in the order in which they first occur."""
        return tuple(dict.fromkeys(name for labels in self.labels for name in labels))

    def clip(self, index: int) -> Clip:
        """A clip by index; its arrays are views of the store's."""
        start, stop = self.range_starts[index], self.range_stops[index]
        return Clip(
            skeleton=self.skeletons[index],
            rotations=self.rotations[start:stop],
            translations=self.translations[start:stop],
            fps=self.fps,
            translated_joints=self.translated_joints,
            labels=self.labels[index],
            source=self.sources[index],
            name=self.names[index],
        )

    def save(self, path: str | Path) -> None:
        """Write the clips as a store, for `open_store`; CheckpointError where it cannot be."""
        write_store(path, self)

    def label_column(self, name: str) -> Array:
        """(clips,) str: every clip's value of a label, or ""; ParameterError where none has it."""
        if name not in self.label_names:
            raise ParameterError(
                f"there is no label {name!r} in this store",
                hint=f"choose one of its labels: {', '.join(self.label_names) or 'none'}",
            )
        return np.array([labels.get(name, "") for labels in self.labels])

    def selected(
        self,
        which: str | Iterable[str] | Mapping[str, str | Iterable[str]] | Callable[[Clip], bool],
    ) -> ClipStore:
        """A selection of clips, as a store over the same arrays.

        `which` has clip names, in the desired order; or label -> value or alternative values, for
        all labels; or it is a predicate of a clip. Raises ParameterError where a name or label is
        unknown, or no clip is left.
        """
        if callable(which):
            indices = [index for index, clip in enumerate(self) if which(clip)]
        elif isinstance(which, Mapping):
            chosen = np.ones(len(self), bool)
            for name, values in which.items():
                allowed = [values] if isinstance(values, str) else [str(value) for value in values]
                chosen &= np.isin(self.label_column(name), allowed)
            indices = np.flatnonzero(chosen).tolist()
        else:
            wanted = [which] if isinstance(which, str) else list(which)
            indices = [self._index(name) for name in dict.fromkeys(wanted)]
        if not indices:
            raise ParameterError(
                "no clip of the store is selected",
                hint=f"it has the labels {', '.join(self.label_names) or 'none'}",
            )
        chosen_clips: dict[str, Any] = {
            name: tuple(getattr(self, name)[index] for index in indices)
            for name in ("names", "skeletons", "labels", "sources", "provenance")
        }
        starts, stops = self.range_starts[indices], self.range_stops[indices]
        return replace(self, range_starts=starts, range_stops=stops, **chosen_clips)

    def _index(self, name: str) -> int:
        if name in self.names:
            return self.names.index(name)
        near = ", ".join(difflib.get_close_matches(name, self.names, n=3, cutoff=0.0))
        fact = f"there is no clip {name!r} in this store"
        raise ParameterError(fact, hint=f"similar names: {near}")


def shared_skeletons(skeletons: Iterable[Skeleton]) -> tuple[Skeleton, ...]:
    """The skeletons, equal ones as one object. All have the same names in the same order."""
    known: dict[tuple[bytes, ...], Skeleton] = {}
    parts = ("offsets", "end_parents", "end_offsets")
    return tuple(
        known.setdefault(tuple(getattr(skeleton, part).tobytes() for part in parts), skeleton)
        for skeleton in skeletons
    )
