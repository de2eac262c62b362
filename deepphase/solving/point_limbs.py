"""Legs, arms and the middle line of a body of points, found by steady distances and heights."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.orientation import ASSUMED_UP, AXES

# Numbers of evenly spread frames and of distances that are enough for the statistics.
_MAX_FRAMES, _MAX_DISTANCES = 600, 4_000_000
# A distance that changes by this share of itself counts as twice as long in the tree: within one
# limb distances change by less than a tenth even in noisy captures, between two knees by more
# than a fifth.
_FREE_SHARE = 0.2
# Standard deviations from the 10th to the 90th percentile of a normal distribution.
_DEVIATIONS_10_TO_90 = 2.563

# The tips of legs are in this lowest share of the body's height, and the path between them rises
# by the second share: from foot to foot over the hips, not from heel to toe.
_LOW_SHARE, _CLIMB_SHARE = 0.25, 0.3
# Thighs of one body differ less than this share, also in captures whose lengths are noisy.
_ALIKE_SHARE = 0.25
# Points closer to the plane between the hips than this share of the hips' width are on the middle
# line, if they sway less than the second share.
_MIDDLE_SHARE, _MIDDLE_SWAY = 0.4, 0.7
# Smallest width of the hips, as a share of the height, for these bounds.
_MIN_HIPS = 0.1
# Head and shoulders keep their distance from the hips to this share, hands do not.
_TRUNK_CHANGE = 0.15
# Height of the shoulders over the hips, as a share of the body's, if the trunk is upright.
_SHOULDER_RISE = 0.12
# A steady point closer to the middle than this share of the shoulders belongs to the head.
_WIDE_SHARE = 0.65
# A shorter group of points on a side (a marker of the pelvis) is not an arm.
_SHORTEST_ARM = 0.15
# Up to this number of points a limb is a chain, ordered by the largest distance of each from its
# first one; with more points, several are on one part of the body, and the tree orders them.
_LONGEST_CHAIN = 6
# Points of a hand whose largest distances agree to this share stay in the file's order, so that
# the files of a set agree.
_AS_FAR_SHARE = 0.04


@dataclass(frozen=True, eq=False)
class PointDistances:
    """Distances between all points over a motion, metres; each (points, points)."""

    medians: Array
    reaches: Array
    # Robust standard deviation over time as a share of the median; 0 for a point and itself.
    changes: Array
    # (points,) those beside each in the tree that joins close points of constant distance
    neighbours: list[list[int]]


def distance_frames(positions: Array) -> Array:
    """(frames, points, 3) evenly spread frames, enough for statistics of distances."""
    count = max(2, min(_MAX_FRAMES, _MAX_DISTANCES // positions.shape[1] ** 2))
    return positions[:: max(1, -(-len(positions) // count))].astype(np.float64)


def _spread(distances: Array) -> tuple[Array, Array, Array]:
    """Medians, reaches and changes over the first axis."""
    low, median, high = np.percentile(distances, [10, 50, 90], axis=0)
    return median, high, (high - low) / _DEVIATIONS_10_TO_90 / np.maximum(median, 1e-9)


def point_distances(positions: Array, edges: Array) -> PointDistances:
    """The distances between points (frames, points, 3), metres, some of which edges join."""
    frames = distance_frames(positions)
    apart = np.linalg.norm(frames[:, :, None] - frames[:, None], axis=-1)
    medians, reaches, changes = _spread(apart)
    weights = _tree_weights(medians, changes)
    weights[edges[:, 0], edges[:, 1]] = weights[edges[:, 1], edges[:, 0]] = -1.0
    return PointDistances(medians, reaches, changes, _spanning_tree(weights))


def _tree_weights(medians: Array, changes: Array) -> Array:
    return medians * (1.0 + (changes / _FREE_SHARE) ** 2)


def _spanning_tree(weights: Array, within: Collection[int] | None = None) -> list[list[int]]:
    """Neighbours of every point in the lightest tree."""
    points = len(weights)
    # Only their order counts; a weight of 0, of coincident points, would be no edge at all.
    ranks = 1.0 + np.unique(weights, return_inverse=True)[1].reshape(weights.shape)
    np.fill_diagonal(ranks, 0.0)
    if within is not None:
        outside = np.setdiff1d(np.arange(points), list(within))
        ranks[outside] = ranks[:, outside] = 0.0
    from scipy.sparse.csgraph import minimum_spanning_tree

    tree = minimum_spanning_tree(ranks).tocoo()
    neighbours: list[list[int]] = [[] for _ in range(points)]
    for first, second in zip(tree.row.tolist(), tree.col.tolist(), strict=True):
        neighbours[first].append(second)
        neighbours[second].append(first)
    return [sorted(points) for points in neighbours]


def tree_parents(
    neighbours: list[list[int]], sources: list[int], within: Collection[int] | None = None
) -> dict[int, int]:
    """Point -> parent of all points reachable from the sources, breadth first; -1 for sources."""
    parents = dict.fromkeys(sources, -1)
    queue = list(sources)
    for point in queue:
        for other in neighbours[point]:
            if other not in parents and (within is None or other in within):
                parents[other] = point
                queue.append(other)
    return parents


@dataclass(frozen=True)
class PointLimb:
    """A limb: its points, and the parent of each (-1 for the first)."""

    points: tuple[int, ...]
    parents: tuple[int, ...]


@dataclass(frozen=True)
class PointBody:
    """The parts of a body of points."""

    legs: tuple[PointLimb, PointLimb]
    # Two limbs from the shoulder outwards, in the order of the legs' sides; None if not found.
    arms: tuple[PointLimb, PointLimb] | None
    lower: tuple[int, ...]
    upper: tuple[int, ...]

    @property
    def pairs(self) -> list[tuple[PointLimb, PointLimb]]:
        """The legs and, if they were found, the arms."""
        return [self.legs] if self.arms is None else [self.legs, self.arms]


def find_point_limbs(
    positions: Array, distances: PointDistances, *, ordered: bool
) -> PointBody | None:
    """Find the body of (frames, points, 3) positions, Y up; None if no legs are found."""
    frames = distance_frames(positions)
    heights = np.median(frames[..., 1], axis=0)
    hips = _hips(heights, distances)
    if hips is None:
        return None
    points = set(range(len(heights)))
    legs = []
    for hip, knee in hips:
        below = tree_parents(distances.neighbours, [knee], points - {hip})
        legs.append(_limb(hip, {hip, *below}, distances, ordered))
    if set(legs[0].points) & set(legs[1].points):
        return None
    sides = _Sides(frames, hips[0][0], hips[1][0], float(np.ptp(heights)))
    rest = points - {*legs[0].points, *legs[1].points}
    middle = [point for point in rest if sides.is_middle(point)]
    roots = _arms(rest - {*middle}, sides, distances)
    arms = [_limb(root, arm, distances, ordered, hand=True) for root, arm in roots]
    outwards = sorted(middle, key=lambda point: (sides.distance[point], point))
    if not arms:
        return PointBody((legs[0], legs[1]), None, tuple(outwards[:-1]), tuple(outwards[-1:]))
    shoulders = float(np.mean([sides.rise[arm.points[0]] for arm in arms]))
    lower = [point for point in outwards if sides.rise[point] <= shoulders]
    upper = [point for point in outwards if sides.rise[point] > shoulders]
    # Points connected to the neck belong to the head, even if they sway.
    free = rest - {*arms[0].points, *arms[1].points, *lower}
    upper += sorted(set(tree_parents(distances.neighbours, upper, free)) - {*upper})
    return PointBody((legs[0], legs[1]), (arms[0], arms[1]), tuple(lower), tuple(upper))


class _Sides:
    """Positions of points relative to the hips, and their variation over time."""

    def __init__(self, frames: Array, first: int, second: int, height: float) -> None:
        across = frames[:, first] - frames[:, second]
        width = np.linalg.norm(across, axis=1, keepdims=True)
        from_hips = frames - 0.5 * (frames[:, [first]] + frames[:, [second]])
        lateral = np.einsum("fpc,fc->fp", from_hips, across / np.maximum(width, 1e-9))
        low, self.lateral, high = np.percentile(lateral, [10, 50, 90], axis=0)
        self.distance, _, self.changes = _spread(np.linalg.norm(from_hips, axis=-1))
        self.rise = np.median(from_hips[..., 1], axis=0)
        self.height = height
        self._width = max(float(np.median(width)), _MIN_HIPS * height)
        self._sway = high - low

    def is_lateral(self, point: int) -> bool:
        return bool(abs(self.lateral[point]) > _MIDDLE_SHARE * self._width)

    def is_middle(self, point: int) -> bool:
        steady = self._sway[point] < 2 * _MIDDLE_SWAY * self._width
        # The distance of points near the hips is too short to be steady.
        near = self.distance[point] < 2 * self._width
        kept = near or self.changes[point] < _TRUNK_CHANGE
        return bool(not self.is_lateral(point) and steady and kept)


def _hips(
    heights: Array, distances: PointDistances
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """(hip, knee) of both legs: the thighs on the shortest path from foot to foot."""
    size = float(np.ptp(heights))
    low, neighbours = heights.min() + _LOW_SHARE * size, distances.neighbours
    tips = [p for p, near in enumerate(neighbours) if len(near) == 1 and heights[p] <= low]
    paths = []
    for first, last in combinations(tips, 2):
        above = tree_parents(neighbours, [last])
        path = [first]
        while path[-1] != last:
            path.append(above[path[-1]])
        climb = heights[path].max() - heights[[first, last]].max()
        if climb >= _CLIMB_SHARE * size > 0:
            paths.append((float(distances.medians[path[:-1], path[1:]].sum()), path))
    thighs = (_thighs(path, heights, distances) for _, path in sorted(paths))
    return next((pair for pair in thighs if pair is not None), None)


def _thighs(
    path: list[int], heights: Array, distances: PointDistances
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The innermost two similar steps of a path from foot to foot; each (upper, lower) point."""
    steps = distances.medians[path[:-1], path[1:]]
    up = np.diff(heights[path]) > 0
    down = np.diff(heights[path]) < 0
    # A step longer than a tenth of the path (two legs) is a thigh, not a part of a foot.
    long = steps > 0.1 * steps.sum()
    candidates = [
        (second - first, abs(steps[first] - steps[second]), first, second)
        for first in np.flatnonzero(long & up).tolist()
        for second in np.flatnonzero(long & down).tolist()
        if second > first + 1
        and abs(steps[first] - steps[second]) < _ALIKE_SHARE * max(steps[first], steps[second])
    ]
    if not candidates:
        return None
    _, _, first, second = min(candidates)
    return (path[first + 1], path[first]), (path[second], path[second + 1])


def _arms(points: set[int], sides: _Sides, distances: PointDistances) -> list[tuple[int, set[int]]]:
    """(shoulder, points) of the arm on the first leg's side and of the other; empty if none."""
    neighbours = distances.neighbours
    # Shoulders stay on one side; a tree that joins both arms there is cut between them.
    fixed = {
        point: bool(sides.lateral[point] > 0)
        for point in points
        if sides.is_lateral(point) and sides.changes[point] < _TRUNK_CHANGE
    }
    pruned = [
        [other for other in near if fixed.get(other, side) == side]
        for side, near in ((fixed.get(point, True), near) for point, near in enumerate(neighbours))
    ]
    groups: dict[bool, list[tuple[float, int, set[int]]]] = {True: [], False: []}
    left = set(points)
    while left:
        group = set(tree_parents(pruned, [min(left)], points))
        left -= group
        # The steadiest point that connects the group with the rest of the body.
        joined = [point for point in group if set(neighbours[point]) - group] or group
        root = min(joined, key=lambda point: (sides.changes[point], point))
        side = fixed.get(root, bool(sides.lateral[root] > 0))
        groups[side].append((float(distances.reaches[root, list(group)].max()), root, group))
    arms = []
    for side in (True, False):
        length, root, group = max(groups[side], default=(0.0, -1, set()), key=lambda each: each[:2])
        # If elbows are close to the waist, the tree may not connect them with the shoulders.
        high = [
            point
            for point, on_side in fixed.items()
            if on_side == side and sides.rise[point] > _SHOULDER_RISE * sides.height
        ]
        widest = np.abs(sides.lateral[high]).max(initial=0.0)
        shoulders = [
            point
            for point in high
            if point not in group and abs(sides.lateral[point]) > _WIDE_SHARE * widest
        ]
        if shoulders and sides.changes[root] > sides.changes[shoulders].min():
            root = min(shoulders, key=lambda point: (sides.changes[point], point))
            group = {*group, *shoulders}
            length = float(distances.reaches[root, list(group)].max())
        if length < _SHORTEST_ARM * sides.height:
            return []
        arms.append((root, group))
    if any(sides.rise[root] < _SHOULDER_RISE * sides.height for root, _ in arms):
        return []
    return arms


def _limb(
    root: int, points: set[int], distances: PointDistances, ordered: bool, *, hand: bool = False
) -> PointLimb:
    if ordered or len(points) > _LONGEST_CHAIN:
        above = tree_parents(distances.neighbours, [root], points)
        if len(above) < len(points):
            weights = _tree_weights(distances.medians, distances.changes)
            above = tree_parents(_spanning_tree(weights, points), [root])
        return PointLimb(tuple(above), tuple(above.values()))
    reaches = distances.reaches[root]
    chain = [root, *sorted(points - {root}, key=lambda point: (reaches[point], point))]
    for place in range(len(chain) - 1, 1, -1):
        inner, outer = chain[place - 1 : place + 1]
        if hand and inner > outer and reaches[outer] < (1 + _AS_FAR_SHARE) * reaches[inner]:
            chain[place - 1 : place + 1] = [outer, inner]
    return PointLimb(tuple(chain), (-1, *chain[:-1]))


# Prior penalty of x, y and z as the up axis, in shares of the body's size.
_UNUSUAL = (0.1, 0.0, 0.02)
_UPSIDE_DOWN = 0.1
_TALLNESS_WEIGHT = 0.5


def body_size(positions: Array) -> float:
    """Median over time of the diagonal of the box around (frames, points, 3) positions."""
    return float(np.median(np.linalg.norm(np.ptp(distance_frames(positions), axis=1), axis=-1)))


def infer_points_up(positions: Array, edges: Array) -> tuple[str, str]:
    """The up axis of points (frames, points, 3), as in "y" or "-z", and a note on the evidence."""
    frames = distance_frames(positions)
    size = body_size(positions)
    if size <= 0:
        return "y", f"{ASSUMED_UP}y: all points are in one place"
    tall = np.median(np.ptp(frames, axis=1), axis=0)
    # (2, 3) vertical range over time of the lowest and of the highest point of each axis.
    ends = frames.min(axis=1), frames.max(axis=1)
    sways = np.ptp(np.percentile(ends, [10, 90], axis=1), axis=0)
    axis = int(np.argmin((sways.min(axis=0) - _TALLNESS_WEIGHT * tall) / size + _UNUSUAL))
    distances = point_distances(frames, edges)
    # The axis becomes Y, in any rotation about it.
    upright = frames[..., [(axis + 2) % 3, axis, (axis + 1) % 3]]
    stands, hangs = (
        find_point_limbs(upright * [1.0, sign, 1.0], distances, ordered=False) is not None
        for sign in (1.0, -1.0)
    )
    if stands != hangs:
        up = AXES[axis if stands else axis + 3]
        return up, f"{ASSUMED_UP}{up}: along it the body stands on two legs"
    down = sways[1, axis] + _UPSIDE_DOWN * size < sways[0, axis]
    up = AXES[axis + 3 if down else axis]
    return up, f"{ASSUMED_UP}{up}: the lowest point is steady or the body longest along it"
