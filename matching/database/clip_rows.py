"""Rows of the successive frames of clips: clips, frames and labels of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError

# Clips, or values of a label, that an error lists.
_LISTED = 8


class ClipRows:
    """Rows of clips, one after the other: row range_starts[i] + f is frame f of clip i."""

    fps: float
    range_starts: Array
    range_stops: Array
    clip_names: tuple[str, ...]
    labels: tuple[Mapping[str, str], ...]

    def clip_of(self, rows: Array | int) -> Array:
        """Clip index of each row."""
        return np.searchsorted(self.range_stops, np.asarray(rows), side="right")

    def labels_of(self, rows: Array) -> list[Mapping[str, str]]:
        """Labels of the clip of each row."""
        return [self.labels[clip] for clip in self.clip_of(rows).tolist()]

    def ranges_of(self, rows: Array | int) -> tuple[Array, Array]:
        """First row and last row + 1 of the clip of each row."""
        clips = self.clip_of(rows)
        return self.range_starts[clips], self.range_stops[clips]

    def frame_of(self, rows: Array | int) -> Array:
        """Frame of each row in its clip, from 0."""
        return np.asarray(rows) - self.ranges_of(rows)[0]

    def frames_left(self, rows: Array | int) -> Array:
        """Frames of the clip after each row: 0 at its last frame."""
        return self.ranges_of(rows)[1] - 1 - np.asarray(rows)

    def neighbourhood(self, rows: Array | int, seconds: float) -> Array:
        """(rows, 2) first row and last row + 1 of the same clip within seconds of each row.

        Searches exclude these rows, so that a frame does not find itself.
        """
        rows, radius = np.asarray(rows), round(seconds * self.fps)
        first, stop = self.ranges_of(rows)
        near = np.maximum(rows - radius, first), np.minimum(rows + radius + 1, stop)
        return np.stack(near, -1)

    def row_of(self, clip: str, frame: int) -> int:
        """Row of a frame of a named clip; ParameterError where there is none."""
        if clip not in self.clip_names:
            raise ParameterError(
                f"there is no clip {clip!r} in this database",
                hint=f"clips: {', '.join(self.clip_names[:_LISTED])}"
                + (" ..." if len(self.clip_names) > _LISTED else ""),
            )
        index = self.clip_names.index(clip)
        frames = int(self.range_stops[index] - self.range_starts[index])
        if not 0 <= frame < frames:
            raise ParameterError(f"no frame {frame} in {clip!r}: it has {frames}, from 0")
        return int(self.range_starts[index]) + frame

    def rows_with(self, labels: Mapping[str, str | Sequence[str]]) -> Array:
        """(rows,) bool: rows of clips with these labels, all of which must hold.

        Raises ParameterError where a label is unknown, or no clip has all of them.
        """
        clips, listed = np.ones(len(self.labels), bool), []
        for name, values in labels.items():
            column = [own.get(name) for own in self.labels]
            known = sorted({value for value in column if value is not None})
            if not known:
                names = dict.fromkeys(key for own in self.labels for key in own)
                raise ParameterError(
                    f"there is no label {name!r} in this database",
                    hint=f"it has {', '.join(names) or 'none'}",
                )
            more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
            listed.append(f"{name} is {', '.join(known[:_LISTED])}{more}")
            allowed = {values} if isinstance(values, str) else set(values)
            clips &= np.array([value in allowed for value in column])
        if not clips.any():
            raise ParameterError(f"no clip has the labels {dict(labels)}", hint="; ".join(listed))
        return np.repeat(clips, self.range_stops - self.range_starts)
