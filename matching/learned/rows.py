"""Rows of a matcher: moments of rest, and the frames that characters have decompressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.features.layout import FeatureLayout, checked_block
from deepphase.features.normalisation import Normalisation
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.learned.pose_values import RootPoses
from deepphase.matching.player.facing import FacingCoverage
from deepphase.matching.player.playback import Playback

# Rows of a character are numbered from its number times this on; of its last frames, so many are
# kept: the one that plays, the next one, and the first two after a jump.
_SPAN, _KEPT = 1 << 40, 4


class DecompressedFrames:
    """Last frames of characters, which are decompressed as they are asked for.

    They are `PlayedRows`. Rows below the number of rows of rest are those. Each character has rows
    of its own: a jump begins a stretch of them, and each row is stepped from the one before.

    Parameters
    ----------
    matcher
        The networks.
    characters
        Their number.
    """

    def __init__(self, matcher: Matcher, characters: int) -> None:
        self.matcher, self.rest = matcher, matcher.rest
        shape = (characters, _KEPT)
        dtypes = {"contacts": bool, "idle": bool}
        one = matcher.decompressed(matcher.starts.states[:1])
        self._poses = RootPoses(
            *(
                np.zeros((*shape, *each.shape[1:]), dtypes.get(name, np.float32))
                for name, each in zip(RootPoses._fields, one, strict=True)
            )
        )
        self._states = np.zeros((*shape, matcher.limits.shape[1]), np.float32)
        self._last = np.zeros(characters, np.int64)
        self._first = np.zeros(characters, np.int64)
        self.styles = np.zeros(characters, np.int64)

    def __len__(self) -> int:
        return len(self.rest) + len(self.styles) * _SPAN

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.matcher.fps

    @property
    def layout(self) -> FeatureLayout:
        """The layout of features."""
        return self.matcher.layout

    @property
    def normalisation(self) -> Normalisation:
        """The normalisation of features."""
        return self.matcher.normalisation

    @property
    def body(self) -> Mapping[str, str]:
        """Role -> joint name."""
        return self.matcher.body.description

    def characters(self, rows: Array) -> Array:
        """(...) character of each row; 0 for rows of rest."""
        return np.maximum(rows - len(self.rest), 0) // _SPAN

    def begin(self, which: Array, states: Array, styles: Array) -> Array:
        """(n,) first rows of new stretches of characters, with these states and label values."""
        numbers = self._last[which] + 2
        self._first[which], self.styles[which] = numbers, styles
        self._write(which, numbers, states)
        return len(self.rest) + which * _SPAN + numbers

    def _write(self, which: Array, numbers: Array, states: Array) -> None:
        slots = numbers % _KEPT
        self._states[which, slots] = states
        decompressed = self.matcher.decompressed(states)
        for kept, each in zip(self._poses, decompressed, strict=True):
            kept[which, slots] = each
        self._last[which] = numbers

    def _places(self, rows: Array) -> tuple[Array, Array]:
        """Character and slot of rows that are not of rest; missing ones are stepped to."""
        which, numbers = np.divmod(rows - len(self.rest), _SPAN)
        late = numbers > self._last[which]
        if late.any():
            some = np.unique(which[late])
            before = self._last[some]
            states = self.matcher.stepped(self._states[some, before % _KEPT])
            self._write(some, before + 1, states)
        return which, numbers % _KEPT

    def read(self, name: str, rows: Array) -> Array:
        """(..., ...) values of rows (...): a field of `RootPoses`, or "states"."""
        kept = self._states if name == "states" else getattr(self._poses, name)
        live = rows >= len(self.rest)
        if live.all():
            return kept[self._places(rows)]
        stored = self.rest.states if name == "states" else getattr(self.rest.poses, name)
        values = stored[np.where(live, 0, rows)]
        if live.any():
            values[live] = kept[self._places(rows[live])]
        return values

    def ranges_of(self, rows: Array) -> tuple[Array, Array]:
        """As of a database: a stretch of decompressed rows has no end."""
        rest = self.rest
        which = self.characters(rows)
        origins = len(rest) + which * _SPAN
        starts, stops = origins + self._first[which], origins + _SPAN
        if not len(rest):
            return starts, stops
        live = rows >= len(rest)
        stretch = np.searchsorted(rest.stops, np.where(live, 0, rows), side="right")
        return np.where(live, starts, rest.starts[stretch]), np.where(
            live, stops, rest.stops[stretch]
        )

    def idle(self, rows: Array) -> Array:
        """(...) bool: rows at which the body stands at rest."""
        return self.read("idle", rows)

    def labels_of(self, rows: Array) -> list[Mapping[str, str]]:
        """The value of the matcher's label of each row."""
        label, names, rest = self.matcher.label, self.matcher.styles, self.rest
        if not label:
            return [{}] * len(rows)
        stretch = np.searchsorted(rest.stops, rows, side="right")
        return [
            {label: rest.styles[at]} if row < len(rest) else {label: names[self.styles[which]]}
            for row, at, which in zip(
                rows.tolist(), stretch.tolist(), self.characters(rows).tolist(), strict=True
            )
        ]

    def query(self, rows: Array, replace: Mapping[str, Array] | None = None) -> Array:
        """As `MotionDatabase.query`."""
        query = self.read("states", rows)[:, : self.layout.dims].copy()
        for name, values in (replace or {}).items():
            raw, block = checked_block(self.layout[name], values), self.layout.slices[name]
            query[:, block] = self.normalisation.of_block(raw, block)
        return query


class _Values:
    """Values of rows, to be indexed like an array."""

    def __init__(self, frames: DecompressedFrames, name: str) -> None:
        self._frames, self._name = frames, name

    def __getitem__(self, rows: Any) -> Array:
        return self._frames.read(self._name, np.asarray(rows))


@dataclass(frozen=True, eq=False)
class DecompressedMotion(Playback):
    """Motion of the rows of a matcher.

    Parameters
    ----------
    frames
        The decompressed frames, and the matcher.
    """

    frames: DecompressedFrames = None  # type: ignore[assignment]  # fields before have defaults

    @classmethod
    def of_frames(cls, frames: DecompressedFrames) -> DecompressedMotion:
        """The motion of the rows of characters."""
        body = frames.matcher.body
        return cls(
            skeleton=body.skeleton,
            roles=body.roles,
            fps=frames.fps,
            rotations=_Values(frames, "rotations"),
            translations=_Values(frames, "translations"),
            translated_joints=body.translated_joints,
            carrier=body.roles.hips,
            steps=_Values(frames, "steps"),
            contacts=_Values(frames, "contacts"),
            limbs=body.limbs,
            usual_acceleration=body.usual_acceleration,
            source=body.source,
            frames=frames,
        )

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def travelling_speed(self) -> float:
        """Median speed of the database's rows in locomotion, m/s."""
        return self.frames.matcher.body.travelling_speed

    @property
    def top_speed(self) -> float:
        """As of the database's motion."""
        return self.frames.matcher.body.top_speed

    @cached_property
    def soles(self) -> Array:
        """As of the database's motion."""
        return self.frames.matcher.body.soles

    @cached_property
    def lowest_tips(self) -> None:
        """Not known: feet may be at any height."""

    def facing_coverage(self, rows: Array | None = None) -> FacingCoverage:
        """Directions of travel of the database's rows."""
        return FacingCoverage(np.array(self.frames.matcher.body.covered), self.standing_speed)
