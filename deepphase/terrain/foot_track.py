"""Feet of a motion as points over the ground: places, heights, contacts and gait cycles."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip, velocities
from deepphase.motion.contacts import GRAVITY, Contacts, foot_contacts
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.roles import find_roles

# A point stands up to this share of the speed sqrt(g * limb length).
_STILL = 0.1
# A heel this much above its lowest place during a contact has left the ground, metres.
_LIFTED_M = 0.01
# Soles of the two feet that differ by more are not on the same floor, metres.
_SAME_FLOOR_M = 0.05
# Cycles outside of these seconds are not steps: standing, or a contact that was missed.
_SHORTEST_S, _LONGEST_S = 0.3, 2.0
# Points of the largest grid of ground.
_MAX_POINTS = 20_000_000


@dataclass(frozen=True, eq=False)
class FootTrack:
    """Points of the feet over time."""

    # (frames, points, 2) metres: x and z of heel and toe of each foot; points of one foot are
    # neighbours, the left foot's first.
    places: Array
    heights: Array  # (frames, points) metres of the soles below these points
    contacts: Array  # (frames, points) bool: the point stands on the ground
    fps: float  # Frames a second

    def __post_init__(self) -> None:
        if not (np.isfinite(self.places).all() and np.isfinite(self.heights).all()):
            raise ParameterError(
                "the track of feet holds values that are not finite",
                hint="repair the clip first: deepphase edit repair",
            )

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def from_clip(cls, clip: Clip, contacts: Contacts | None = None) -> FootTrack:
        """The feet of a clip over its floor, whose height is 0.

        By default contacts are found by speed alone, so that feet on boxes and stairs are in
        contact. Raises SkeletonError if no feet are found.
        """
        roles = find_roles(clip.skeleton, clip=clip)
        contacts = contacts or foot_contacts(clip, roles, at_any_height=True)
        chains = LegChains.from_skeleton(clip.skeleton, roles)
        solver = LimbSolver(clip.skeleton, chains)
        transforms = solver.transforms(clip.rotations, clip.local_positions())
        # (limbs, frames, 2 points, 3)
        points = np.stack([transforms.positions[2], transforms.positions[3]], axis=2)
        columns = [contacts.joints.index(int(last)) for last in chains.last]
        feet = contacts.flags[:, columns]
        points = points.swapaxes(0, 1).reshape(len(clip), -1, 3)
        # A heel that lifts while the toe stands, or a toe before it comes down, is not a contact.
        speeds = np.linalg.norm(velocities(points, clip.fps), axis=-1)
        lengths = np.repeat(np.median(transforms.lengths, axis=1), 2)
        still = speeds < _STILL * np.sqrt(GRAVITY * lengths)
        standing = np.repeat(feet, 2, axis=1) & still
        for foot, flags in enumerate(feet.T):
            for begin, end in true_runs(flags):
                for point in (2 * foot, 2 * foot + 1):
                    heights = points[begin:end, point, 1]
                    standing[begin:end, point] &= heights < heights.min() + _LIFTED_M
        return cls.from_points(points, standing, clip.fps)

    @classmethod
    def from_points(cls, points: Array, contacts: Array, fps: float) -> FootTrack:
        """The track of foot points (frames, points, 3) in metres, Y up.

        Points are in the order heel, toe of the left foot, of the right foot, and the same of
        further pairs. Each point's sole is where it comes to rest lowest; the ground's height is 0
        there. A foot that never comes down to where the other one rests has the other's soles.

        Raises ParameterError if the points are not those of pairs of feet, or are not finite.
        """
        count = points.shape[1]
        if count % 4:
            raise ParameterError(
                f"heels and toes of pairs of feet are needed, but there are {count} points",
                hint="give heel and toe of the left foot, then of the right",
            )
        soles = np.empty(count)
        for index, flags in enumerate(contacts.T):
            heights = points[flags, index, 1] if flags.any() else points[:, index, 1]
            soles[index] = np.percentile(heights, 5)
        pairs = soles.reshape(-1, 2, 2)
        lowest = pairs.min(axis=1, keepdims=True)
        soles = np.where(pairs - lowest > _SAME_FLOOR_M, lowest, pairs).reshape(-1)
        return cls(points[..., ::2].copy(), points[..., 1] - soles, contacts.copy(), fps)

    def grid(self, spacing_m: float, margin_m: float) -> tuple[Array, Array]:
        """(2,) first and (rows, columns, 2) all points of ground around the places of the feet.

        Raises ParameterError if the grid would be too large.
        """
        every = self.places.reshape(-1, 2)
        low = every.min(axis=0) - margin_m
        counts = np.ceil((every.max(axis=0) + margin_m - low) / spacing_m).astype(int) + 1
        if counts.prod() > _MAX_POINTS:
            raise ParameterError(
                f"the ground has {counts[0]:,} x {counts[1]:,} points", hint="give a larger spacing"
            )
        x, z = (low[axis] + spacing_m * np.arange(counts[axis]) for axis in (0, 1))
        return low, np.stack(np.meshgrid(x, z), axis=-1)

    def cycles(self) -> list[tuple[int, int]]:
        """First and last frame (exclusive) of each gait cycle.

        A cycle begins where the first foot comes down. What lies before the first, after the last
        and in pauses is cut in pieces of at most two seconds, so that every frame is in one cycle.
        """
        first = self.contacts[:, 0]
        strikes = np.flatnonzero(first[1:] & ~first[:-1]) + 1
        bounds = [0, *strikes.tolist(), len(self)]
        least, most = round(_SHORTEST_S * self.fps), max(2, round(_LONGEST_S * self.fps))
        cycles: list[tuple[int, int]] = []
        begin = 0
        for end in bounds[1:]:
            # A strike that follows too soon is part of the cycle before.
            if end - begin < least and end != len(self):
                continue
            if end == len(self) and end - begin < least and cycles:
                begin, _ = cycles.pop()
            pieces = max(1, -(-(end - begin) // most))
            edges = np.linspace(begin, end, pieces + 1).round().astype(int).tolist()
            cycles += list(pairwise(edges))
            begin = end
        return cycles
