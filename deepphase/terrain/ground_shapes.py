"""Generated ground: hills, stairs and rocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.ndimage import gaussian_filter, zoom

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.terrain.heightmap import Heightmap

INCH_M = 0.0254
"""Metres: the resolution of heightmaps of Holden, Komura and Saito 2017."""

_TREAD_M, _RISER_M, _LANDING_M = 0.3, 0.17, 2.0


def _hills(generator: np.random.Generator, x: Array, z: Array) -> Array:
    """Long slopes, up to about 15 degrees."""
    return 0.25 * _smooth_noise(generator, x, z, 8.0) + 0.02 * _smooth_noise(generator, x, z, 1.0)


def _stairs(generator: np.random.Generator, x: Array, z: Array) -> Array:
    """Flights of stairs up and down along +Z, between landings."""
    treads = int(generator.integers(5, 10))
    flight = treads * _TREAD_M
    along = np.mod(z + 0.5 * _LANDING_M, 2.0 * (flight + _LANDING_M))
    up = np.ceil((along - _LANDING_M) / _TREAD_M)
    down = treads - np.ceil((along - 2.0 * _LANDING_M - flight) / _TREAD_M) + 1.0
    return _RISER_M * np.clip(np.minimum(up, down), 0.0, treads)


def _rocks(generator: np.random.Generator, x: Array, z: Array) -> Array:
    """Ellipsoidal rocks of up to 35 cm on uneven ground."""
    heights = 0.04 * _smooth_noise(generator, x, z, 2.0)
    base = heights.copy()
    for cx, cz in _scattered(generator, x, z, 1.2):
        angle, height = generator.uniform(0, np.pi), generator.uniform(0.05, 0.35)
        length = height * generator.uniform(1.2, 2.5)
        width = length * generator.uniform(0.6, 1.0)
        part, along, across = _around(x, z, cx, cz, length, angle)
        rest = np.maximum(1.0 - (along / length) ** 2 - (across / width) ** 2, 0.0)
        heights[part] = np.maximum(heights[part], base[part] + height * np.sqrt(rest))
    return heights


MADE_GROUNDS: dict[str, Callable[[np.random.Generator, Array, Array], Array]] = {
    "hills": _hills,
    "stairs": _stairs,
    "rocks": _rocks,
}
"""Name -> heights (rows, columns) in metres at x and z (rows, columns)."""


def made_ground(
    name: str, *, seed: int = 0, size_m: float = 24.0, spacing_m: float = INCH_M
) -> Heightmap:
    """Ground of that name around the origin, whose height there is 0.

    Parameters
    ----------
    seed
        Of its random shapes.
    size_m
        Length of its sides.
    spacing_m
        Metres between points.

    Raises
    ------
    ParameterError
        If there is no such ground, or a number is out of range.
    """
    if name not in MADE_GROUNDS:
        raise ParameterError(
            f"there is no ground {name!r}", hint=f"give a file, or {', '.join(MADE_GROUNDS)}"
        )
    if not (np.isfinite([size_m, spacing_m]).all() and 0 < spacing_m <= size_m <= 500.0):
        raise ParameterError(
            f"ground of {size_m:g} m with a spacing of {spacing_m:g} m is not possible",
            hint="give a spacing above 0 and at most 500 m of size",
        )
    points = round(size_m / spacing_m) + 1
    line = (np.arange(points) - 0.5 * (points - 1)) * spacing_m
    x, z = np.meshgrid(line, line)
    heights = MADE_GROUNDS[name](np.random.default_rng(seed), x, z)
    ground = Heightmap.centred(heights, spacing_m, name)
    return ground.shifted(-float(ground.at(np.zeros(2))))


def _scattered(generator: np.random.Generator, x: Array, z: Array, per_m2: float) -> Array:
    """(places, 2) random x and z."""
    low, high = np.array([x.min(), z.min()]), np.array([x.max(), z.max()])
    count = int(np.ceil(per_m2 * np.prod(high - low)))
    return generator.uniform(low, high, (count, 2))


def _around(
    x: Array, z: Array, cx: float, cz: float, radius: float, angle: float
) -> tuple[tuple[slice, slice], Array, Array]:
    """The part of a grid around a place, and its metres along and across a direction."""
    rows = np.searchsorted(z[:, 0], (cz - radius, cz + radius))
    columns = np.searchsorted(x[0], (cx - radius, cx + radius))
    part = slice(*rows), slice(*columns)
    x, z = x[part] - cx, z[part] - cz
    along = x * np.cos(angle) + z * np.sin(angle)
    return part, along, z * np.cos(angle) - x * np.sin(angle)


def _smooth_noise(generator: np.random.Generator, x: Array, z: Array, wavelength: float) -> Array:
    """Noise of this wavelength in metres, with a standard deviation of 1."""
    extent = max(float(np.ptp(x)), float(np.ptp(z)))
    # Four values a wavelength, with a margin that the filter needs.
    count = int(np.ceil(4.0 * extent / wavelength)) + 12
    coarse = gaussian_filter(generator.standard_normal((count, count)), 1.0, mode="wrap")
    coarse /= coarse.std()
    points = x.shape[0]
    fine = zoom(coarse, (points + 1) / (count - 12) if count > 12 else points, order=3)
    begin = (len(fine) - points) // 2
    return fine[begin : begin + points, begin : begin + points]
