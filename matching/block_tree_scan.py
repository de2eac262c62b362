"""A block tree searched without compiled code: all blocks' boxes at once, then block by block."""

from __future__ import annotations

import numpy as np

from matching.block_tree import RELATIVE_SLACK, SIZE_SLACK, BlockTree
from matching.distances import best, squared_distances
from matching.request import Request

Array = np.ndarray
_FIRST_BLOCKS = 4


def scan_blocks(
    tree: BlockTree, features: Array, request: Request, index: int
) -> tuple[Array, Array]:
    """Squared distances and rows, up to k, of the answer to one query of a request."""
    query, k = request.queries[index], request.k
    seen = tree.projected(query[None])[0]
    size = float(tree.sizes(query[None])[0])
    is_leaf = tree.leaves >= 0
    outside = np.maximum(tree.lowest[is_leaf] - seen, seen - tree.highest[is_leaf])
    boxes = np.square(np.maximum(outside, 0)).sum(1)
    blocks = tree.leaves[is_leaf]
    order = np.argsort(boxes, kind="stable")
    found, places = np.zeros(0), np.zeros(0, np.int64)
    place, count = 0, _FIRST_BLOCKS
    while place < len(order):
        worst = min(found[-1] if len(found) == k else np.inf, float(request.bounds[index]))
        limit = (np.sqrt(worst) * (1 + RELATIVE_SLACK) + SIZE_SLACK * size) ** 2
        some = order[place : place + count]
        some = some[boxes[some] <= limit]
        if not some.size:
            break
        chosen = blocks[some]
        axes = np.square(tree.blocks[chosen] - seen[:, None]).sum(1)
        rows = tree.rows[chosen][axes <= limit]
        rows = rows[rows >= 0]
        rows = rows[request.permits(rows, index)]
        squares = squared_distances(features[rows], query)
        within = squares < request.bounds[index]
        found, places = best(
            np.concatenate([found, squares[within]]), np.concatenate([places, rows[within]]), k
        )
        place, count = place + count, 2 * count
    return found, places
