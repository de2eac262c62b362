"""Rotations of a database's rows, which are read from the stores of its clips."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.matching.database.database import MotionDatabase
from deepphase.motion import quaternions
from deepphase.motion.skeleton import Skeleton


class StoredRotations:
    """Local rotations of rows. Those of the carrier are in root space, of joints above identity.

    Only the carrier's rotations are in memory. All others are read from the stores, which lie on
    disk where they are files, when rows are indexed; so databases may exceed memory.

    `carriers` (rows, 4) float32 rotations of the joint that carries the body, in root space.
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
            store, place = database.in_store(clip)
            if id(store) not in sources:
                sources[id(store)] = len(sources)
                # A plain array is faster to index than a memory map.
                self._rotations.append(np.asarray(store.rotations))
                order = skeleton.order_of(store.skeleton)
                same_order = (order == np.arange(len(order))).all()
                self._orders.append(None if same_order else order)
            self._source_of[clip] = sources[id(store)]
            self._shifts[clip] = store.range_starts[place] - self._starts[clip]
        self._single_source = len(sources) == 1 and not self._shifts.any()

    def __len__(self) -> int:
        return len(self._carriers)

    def __getitem__(self, rows: Array) -> Array:
        """(..., joints, 4) float32 of rows (...); neighbours in time may differ in sign."""
        rows = np.asarray(rows)
        if self._single_source:
            rotations = self._read(0, rows)
        else:
            clips = np.searchsorted(self._stops, rows, side="right")
            frames, sources = rows + self._shifts[clips], self._source_of[clips]
            joints = self._rotations[0].shape[1]
            rotations = np.empty((*rows.shape, joints, 4), np.float32)
            for source in np.unique(sources).tolist():
                here = sources == source
                rotations[here] = self._read(source, frames[here])
        rotations[..., self._carrier, :] = self._carriers[rows]
        if self._above:
            rotations[..., self._above, :] = quaternions.IDENTITY
        return rotations

    def _read(self, source: int, frames: Array) -> Array:
        rotations = self._rotations[source].take(frames, axis=0)
        order = self._orders[source]
        return rotations if order is None else rotations[..., order, :]
