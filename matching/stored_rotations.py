"""Rotations of database rows, gathered from the stores that the clips are in."""

from __future__ import annotations

import numpy as np

from deepphase.motion import quaternions
from deepphase.motion.skeleton import Skeleton
from matching.database import MotionDatabase

Array = np.ndarray


class StoredRotations:
    """Local rotations of rows; the carrier's are in root space, those above it stand still.

    Only the carrier's rotations are held here. All others stay where the stores have them, on
    disk for a store file, and are read when rows are asked for: a database of any length plays.

    Parameters
    ----------
    database
        Whose rows.
    skeleton
        In the order of whose joints.
    carriers
        (rows, 4) float32 rotations of the joint that carries the body, in root space.
    above
        Joints from the carrier, the first of them, up to the root.
    """

    def __init__(
        self, database: MotionDatabase, skeleton: Skeleton, carriers: Array, above: list[int]
    ) -> None:
        self._carriers = carriers
        self._carrier, self._above = above[0], above[1:]
        self._starts, self._stops = database.range_starts, database.range_stops
        sources: dict[int, int] = {}
        self._rotations: list[Array] = []
        self._orders: list[Array | None] = []
        self._shifts = np.zeros(len(self._stops), np.int64)
        self._source_of = np.zeros(len(self._stops), np.int64)
        for clip in range(len(self._stops)):
            store, start = database.stored(clip)
            if id(store) not in sources:
                sources[id(store)] = len(sources)
                # Seen as a plain array: a mapped one takes longer to index.
                self._rotations.append(np.asarray(store.rotations))
                order = skeleton.order_of(store.skeleton)
                as_it_is = (order == np.arange(len(order))).all()
                self._orders.append(None if as_it_is else order)
            self._source_of[clip] = sources[id(store)]
            self._shifts[clip] = start - self._starts[clip]
        self._one = len(sources) == 1 and not self._shifts.any()

    def __len__(self) -> int:
        return len(self._carriers)

    def __getitem__(self, rows: Array) -> Array:
        """(..., joints, 4) float32 of rows (...); neighbours in time may differ in sign."""
        rows = np.asarray(rows)
        if self._one:
            found = self._read(0, rows)
        else:
            clips = np.searchsorted(self._stops, rows, side="right")
            frames, sources = rows + self._shifts[clips], self._source_of[clips]
            joints = self._rotations[0].shape[1]
            found = np.empty((*rows.shape, joints, 4), np.float32)
            for source in np.unique(sources).tolist():
                here = sources == source
                found[here] = self._read(source, frames[here])
        found[..., self._carrier, :] = self._carriers[rows]
        if self._above:
            found[..., self._above, :] = quaternions.IDENTITY
        return found

    def _read(self, source: int, frames: Array) -> Array:
        found = self._rotations[source].take(frames, axis=0)
        order = self._orders[source]
        return found if order is None else found[..., order, :]
