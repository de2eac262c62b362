"""Joints without a parent: trees of a file's joints or bones, of which a body is one."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array


def largest_tree(parents: Array) -> tuple[Array, Array]:
    """The bones below the root that carries the most.

    Parameters
    ----------
    parents : (bones,)
        Each before its children; -1 for roots.

    Returns
    -------
    tree : (kept,)
        Indices of the bones, in their order.
    roots
        Indices of all bones without a parent.
    """
    top = np.arange(len(parents))
    for bone, parent in enumerate(parents.tolist()):
        if parent >= 0:
            top[bone] = top[parent]
    roots, counts = np.unique(top, return_counts=True)
    return np.flatnonzero(top == roots[np.argmax(counts)]), roots


def parents_in_tree(parents: Array, tree: Array) -> Array:
    """(kept,) parents among the bones of a tree; -1 for its root."""
    row = {int(bone): place for place, bone in enumerate(tree)}
    return np.array([row.get(int(parents[bone]), -1) for bone in tree], np.int64)


def one_tree(
    names: tuple[str, ...], parents: Array, of: str = "joints"
) -> tuple[Array, tuple[str, ...]]:
    """Indices of the joints of the largest tree, and a note on the others if there are some."""
    tree, roots = largest_tree(parents)
    if len(roots) == 1:
        return tree, ()
    others = [names[root] for root in roots.tolist() if root != tree[0]]
    listed = ", ".join(others[:4]) + (f" and {len(others) - 4} more" if len(others) > 4 else "")
    return tree, (
        f"{len(roots)} {of} have no parent: the {len(tree)} {of} of {names[int(tree[0])]!r} were "
        f"read, and {len(names) - len(tree)} of {listed} left out",
    )
