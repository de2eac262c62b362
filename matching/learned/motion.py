"""Motion of a matcher's rows, which is decompressed where it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.matching.learned.body import MatcherBody, RootPoses
from deepphase.matching.learned.kept_states import KeptStates
from deepphase.matching.player.facing import FacingCoverage
from deepphase.matching.player.playback import Playback, supports
from deepphase.matching.player.settings import CONSTANTS

# Rows that stay decompressed: a thousand characters read three thousand in a frame.
_KEPT = 1 << 14
# Rows whose transitions are compared: as good as those of a database, with a quarter of the poses.
_CANDIDATES = 4


class DecompressedRows:
    """Poses of rows; the last ones that were read stay decompressed.

    `decompressed`: function of rows (n,): their poses.
    """

    def __init__(self, decompressed: Callable[[Array], RootPoses], count: int) -> None:
        self._decompressed = decompressed
        one = self._decompressed(np.zeros(1, np.int64))
        self._poses = RootPoses(*(np.zeros((_KEPT, *each.shape[1:]), np.float32) for each in one))
        # Place of each row among these, -1 without one; and row of each place.
        self._places = np.full(count, -1, np.int32)
        self._rows = np.full(_KEPT, -1, np.int64)
        self._next = 0
        self._lock = Lock()

    def read(self, name: str, rows: Array) -> Array:
        """(..., ...) values of rows (...): a field of `RootPoses`."""
        flat = rows.reshape(-1)
        with self._lock:
            places = self._places[flat]
            missing = places < 0
            if missing.any():
                new = np.unique(flat[missing])
                if len(new) + len(flat) > _KEPT:
                    some = self._decompressed(flat)
                    return getattr(some, name).reshape(*rows.shape, *getattr(some, name).shape[1:])
                self._write(new)
                places = self._places[flat]
                if (places < 0).any():
                    # Others took the places of rows that are read here, too.
                    self._write(np.unique(flat))
                    places = self._places[flat]
            values = getattr(self._poses, name)[places]
        return values.reshape(*rows.shape, *values.shape[1:])

    def _write(self, rows: Array) -> None:
        places = (self._next + np.arange(len(rows))) % _KEPT
        self._next = (self._next + len(rows)) % _KEPT
        old = self._rows[places]
        self._places[old[old >= 0]] = -1
        self._rows[places], self._places[rows] = rows, places
        for kept, each in zip(self._poses, self._decompressed(rows), strict=True):
            kept[places] = each


@dataclass(frozen=True)
class _Values:
    """Values of rows, to be indexed like an array."""

    read: Callable[[Array], Array]

    def __getitem__(self, rows: Any) -> Array:
        return self.read(np.asarray(rows))


@dataclass(frozen=True, eq=False)
class DecompressedMotion(Playback):
    """Motion of the rows of a matcher.

    `body`: what was measured in the motion of the database.
    """

    measured: MatcherBody = None  # type: ignore[assignment]  # fields before have defaults
    rows: int = 0  # Number of rows

    @classmethod
    def of_rows(
        cls,
        body: MatcherBody,
        kept: KeptStates,
        contacts: Array,
        fps: float,
        decompressed: Callable[[Array], RootPoses],
    ) -> DecompressedMotion:
        """The motion of the rows of kept states, whose poses are `decompressed`."""
        rows = DecompressedRows(decompressed, len(kept))
        values = {name: _Values(partial(rows.read, name)) for name in RootPoses._fields}
        ranges = zip(kept.starts.tolist(), kept.stops.tolist(), strict=True)
        frames = CONSTANTS.support_s * fps
        return cls(
            skeleton=body.skeleton,
            roles=body.roles,
            fps=fps,
            translated_joints=body.translated_joints,
            carrier=body.roles.hips,
            contacts=contacts,
            limbs=body.limbs,
            usual_acceleration=body.usual_acceleration,
            source=body.source,
            support=np.concatenate([supports(contacts[slice(*each)], frames) for each in ranges]),
            measured=body,
            rows=len(kept),
            **values,
        )

    def __len__(self) -> int:
        return self.rows

    @property
    def candidates(self) -> int:
        """Fewer than of a database, since every pose is decompressed."""
        return _CANDIDATES

    @property
    def travelling_speed(self) -> float:
        """Median speed of the database's rows in locomotion, m/s."""
        return self.measured.travelling_speed

    @property
    def top_speed(self) -> float:
        """As of the database's motion."""
        return self.measured.top_speed

    def facing_coverage(self, rows: Array | None = None) -> FacingCoverage:
        """Directions of travel of the rows of the database that are played."""
        return FacingCoverage(np.array(self.measured.covered), self.standing_speed)
