"""Heightmaps: heights of the ground over a grid, what a body on it needs, and generated ground."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates, zoom

from deepphase.arrays import Array, short_repr
from deepphase.errors import ParameterError

# Values beyond these are mistakes of units.
_MAX_HEIGHT_M = 10_000.0
_MAX_SIZE_M = 100_000.0


@dataclass(frozen=True, eq=False)
class Heightmap:
    """Ground whose height is interpolated bilinearly between the points of a grid.

    Outside the grid the ground continues at the height of the nearest edge.

    Parameters
    ----------
    heights
        (rows, columns) metres; rows along +Z, columns along +X. One point is a plane.
    spacing_m
        Metres between neighbouring points.
    origin
        x and z in metres of the first point.
    name
        Name in tables and figures.
    notes
        What was assumed or corrected when the ground was read, one sentence each.

    Raises
    ------
    ParameterError
        If the heights are not a grid of finite metres, or the spacing is not above 0.
    """

    heights: Array
    spacing_m: float
    origin: tuple[float, float] = (0.0, 0.0)
    name: str = "ground"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        with np.errstate(over="ignore"):
            heights = np.ascontiguousarray(self.heights, np.float32)
        object.__setattr__(self, "heights", heights)
        fact, hint = "", ""
        if heights.ndim != 2 or not heights.size:
            fact = f"heights must have rows and columns, but have shape {heights.shape}"
            hint = "give an array with two axes"
        elif not np.isfinite(heights).all():
            row, column = np.argwhere(~np.isfinite(heights))[0]
            fact = f"the height at row {row}, column {column} is not finite"
        elif np.abs(heights).max() > _MAX_HEIGHT_M:
            fact = f"a height of {np.abs(heights).max():.6g} m is not possible"
            hint = f"at most {_MAX_HEIGHT_M:g} m; give another scale of the heights"
        elif not (isfinite(self.spacing_m) and self.spacing_m > 0):
            fact = f"a spacing of {self.spacing_m} m is not possible"
        elif max(heights.shape) * self.spacing_m > _MAX_SIZE_M:
            fact = f"there are {max(heights.shape)} points at {self.spacing_m:g} m"
            hint = f"at most {_MAX_SIZE_M:g} m; give another spacing"
        elif not all(isfinite(value) and abs(value) <= _MAX_SIZE_M for value in self.origin):
            fact = f"an origin at {self.origin} is not possible"
        if fact:
            raise ParameterError(f"{self.name}: {fact}", hint=hint)

    def __repr__(self) -> str:
        width, depth = self.size
        return short_repr(self, repr(self.name), f"{width:.3g} x {depth:.3g} m")

    @classmethod
    def centred(cls, heights: Array, spacing_m: float, name: str = "ground") -> Heightmap:
        """A heightmap whose middle is at the origin of the world."""
        rows, columns = np.shape(heights)
        origin = (-0.5 * (columns - 1) * spacing_m, -0.5 * (rows - 1) * spacing_m)
        return cls(heights, spacing_m, origin, name)

    @property
    def size(self) -> tuple[float, float]:
        """Metres along x and z."""
        rows, columns = self.heights.shape
        return (columns - 1) * self.spacing_m, (rows - 1) * self.spacing_m

    def at(self, places: Array) -> Array:
        """(...) metres: heights at places (..., 2), x and z in metres."""
        places = np.asarray(places, np.float64)
        grid = (places - np.array(self.origin)) / self.spacing_m
        rows = map_coordinates(
            self.heights,
            grid.reshape(-1, 2).T[::-1],
            output=np.float64,
            order=1,
            mode="nearest",
            prefilter=False,
        )
        return rows.reshape(places.shape[:-1])

    def turned_at(self, places: Array, centre: Array, cosine: float, sine: float) -> Array:
        """(...) metres: heights at places (..., 2) in axes at a centre (2,), turned by an angle."""
        x, z = places[..., 0], places[..., 1]
        return self.at(np.stack([cosine * x + sine * z, cosine * z - sine * x], axis=-1) + centre)

    def gradients(self, places: Array, width_m: float | None = None) -> Array:
        """(..., 2) rise in metres per metre along x and z at places (..., 2).

        `width_m`: distance of the two heights that are compared; by default two points of the grid.
        """
        half = 0.5 * (width_m or 2.0 * self.spacing_m)
        places = np.asarray(places, np.float64)
        rises = [
            (self.at(places + step) - self.at(places - step)) / (2.0 * half)
            for step in (np.array([half, 0.0]), np.array([0.0, half]))
        ]
        return np.stack(rises, axis=-1)

    def shifted(self, height_m: float) -> Heightmap:
        """The same ground, higher by some metres."""
        return Heightmap(
            self.heights + np.float32(height_m), self.spacing_m, self.origin, self.name, self.notes
        )

    def mirrored(self) -> Heightmap:
        """The ground under a mirrored motion: x becomes -x."""
        origin = (-self.origin[0] - self.size[0], self.origin[1])
        return Heightmap(self.heights[:, ::-1], self.spacing_m, origin, self.name, self.notes)


SIDE_M = 0.25
"""Metres from a path to the heights at its left and right (Holden et al. 2017, section 4.3)."""
SIDES = 3
"""Heights at each sample: left, centre, right."""

# The level of the ground is its mean along the facing, weighted by a Gaussian of this width.
_LEVEL_M = 0.3
_STEPS = np.linspace(-2.0, 2.0, 49)
_WEIGHTS = np.exp(-0.5 * _STEPS**2) / np.exp(-0.5 * _STEPS**2).sum()


def ground_level(ground: Heightmap, places: Array, directions: Array) -> Array:
    """(...) metres: the height that bodies at places are measured from.

    The mean of the ground in front of and behind a root, over about as much as a step, so that
    it rises evenly on stairs. The sides do not count: on a beam it is that of the beam.

    `places, directions` (..., 2) x and z in metres of roots, and unit vectors of their facings.
    """
    steps = _LEVEL_M * _STEPS[:, None] * np.asarray(directions, np.float64)[..., None, :]
    return ground.at(np.asarray(places, np.float64)[..., None, :] + steps) @ _WEIGHTS


def trajectory_heights(ground: Heightmap, places: Array, directions: Array, level: Array) -> Array:
    """(..., samples, 3) metres over the level: left, centre and right of each sample of paths.

    `places, directions` (..., samples, 2) x and z in metres, and unit vectors of the facing;
    `level` (...) metres, of `ground_level`.
    """
    places = np.asarray(places, np.float64)
    # The left of a body that faces +Z is +X.
    left = SIDE_M * np.stack([directions[..., 1], -directions[..., 0]], axis=-1)
    points = np.stack([places + left, places, places - left], axis=-2)
    return ground.at(points) - np.asarray(level)[..., None, None]


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
    low, high = np.array([x.min(), z.min()]), np.array([x.max(), z.max()])
    # 1.2 rocks per square metre.
    count = int(np.ceil(1.2 * np.prod(high - low)))
    for cx, cz in generator.uniform(low, high, (count, 2)):
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
