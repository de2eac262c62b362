"""The joints that points are as a tree, put together from the parts of a body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from deepphase.motion.point_distances import PointDistances, tree_parents
from deepphase.motion.point_limbs import PointBody, PointLimb
from deepphase.motion.point_names import neck_and_head
from deepphase.motion.skeleton import Array


@dataclass(frozen=True)
class PointStructure:
    """The joints that points are, as a tree.

    Parameters
    ----------
    names
        (joints,) parents before their children; the root is the first.
    parents
        (joints,) index of each joint's parent; -1 for the root.
    points
        (joints,) the points of each joint: one, or several whose mean it is.
    across
        (left, right) joints of hips and shoulders; none where no legs were found.
    sureness
        How sure left and right are, from 0 (a guess) to 1.
    notes
        What was found how, one sentence each; two structures may be equal with different ones.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    points: tuple[tuple[int, ...], ...]
    across: tuple[tuple[int, int], ...] = ()
    sureness: float = field(default=0.0, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)


def joint_positions_of(positions: Array, structure: PointStructure) -> Array:
    """(frames, joints, 3) positions of a structure's joints, of (frames, points, 3)."""
    return np.stack([positions[:, list(points)].mean(axis=1) for points in structure.points], 1)


class PointTree:
    """Joints in the order in which they are added, parents first."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._point_names = names
        self._names: list[str] = []
        self._parents: list[int] = []
        self._points: list[tuple[int, ...]] = []
        self.joint_of: dict[int, int] = {}

    def add_middle(self, points: tuple[int, ...]) -> None:
        """Add a root in the middle of points, named Hips."""
        name = "Hips"
        while name in self._point_names:
            name = f"Middle{name}"
        self._append(name, -1, points)

    def add(self, point: int, above: int | None) -> None:
        """Add a point below another; below the root where there is none above."""
        if point in self.joint_of:
            return
        parent = -1 if not self._names else 0 if above is None else self.joint_of[above]
        self.joint_of[point] = len(self._names)
        self._append(self._point_names[point], parent, (point,))

    def _append(self, name: str, parent: int, points: tuple[int, ...]) -> None:
        self._names.append(name)
        self._parents.append(parent)
        self._points.append(points)

    def structure(self, body: PointBody, sureness: float, notes: list[str]) -> PointStructure:
        """All that was added; the body's first limbs are the left ones."""
        pairs = [body.legs, *([] if body.arms is None else [body.arms])]
        return PointStructure(
            tuple(self._names),
            tuple(self._parents),
            tuple(self._points),
            tuple(
                (self.joint_of[left.points[0]], self.joint_of[right.points[0]])
                for left, right in pairs
            ),
            sureness,
            tuple(notes),
        )


def add_body(
    tree: PointTree, body: PointBody, distances: PointDistances, neighbours: list[list[int]]
) -> None:
    """Hang legs on the root, the middle line above it, arms and head on that, and then the rest.

    Parameters
    ----------
    tree
        With its root added.
    body
        Its first limbs are the left ones.
    neighbours
        The tree of distances, by which all other points hang.
    """

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
    # All else hangs where the tree of distances has it.
    for point, above in tree_parents(neighbours, list(tree.joint_of)).items():
        tree.add(point, above)


def plain_tree(
    names: tuple[str, ...], parents: Mapping[int, int], notes: list[str]
) -> PointStructure:
    """The structure of points of which only point -> parent is known, parents first."""
    order = {point: joint for joint, point in enumerate(parents)}
    return PointStructure(
        tuple(names[point] for point in parents),
        tuple(-1 if above < 0 else order[above] for above in parents.values()),
        tuple((point,) for point in parents),
        notes=tuple(notes),
    )
