"""Legs, arms and the middle line of a body of points, found by structure and heights."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.orientation import ASSUMED_UP, AXES
from deepphase.solving.point_distances import (
    PointDistances,
    change,
    distance_frames,
    point_distances,
    spanning_tree,
    spanning_tree_within,
    tree_parents,
    tree_path,
)

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


@dataclass(frozen=True)
class PointLimb:
    """A limb: its points, and the parent of each (-1 for the first)."""

    points: tuple[int, ...]
    parents: tuple[int, ...]


@dataclass(frozen=True)
class PointBody:
    """The parts of a body of points.

    Parameters
    ----------
    arms
        Two limbs from the shoulder outwards, in the order of the legs' sides; None if not found.
    """

    legs: tuple[PointLimb, PointLimb]
    arms: tuple[PointLimb, PointLimb] | None
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    others: tuple[int, ...]


def find_point_limbs(
    positions: Array, distances: PointDistances, neighbours: list[list[int]], *, ordered: bool
) -> PointBody | None:
    """Find the body of (frames, points, 3) positions, Y up; None if no legs are found."""
    frames = distance_frames(positions)
    heights = np.median(frames[..., 1], axis=0)
    hips = _hips(heights, distances, neighbours)
    if hips is None:
        return None
    legs = []
    for hip, knee in hips:
        below = tree_parents(neighbours, [knee], set(range(len(neighbours))) - {hip})
        legs.append(_limb(hip, {hip, *below}, distances, neighbours, ordered))
    if set(legs[0].points) & set(legs[1].points):
        return None
    sides = _Sides(frames, hips[0][0], hips[1][0], float(np.ptp(heights)))
    rest = sorted(set(range(len(neighbours))) - {*legs[0].points, *legs[1].points})
    middle = [point for point in rest if sides.is_middle(point)]
    arms = _arms([point for point in rest if point not in middle], sides, distances, neighbours)
    limbs = None
    if arms is not None:
        limbs = tuple(
            _limb(root, set(arm), distances, neighbours, ordered, hand=True) for root, arm in arms
        )
    lower, upper = _middle_line(middle, limbs, sides)
    limb_points = {point for limb in limbs or () for point in limb.points}
    # Points connected to the neck belong to the head, even if they sway.
    if limbs is not None:
        free = set(rest) - {*limb_points, *lower}
        upper = (*upper, *sorted(set(tree_parents(neighbours, list(upper), free)) - {*upper}))
    taken = {*lower, *upper, *limb_points}
    return PointBody(
        legs=(legs[0], legs[1]),
        arms=None if limbs is None else (limbs[0], limbs[1]),
        lower=lower,
        upper=upper,
        others=tuple(point for point in rest if point not in taken),
    )


class _Sides:
    """Positions of points relative to the hips, and their variation over time."""

    def __init__(self, frames: Array, first: int, second: int, height: float) -> None:
        across = frames[:, first] - frames[:, second]
        width = np.linalg.norm(across, axis=1, keepdims=True)
        from_hips = frames - 0.5 * (frames[:, [first]] + frames[:, [second]])
        lateral = np.einsum("fpc,fc->fp", from_hips, across / np.maximum(width, 1e-9))
        low, self.lateral, high = np.percentile(lateral, [10, 50, 90], axis=0)
        far = np.linalg.norm(from_hips, axis=-1)
        near, self.distance, away = np.percentile(far, [10, 50, 90], axis=0)
        self.changes = change(near, self.distance, away)
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
    heights: Array, distances: PointDistances, neighbours: list[list[int]]
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """(hip, knee) of both legs: the thighs on the shortest path from foot to foot."""
    size = float(np.ptp(heights))
    low = heights.min() + _LOW_SHARE * size
    tips = [
        point for point, near in enumerate(neighbours) if len(near) == 1 and heights[point] <= low
    ]
    paths = []
    for first, last in combinations(tips, 2):
        path = tree_path(neighbours, first, last)
        climb = heights[path].max() - heights[[first, last]].max()
        if climb >= _CLIMB_SHARE * size > 0:
            paths.append((float(distances.medians[path[:-1], path[1:]].sum()), path))
    for _, path in sorted(paths):
        found = _thighs(path, heights, distances)
        if found is not None:
            return found
    return None


def _thighs(
    path: list[int], heights: Array, distances: PointDistances
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The innermost two similar steps of a path from foot to foot; each (upper, lower) point."""
    medians = distances.medians
    total = float(medians[path[:-1], path[1:]].sum())
    candidates = []
    for first in range(1, len(path) - 2):
        for second in range(first + 1, len(path) - 1):
            thighs = [medians[path[first - 1], path[first]]]
            thighs.append(medians[path[second], path[second + 1]])
            # A step longer than a tenth of the path (two legs) is a thigh, not a part of a foot.
            long = min(thighs) > 0.1 * total
            alike = abs(thighs[0] - thighs[1]) < _ALIKE_SHARE * max(thighs)
            up = heights[path[first]] > heights[path[first - 1]]
            up &= heights[path[second]] > heights[path[second + 1]]
            if long and alike and up:
                candidates.append((second - first, abs(thighs[0] - thighs[1]), first, second))
    if not candidates:
        return None
    _, _, first, second = min(candidates)
    return (path[first], path[first - 1]), (path[second], path[second + 1])


def _arms(
    points: list[int], sides: _Sides, distances: PointDistances, neighbours: list[list[int]]
) -> list[tuple[int, list[int]]] | None:
    """(shoulder, points) of the arm on the first leg's side and of the other; None if not found."""
    allowed = set(points)
    # Shoulders stay on one side; a tree that joins both arms there is cut between them.
    fixed = {
        point: bool(sides.lateral[point] > 0)
        for point in points
        if sides.is_lateral(point) and sides.changes[point] < _TRUNK_CHANGE
    }
    pruned = [
        [
            other
            for other in near
            if fixed.get(point, True) == fixed.get(other, fixed.get(point, True))
        ]
        for point, near in enumerate(neighbours)
    ]
    groups: dict[bool, list[tuple[float, int, list[int]]]] = {True: [], False: []}
    left = set(points)
    while left:
        group = sorted(tree_parents(pruned, [min(left)], allowed))
        left -= set(group)
        root = _root_of(group, sides, neighbours)
        side = fixed.get(root, bool(sides.lateral[root] > 0))
        groups[side].append((float(distances.reaches[root, group].max()), root, group))
    arms = []
    for side in (True, False):
        length, root, group = max(groups[side], default=(0.0, -1, []))
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
            group = sorted({*group, *shoulders})
            length = float(distances.reaches[root, group].max())
        if length < _SHORTEST_ARM * sides.height:
            return None
        arms.append((root, group))
    if any(sides.rise[root] < _SHOULDER_RISE * sides.height for root, _ in arms):
        return None
    return arms


def _root_of(group: list[int], sides: _Sides, neighbours: list[list[int]]) -> int:
    """The steadiest point that connects a group with the rest of the body."""
    inside = set(group)
    joined = [point for point in group if set(neighbours[point]) - inside] or group
    return min(joined, key=lambda point: (sides.changes[point], point))


def _limb(
    root: int,
    points: set[int],
    distances: PointDistances,
    neighbours: list[list[int]],
    ordered: bool,
    *,
    hand: bool = False,
) -> PointLimb:
    if ordered or len(points) > _LONGEST_CHAIN:
        above = tree_parents(neighbours, [root], points)
        if len(above) < len(points):
            above = tree_parents(spanning_tree_within(distances, points), [root])
        return PointLimb(tuple(above), tuple(above.values()))
    reaches = distances.reaches[root]
    chain = [root, *sorted(points - {root}, key=lambda point: (reaches[point], point))]
    for place in range(len(chain) - 1, 1, -1):
        inner, outer = chain[place - 1 : place + 1]
        if hand and inner > outer and reaches[outer] < (1 + _AS_FAR_SHARE) * reaches[inner]:
            chain[place - 1 : place + 1] = [outer, inner]
    return PointLimb(tuple(chain), (-1, *chain[:-1]))


def _middle_line(
    middle: list[int], arms: tuple[PointLimb, ...] | None, sides: _Sides
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    outwards = sorted(middle, key=lambda point: (sides.distance[point], point))
    if not outwards:
        return (), ()
    if arms is None:
        return tuple(outwards[:-1]), tuple(outwards[-1:])
    shoulders = float(np.mean([sides.rise[arm.points[0]] for arm in arms]))
    lower = tuple(point for point in outwards if sides.rise[point] <= shoulders)
    return lower, tuple(point for point in outwards if point not in lower)


# Prior penalty of each axis, in shares of the body's size.
_UNUSUAL = {"y": 0.0, "z": 0.02, "x": 0.1}
_UPSIDE_DOWN = 0.1
_TALLNESS_WEIGHT = 0.5


def body_size(positions: Array) -> float:
    """Median over time of the diagonal of the box around (frames, points, 3) positions."""
    return float(np.median(np.linalg.norm(np.ptp(distance_frames(positions), axis=1), axis=-1)))


def infer_points_up(positions: Array, edges: Array) -> tuple[str, str]:
    """The up axis of points, as in "y" or "-z", and a sentence on the evidence.

    A standing body extends most along its up axis, and its lowest point stays at the height of
    the floor. The legs decide the direction: two branches lead up from the lowest points.

    Parameters
    ----------
    positions
        (frames, points, 3), in any unit.
    edges
        (edges, 2) pairs of points that are known to be connected.
    """
    frames = distance_frames(positions)
    size = body_size(positions)
    if size <= 0:
        return "y", f"{ASSUMED_UP}y: all points are in one place"
    tall = np.median(np.ptp(frames, axis=1), axis=0)
    # (2, 3) vertical range over time of the lowest and of the highest point of each axis.
    sways = np.array(
        [np.ptp(np.percentile(ends, [10, 90], axis=0), axis=0) for ends in _ends(frames)]
    )
    unlikely = (sways.min(axis=0) - _TALLNESS_WEIGHT * tall) / size
    axis = int(np.argmin(unlikely + [_UNUSUAL[name] for name in AXES[:3]]))
    distances = point_distances(frames)
    neighbours = spanning_tree(distances, edges)
    legs = [
        find_point_limbs(_upright(frames, axis, sign), distances, neighbours, ordered=False)
        is not None
        for sign in (1.0, -1.0)
    ]
    if legs[0] != legs[1]:
        up = AXES[axis if legs[0] else axis + 3]
        return up, f"{ASSUMED_UP}{up}: along it the body stands on two legs"
    down = sways[1, axis] + _UPSIDE_DOWN * size < sways[0, axis]
    up = AXES[axis + 3 if down else axis]
    return (
        up,
        f"{ASSUMED_UP}{up}: the lowest point is steady or the body longest along it",
    )


def _ends(frames: Array) -> tuple[Array, Array]:
    return frames.min(axis=1), frames.max(axis=1)


def _upright(frames: Array, axis: int, sign: float) -> Array:
    """The frames with an axis as Y, in any rotation about it."""
    others = [each for each in range(3) if each != axis]
    return np.stack(
        [frames[..., others[0]], sign * frames[..., axis], frames[..., others[1]]], axis=-1
    )
