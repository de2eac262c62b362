"""Tree of the joints of a body of points, built from its limbs and its middle line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from deepphase.arrays import Array
from deepphase.solving.point_distances import PointDistances, tree_parents
from deepphase.solving.point_limbs import PointBody, PointLimb

LEG_WORDS = ("Hip", "Knee", "Ankle", "Toe")
ARM_WORDS = ("Shoulder", "Elbow", "Wrist", "Hand")
_FOOT = "Foot"
# A lower leg or arm is at least this share of the upper one: what is nearer to the knee or elbow
# is a second point on it.
_LOWER_SHARE = 0.55
# Points above the shoulders, closer than this share of the farthest one's distance, are the neck.
_NECK_SHARE = 0.5


def plain_names(points: int) -> tuple[str, ...]:
    """Names of unnamed points: point_07 has index 7."""
    return tuple(f"point_{point:02d}" for point in range(points))


def last_place(limbs: Sequence[PointLimb], distances: PointDistances) -> int | None:
    """Index of the ankle or wrist among two limbs' points; the middle joint is at 1.

    Both limbs share one index, so that partners have one name. None if a limb has fewer than 3
    points.
    """
    places = min(len(limb.points) for limb in limbs)
    if places < 3:
        return None

    def length(first: int, last: int) -> float:
        return sum(distances.medians[limb.points[first], limb.points[last]] for limb in limbs)

    upper = length(0, 1)
    far = (place for place in range(2, places) if length(1, place) >= _LOWER_SHARE * upper)
    return next(far, places - 1)


def limb_names(
    limb: PointLimb, last: int | None, side: str, words: Sequence[str]
) -> dict[int, str]:
    """Point -> name for one limb of a side ("Left", "Right") with ankle or wrist at `last`."""
    upper, middle, end, tip = words
    if last is None:
        # Two points are both ends of a limb, one is its start.
        known = [upper, end, *(f"{end}{number}" for number in range(2, len(limb.points)))]
        return {point: f"{side}{word}" for point, word in zip(limb.points, known, strict=False)}
    names = {}
    for place, point in enumerate(limb.points):
        beyond = place - last
        if place == 0:
            name = upper
        elif place < last:
            name = middle if place == 1 else f"{middle}{place}"
        elif place == last:
            name = end
        elif words is LEG_WORDS and place == len(limb.points) - 1:
            name = tip
        else:
            word = _FOOT if words is LEG_WORDS else tip
            name = word if beyond == 1 else f"{word}{beyond}"
        names[point] = f"{side}{name}"
    return names


def neck_and_head(
    body: PointBody, distances: PointDistances
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Points of the neck, from the shoulders on, and of the head, in the file's order."""
    shoulders = [arm.points[0] for arm in body.arms or ()]
    if not shoulders or not body.upper:
        return (), tuple(sorted(body.upper))
    mean_distance = {
        point: float(distances.medians[point, shoulders].mean()) for point in body.upper
    }
    farthest = max(mean_distance.values())
    necks = [point for point in body.upper if mean_distance[point] < _NECK_SHARE * farthest]
    necks.sort(key=lambda point: (mean_distance[point], point))
    return tuple(necks), tuple(sorted(set(body.upper) - set(necks)))


def middle_names(body: PointBody, distances: PointDistances) -> dict[int, str]:
    """Point -> name for the middle line: Spine, Chest, Neck, Head."""
    names = {}
    for number, point in enumerate(body.lower, start=1):
        chest = number == len(body.lower) > 1
        names[point] = "Chest" if chest else "Spine" if number == 1 else f"Spine{number}"
    for word, points in zip(("Neck", "Head"), neck_and_head(body, distances), strict=True):
        for number, point in enumerate(points, start=1):
            names[point] = word if number == 1 else f"{word}{number}"
    return names


@dataclass(frozen=True)
class PointStructure:
    """A hierarchy of joints, each at the mean of some points.

    Parameters
    ----------
    names
        (joints,) parents before their children; the first is the root.
    parents
        (joints,) index of each joint's parent; -1 for the root.
    points
        (joints,) the points whose mean each joint is: one or several.
    across
        (left, right) joints of hips and shoulders; empty if no legs were found.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    points: tuple[tuple[int, ...], ...]
    across: tuple[tuple[int, int], ...] = ()
    confidence: float = field(default=0.0, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)


def joint_positions_of(positions: Array, structure: PointStructure) -> Array:
    """(frames, joints, 3) positions of a structure's joints from (frames, points, 3)."""
    return np.stack([positions[:, list(points)].mean(axis=1) for points in structure.points], 1)


class PointTree:
    """Builder of a structure: joints in the order in which they are added, parents first."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._point_names = names
        self._names: list[str] = []
        self._parents: list[int] = []
        self._points: list[tuple[int, ...]] = []
        self.joint_of: dict[int, int] = {}

    def add_middle(self, points: tuple[int, ...]) -> None:
        """Add a root at the mean of points, named Hips."""
        name = "Hips"
        while name in self._point_names:
            name = f"Middle{name}"
        self._append(name, -1, points)

    def add(self, point: int, above: int | None) -> None:
        """Add a point below another, or below the root if `above` is None."""
        if point in self.joint_of:
            return
        parent = -1 if not self._names else 0 if above is None else self.joint_of[above]
        self.joint_of[point] = len(self._names)
        self._append(self._point_names[point], parent, (point,))

    def _append(self, name: str, parent: int, points: tuple[int, ...]) -> None:
        self._names.append(name)
        self._parents.append(parent)
        self._points.append(points)

    def structure(self, body: PointBody, confidence: float, notes: list[str]) -> PointStructure:
        """The structure of all joints added; the body's first limbs are the left ones."""
        pairs = [body.legs, *([] if body.arms is None else [body.arms])]
        return PointStructure(
            tuple(self._names),
            tuple(self._parents),
            tuple(self._points),
            tuple(
                (self.joint_of[left.points[0]], self.joint_of[right.points[0]])
                for left, right in pairs
            ),
            confidence,
            tuple(notes),
        )


def add_body(
    tree: PointTree, body: PointBody, distances: PointDistances, neighbours: list[list[int]]
) -> None:
    """Add the legs and the middle line below the root, arms and head below that, then the rest."""

    def add_limb(limb: PointLimb, above: int | None) -> None:
        for point, parent in zip(limb.points, limb.parents, strict=True):
            tree.add(point, above if parent < 0 else parent)

    for leg in body.legs:
        add_limb(leg, None)
    chest = None
    for point in body.lower:
        tree.add(point, chest)
        chest = point
    for arm in body.arms or ():
        add_limb(arm, chest)
    neck, (necks, heads) = chest, neck_and_head(body, distances)
    for point in necks:
        tree.add(point, neck)
        neck = point
    for point in heads:
        tree.add(point, neck)
        neck = heads[0]
    # All other points are placed by the spanning tree.
    for point, above in tree_parents(neighbours, list(tree.joint_of)).items():
        tree.add(point, above)


def plain_tree(
    names: tuple[str, ...], parents: Mapping[int, int], notes: list[str]
) -> PointStructure:
    """The structure of points for which only point -> parent is known, parents first."""
    order = {point: joint for joint, point in enumerate(parents)}
    return PointStructure(
        tuple(names[point] for point in parents),
        tuple(-1 if above < 0 else order[above] for above in parents.values()),
        tuple((point,) for point in parents),
        notes=tuple(notes),
    )
