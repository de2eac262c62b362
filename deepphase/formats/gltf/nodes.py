"""The nodes of a glTF file: who hangs from whom, and where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.formats.gltf.document import Item, is_index
from deepphase.motion.quaternions import IDENTITY

# How far exporters' rounding may carry a scale from 1, or the axes of a matrix from right angles.
SCALE_TOLERANCE = 1e-3
_NO_TRANSLATION, NO_SCALE = np.zeros(3), np.ones(3)
_IDENTITY_MATRIX = np.eye(4).ravel()


@dataclass(frozen=True, eq=False)
class NodeTree:
    """All nodes under one `world` node, which the file does not have."""

    # The glTF document
    document: Item
    # (nodes + 1,) index of each node's parent; the world is the last, its own parent is -1
    parents: list[int]
    # All nodes behind the world, parents before children
    order: list[int]

    @property
    def world(self) -> int:
        """Index of the node above all."""
        return len(self.parents) - 1

    def item(self, node: int) -> Item:
        """The node's object."""
        return self.document.element("nodes", node)

    def name(self, node: int) -> str:
        """The node's name, or one made of its number."""
        if node == self.world:
            return "root"
        return self.item(node).text("name").strip() or f"node_{node}"


def read_nodes(document: Item) -> NodeTree:
    """The hierarchy of a document's nodes."""
    nodes = document.array("nodes")
    count = len(nodes)
    parents = [count] * count + [-1]
    for node, value in enumerate(nodes):
        if not isinstance(value, dict) or "children" in value:
            _adopt(document.element("nodes", node), node, parents)
    order = [count]
    children: list[list[int]] = [[] for _ in parents]
    for node in range(count):
        children[parents[node]].append(node)
    for node in order:
        order.extend(children[node])
    if len(order) != count + 1:
        lost = min(set(range(count)).difference(order))
        raise document.element("nodes", lost).fault("hangs from itself, by way of its children")
    return NodeTree(document, parents, order)


def _adopt(item: Item, node: int, parents: list[int]) -> None:
    world = len(parents) - 1
    for child in item.array("children"):
        if not is_index(child) or not 0 <= child < world:
            raise item.fault(f"a child {str(child)[:20]}, but there are {world} nodes")
        if parents[child] != world:
            raise item.fault(f"node {child} hangs from node {parents[child]} already")
        parents[child] = node


@dataclass(frozen=True, eq=False, slots=True)
class Transform:
    """Where a node stands in its parent: translation (3,), unit quaternion (4,), scale (3,)."""

    translation: Array
    rotation: Array
    scale: Array


def rest_transform(tree: NodeTree, node: int) -> Transform:
    """A node's own transform, without animation."""
    if node == tree.world:
        return Transform(_NO_TRANSLATION, IDENTITY, NO_SCALE)
    item = tree.item(node)
    if item.has("matrix"):
        return _decomposed(item)
    rotation = item.numbers("rotation", IDENTITY)
    if rotation is not IDENTITY:
        length = np.linalg.norm(rotation)
        if not length > SCALE_TOLERANCE:
            raise item.fault("a rotation without direction")
        rotation = rotation / length
    return Transform(
        item.numbers("translation", _NO_TRANSLATION), rotation, item.numbers("scale", NO_SCALE)
    )


def _decomposed(item: Item) -> Transform:
    # Written column by column.
    matrix = item.numbers("matrix", _IDENTITY_MATRIX).reshape(4, 4).T
    if np.abs(matrix[3] - [0, 0, 0, 1]).max() > SCALE_TOLERANCE:
        raise item.fault("a matrix whose last row is not 0 0 0 1")
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    if not (scale > 0).all():
        raise item.fault("a matrix that makes the node flat", "bake the scale in the exporter")
    axes = matrix[:3, :3] / scale
    if np.abs(axes.T @ axes - np.eye(3)).max() > SCALE_TOLERANCE:
        raise item.fault("a sheared matrix", "bake the scale in the exporter")
    if np.linalg.det(axes) < 0:
        # One way of many to mirror; which one does not matter, for none is taken.
        axes, scale = -axes, -scale
    return Transform(matrix[:3, 3].copy(), Rotation.from_matrix(axes).as_quat(), scale)
