"""Point tracks: joint positions without rotations, as from optical capture and video trackers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.clip import Source
from deepphase.short_repr import counted, short_repr, timed

# A prefix of the subject or the sport, as markers have it, and a number.
_BALL = re.compile(r"(?:.*[:/])?(?:foot|soccer|basket|hand|volley)?[ _-]?ball[ _-]?\d*")


@dataclass(frozen=True, eq=False)
class PointTrack:
    """Named points of one body over time: metres, right-handed, Y up.

    Parameters
    ----------
    names
        (points,) unique names.
    positions
        (frames, points, 3) metres, in the world.
    fps
        Frames a second.
    edges
        (edges, 2) pairs of points that one rigid part of the body joins; empty if the file
        states none.
    labels, source, name
        See `Clip`.
    present
        (frames, points) bool: whether each point was seen; positions in gaps are bridged. None if
        there are no gaps.

    Raises
    ------
    ParameterError
        If shapes do not match or a position is not finite.
    """

    names: tuple[str, ...]
    positions: Array
    fps: float
    edges: Array = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    labels: Mapping[str, str] = field(default_factory=dict)
    source: Source = Source()  # noqa: RUF009 (frozen)
    name: str = "points"
    present: Array | None = None

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "names", tuple(str(name) for name in self.names))
        set_field(self, "edges", np.asarray(self.edges, np.int64).reshape(-1, 2))
        set_field(self, "labels", MappingProxyType(dict(self.labels)))
        points = len(self.names)
        if points == 0:
            raise ParameterError(f"{self.name}: the track has no points")
        if len(set(self.names)) != points:
            twice = sorted({name for name in self.names if self.names.count(name) > 1})
            raise ParameterError(f"{self.name}: point names that occur twice: {', '.join(twice)}")
        if self.positions.ndim != 3 or self.positions.shape[1:] != (points, 3):
            raise ParameterError(
                f"{self.name}: positions have shape {self.positions.shape}, expected "
                f"(frames, {points}, 3)"
            )
        if len(self.positions) == 0:
            raise ParameterError(f"{self.name}: this is a track without frames")
        if not np.isfinite(self.positions).all():
            frame, point = np.argwhere(~np.isfinite(self.positions))[0][:2]
            raise ParameterError(
                f"{self.name}: frame {frame}, point {self.names[point]!r}: it is not finite"
            )
        if self.present is not None and self.present.shape != self.positions.shape[:2]:
            raise ParameterError(
                f"{self.name}: present has shape {self.present.shape}, expected "
                f"{self.positions.shape[:2]}"
            )
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise ParameterError(
                f"{self.name}: a rate of {self.fps} frames a second is not possible"
            )
        edges = self.edges
        if ((edges < 0) | (edges >= points)).any() or (edges[:, 0] == edges[:, 1]).any():
            raise ParameterError(f"{self.name}: an edge does not join two of the {points} points")

    def __repr__(self) -> str:
        points = counted(len(self.names), "point")
        return short_repr(self, repr(self.name), timed(len(self), self.fps), points)

    def __len__(self) -> int:
        return len(self.positions)

    def __reduce__(self) -> tuple[Any, ...]:
        # The read-only view of the labels cannot be pickled.
        values = (getattr(self, item.name) for item in fields(self))
        return PointTrack, tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (len(self) - 1) / self.fps

    def sliced(self, start: int, stop: int) -> PointTrack:
        """Frames start to stop - 1 as a track."""
        present = None if self.present is None else self.present[start:stop]
        return replace(self, positions=self.positions[start:stop], present=present)


def ball_points(names: Sequence[str]) -> tuple[int, ...]:
    """Indices of the points that are balls by their names, such as ball, Ball_1 or football."""
    return tuple(index for index, name in enumerate(names) if _BALL.fullmatch(name.lower()))


def without_balls(track: PointTrack) -> PointTrack:
    """The track without points that are balls, which belong to no body; a note says so."""
    balls = ball_points(track.names)
    kept = [point for point in range(len(track.names)) if point not in balls]
    if not balls or not kept:
        return track
    place = {old: new for new, old in enumerate(kept)}
    edges = [[place[a], place[b]] for a, b in track.edges.tolist() if a in place and b in place]
    names = ", ".join(track.names[point] for point in balls)
    note = f"{names} is not a point of the body: `deepphase fit ball` reads it"
    if len(balls) > 1:
        note = f"{names} are {len(balls)} balls and no points of the body"
    return replace(
        track,
        names=tuple(track.names[point] for point in kept),
        positions=track.positions[:, kept],
        edges=np.array(edges, np.int64).reshape(-1, 2),
        source=replace(track.source, notes=(*track.source.notes, note)),
        present=None if track.present is None else track.present[:, kept],
    )
