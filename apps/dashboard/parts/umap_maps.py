"""UMAP of the frames of a cloud: neighbours stay neighbours, where PCA keeps directions.

McInnes, Healy and Melville 2018, "UMAP: Uniform manifold approximation and projection for dimension
reduction", with the package `umap-learn`.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Hashable
from concurrent.futures import Future
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from deepphase.apps.dashboard.parts.result_cache import shared_cache
from deepphase.arrays import Array
from deepphase.extras import extra_packages
from deepphase.progress import Progress

# Neighbours that the map keeps: more than the frames of one cycle, so that cycles close.
_NEIGHBOURS = 30
# Points that are mapped by UMAP itself; all others are placed between them.
_MAPPED = 2_500
# Neighbours that the place of another frame is the mean of.
_NEAREST = 3
_SEED = 0
# Maps in the cache of all sessions: below a megabyte each.
_CACHED_MAPS = 16
# Seconds between two looks at a map in the making; each writes to the page.
_LOOK_S = 0.2


@dataclass(frozen=True, eq=False)
class UmapMap:
    """Places of the points of a cloud, and of other frames between them.

    Parameters
    ----------
    points
        (points, 3); the third coordinate is 0 in a map of two dimensions.
    tree
        Search tree of the values that were mapped.
    mapped
        (values of the tree, 3) their places.
    """

    points: Array
    tree: cKDTree
    mapped: Array

    def __call__(self, values: Array) -> Array:
        """(frames, 3) places of other frames: means of the places of the most similar points."""
        distances, nearest = self.tree.query(values, k=min(_NEAREST, len(self.mapped)))
        distances, nearest = (each.reshape(len(values), -1) for each in (distances, nearest))
        weights = 1.0 / (distances + 1e-6 + 1e-3 * distances.max(initial=0.0))
        weights /= weights.sum(1, keepdims=True)
        return (self.mapped[nearest] * weights[..., None]).sum(1).astype(np.float32)


def make_map(values: Array, dimensions: int) -> UmapMap:
    """The map of (points, values) to two or three dimensions; the same in every run.

    Of many points, an even selection is mapped, and the others lie between those most like them.

    Raises
    ------
    ParameterError
        If the package umap-learn is not installed.
    """
    with extra_packages("Maps by UMAP"):
        import umap
    every = np.ascontiguousarray(values.reshape(len(values), -1), np.float32)
    chosen = np.unique(np.linspace(0, len(every) - 1, min(_MAPPED, len(every))).round().astype(int))
    read = every[chosen]
    tree = cKDTree(read)
    neighbours = min(_NEIGHBOURS, max(2, len(read) - 1))
    # The package's own search of neighbours is compiled for a minute on a new machine.
    distances, nearest = tree.query(read, k=neighbours)
    with warnings.catch_warnings():
        # It says that other points cannot be placed without its search; here the tree places them.
        warnings.simplefilter("ignore")
        mapped = umap.UMAP(
            n_components=dimensions,
            n_neighbors=neighbours,
            random_state=_SEED,
            n_jobs=1,
            precomputed_knn=(nearest.astype(np.int64), distances.astype(np.float32), None),
        ).fit_transform(read)
    points = np.zeros((len(read), 3), np.float32)
    points[:, :dimensions] = mapped
    placed = UmapMap(points, tree, points)
    if len(chosen) == len(every):
        return placed
    others = placed(every)
    others[chosen] = points
    return replace(placed, points=others)


def cached_map(key: Hashable, dimensions: int, values: Array) -> UmapMap:
    """`make_map`, made once for all sessions; `key` names the values.

    A click ends the wait. The map is made to its end all the same, and is there at the next visit.
    """
    key = (key, dimensions)
    return shared_cache("maps", _CACHED_MAPS).find_or_make(
        key, lambda progress: waited(key, values, dimensions, progress), "Map by UMAP"
    )


# Maps in the making, in threads: umap-learn calls nothing back, so no click could interrupt it.
_making: dict[Hashable, Future[UmapMap]] = {}
_one_at_a_time = threading.Lock()


def waited(key: Hashable, values: Array, dimensions: int, progress: Progress) -> UmapMap:
    """`make_map` in a thread; an exception of `progress` ends the wait, and not the thread."""
    made = _making.get(key)
    if made is None:
        made = _making[key] = Future()
        threading.Thread(target=_make, args=(made, values, dimensions), daemon=True).start()
    began = time.monotonic()
    while True:
        try:
            result = made.result(timeout=_LOOK_S)
        except TimeoutError:
            words = f"{time.monotonic() - began:.0f} s so far, up to half a minute at first"
            progress(f"{words}; choose PCA to go on without it", 0, 0, "")
            continue
        except Exception:
            _making.pop(key, None)
            raise
        _making.pop(key, None)
        return result


def _make(made: Future[UmapMap], values: Array, dimensions: int) -> None:
    try:
        with _one_at_a_time:
            made.set_result(make_map(values, dimensions))
    except Exception as error:
        made.set_exception(error)
