"""Point tracks: joint positions without rotations, as from optical capture and video trackers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from deepphase.arrays import Array, counted, short_repr, timed
from deepphase.motion.clip import MotionBase, Source

# A prefix of the subject or the sport, as markers have it, and a number.
_BALL = re.compile(r"(?:.*[:/])?(?:foot|soccer|basket|hand|volley)?[ _-]?ball[ _-]?\d*")


@dataclass(frozen=True, eq=False)
class PointTrack(MotionBase):
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
        points, shape = len(self.names), self.positions.shape
        self._check(len(self.positions))
        if points == 0:
            self._refuse("the track has no points")
        if len(set(self.names)) != points:
            twice = sorted({name for name in self.names if self.names.count(name) > 1})
            self._refuse(f"point names that occur twice: {', '.join(twice)}")
        if shape != (len(self.positions), points, 3):
            self._refuse(f"positions have shape {shape}, expected (frames, {points}, 3)")
        if not np.isfinite(self.positions).all():
            frame, point = np.argwhere(~np.isfinite(self.positions))[0][:2]
            self._refuse(f"frame {frame}, point {self.names[point]!r}: it is not finite")
        if self.present is not None and self.present.shape != shape[:2]:
            self._refuse(f"present has shape {self.present.shape}, expected {shape[:2]}")
        edges = self.edges
        if ((edges < 0) | (edges >= points)).any() or (edges[:, 0] == edges[:, 1]).any():
            self._refuse(f"an edge does not join two of the {points} points")

    def __repr__(self) -> str:
        points = counted(len(self.names), "point")
        return short_repr(self, repr(self.name), timed(len(self), self.fps), points)

    def __len__(self) -> int:
        return len(self.positions)

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
    kept = np.setdiff1d(np.arange(len(track.names)), balls)
    if not balls or not len(kept):
        return track
    names = ", ".join(track.names[point] for point in balls)
    note = f"{names} is not a point of the body: `deepphase fit ball` reads it"
    if len(balls) > 1:
        note = f"{names} are {len(balls)} balls and no points of the body"
    edges = track.edges[np.isin(track.edges, kept).all(axis=1)]
    return replace(
        track,
        names=tuple(track.names[point] for point in kept),
        positions=track.positions[:, kept],
        edges=np.searchsorted(kept, edges),
        source=replace(track.source, notes=(*track.source.notes, note)),
        present=None if track.present is None else track.present[:, kept],
    )
