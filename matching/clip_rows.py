"""Which row of a database is which frame of which clip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from deepphase.errors import ParameterError

Array = np.ndarray
# So many values of a label are named to a user.
_NAMED = 8


class ClipRows:
    """Rows of clips behind each other: row range_starts[i] + f is frame f of clip i."""

    fps: float
    range_starts: Array
    range_stops: Array
    clip_names: tuple[str, ...]
    labels: tuple[Mapping[str, str], ...]

    def clip_of(self, rows: Array | int) -> Array:
        """Clip index of each row."""
        return np.searchsorted(self.range_stops, np.asarray(rows), side="right")

    def frame_of(self, rows: Array | int) -> Array:
        """Frame of each row in its clip, from 0."""
        return np.asarray(rows) - self.range_starts[self.clip_of(rows)]

    def frames_left(self, rows: Array | int) -> Array:
        """Frames of the clip behind each row: 0 at its last frame."""
        return self.range_stops[self.clip_of(rows)] - 1 - np.asarray(rows)

    def ranges_of(self, rows: Array | int) -> tuple[Array, Array]:
        """First row, and last row + 1, of the clip that each row is in."""
        clips = self.clip_of(rows)
        return self.range_starts[clips], self.range_stops[clips]

    def row_of(self, clip: str, frame: int) -> int:
        """The row of a frame of a named clip; ParameterError where there is none."""
        if clip not in self.clip_names:
            raise ParameterError(
                f"no clip {clip!r} in this database", hint=f"it has {len(self.clip_names)} clips"
            )
        index = self.clip_names.index(clip)
        frames = int(self.range_stops[index] - self.range_starts[index])
        if not 0 <= frame < frames:
            raise ParameterError(f"no frame {frame} in {clip!r}: it has {frames}, from 0")
        return int(self.range_starts[index]) + frame

    def rows_with(self, labels: Mapping[str, str | Sequence[str]]) -> Array:
        """(rows,) bool: rows of clips with these labels, all of which must hold.

        Parameters
        ----------
        labels
            Label -> value, or values any of which will do.

        Raises
        ------
        ParameterError
            Where no clip has a label, or none all of them.
        """
        clips = np.ones(len(self.clip_names), bool)
        for name, values in labels.items():
            allowed = {values} if isinstance(values, str) else set(values)
            column = [each.get(name) for each in self.labels]
            if all(value is None for value in column):
                known = dict.fromkeys(key for each in self.labels for key in each)
                raise ParameterError(
                    f"no label {name!r} in this database",
                    hint=f"it has {', '.join(known) or 'none'}",
                )
            clips &= np.array([value in allowed for value in column])
        if not clips.any():
            raise ParameterError(
                f"no clip has the labels {dict(labels)}", hint=self._values_of(labels)
            )
        return np.repeat(clips, self.range_stops - self.range_starts)

    def _values_of(self, names: Iterable[str]) -> str:
        """In words, what values some labels have."""
        parts = []
        for name in names:
            values = sorted({each[name] for each in self.labels if name in each})
            more = f" and {len(values) - _NAMED} more" if len(values) > _NAMED else ""
            parts.append(f"{name} is {', '.join(values[:_NAMED])}{more}")
        return "; ".join(parts)

    def neighbourhood(self, rows: Array | int, seconds: float) -> Array:
        """(rows, 2) first and last + 1 row of the same clip within seconds of each row.

        What a search is told to leave out, so that a moment does not find itself.
        """
        rows, reach = np.asarray(rows), round(seconds * self.fps)
        clips = self.clip_of(rows)
        return np.stack(
            [
                np.maximum(rows - reach, self.range_starts[clips]),
                np.minimum(rows + reach + 1, self.range_stops[clips]),
            ],
            -1,
        )
