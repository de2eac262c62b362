"""Ground that fits a motion: patches of heightmaps under gait cycles, and their refinement.

The best of many patches is found for each gait cycle by the error of Holden, Komura and Saito 2017
(equations 1 to 4), and deformed by radial basis functions with a linear kernel, so that the feet
touch it at their contacts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numba import float32, float64, int64, void
from scipy.interpolate import RBFInterpolator
from scipy.ndimage import distance_transform_edt
from scipy.spatial import cKDTree

from deepphase.arrays import Array, compiled, true_runs
from deepphase.errors import ParameterError
from deepphase.terrain.foot_track import FootTrack
from deepphase.terrain.heightmap import MADE_GROUNDS, Heightmap, made_ground
from deepphase.work import Progress, reported

# Patches that are compared, and that are kept for each cycle.
_PATCHES, _BEST = 20_000, 10
# Length of a patch, of the paper.
_PATCH_M = 3.0
# Made ground, several of each kind.
_GROUND_M, _GROUNDS_EACH = 24.0, 2
# Feet of a jump are at most this far above the ground, metres.
_JUMP_REACH_M = 0.3
# A cycle in which no foot is in contact for this long is a jump, seconds.
_FLIGHT_S = 0.25
# Contacts nearer to each other than this are one contact, metres.
_SAME_PLACE_M = 0.02


@dataclass(frozen=True, eq=False)
class PatchLibrary:
    """Patches of ground at random places and turns of heightmaps."""

    grounds: tuple[Heightmap, ...]  # The heightmaps
    # (patches, 4) x and z of the centre in its heightmap, cosine and sine of the turn.
    patches: Array
    ground_of: Array  # (patches,) index of each patch's heightmap, rising

    def __len__(self) -> int:
        return len(self.patches)

    @classmethod
    def from_grounds(
        cls, grounds: tuple[Heightmap, ...], count: int = _PATCHES, seed: int = 0
    ) -> PatchLibrary:
        """Patches of these heightmaps, about as many of each."""
        generator = np.random.default_rng(seed)
        ground_of = np.sort(np.arange(count) % len(grounds))
        angles = generator.uniform(-np.pi, np.pi, count)
        patches = np.empty((count, 4))
        patches[:, 2], patches[:, 3] = np.cos(angles), np.sin(angles)
        # The corners of a turned patch stay on its heightmap, if it is large enough.
        room = 0.5 * np.sqrt(2.0) * _PATCH_M
        for index, ground in enumerate(grounds):
            own = ground_of == index
            for axis, size in enumerate(ground.size):
                half = max(0.5 * size - room, 0.0)
                middle = ground.origin[axis] + 0.5 * size
                patches[own, axis] = middle + generator.uniform(-half, half, own.sum())
        return cls(tuple(grounds), patches, ground_of)

    @classmethod
    def made(
        cls, count: int = _PATCHES, seed: int = 0, kinds: Iterable[str] = tuple(MADE_GROUNDS)
    ) -> PatchLibrary:
        """Patches of made ground of these kinds."""
        grounds = tuple(
            made_ground(name, seed=seed + number, size_m=_GROUND_M)
            for name in kinds
            for number in range(_GROUNDS_EACH)
        )
        return cls.from_grounds(grounds, count, seed)

    @classmethod
    def level(cls) -> PatchLibrary:
        """One level patch: ground that is fitted with it knows the footsteps alone."""
        return cls.from_grounds((Heightmap(np.zeros((1, 1)), 1.0, name="level"),), 1)

    def at(self, patch: int, places: Array) -> Array:
        """(...) metres: heights of a patch at places (..., 2) relative to its centre."""
        *centre, cosine, sine = self.patches[patch]
        ground = self.grounds[int(self.ground_of[patch])]
        return ground.turned_at(places, np.array(centre), cosine, sine)


@dataclass(frozen=True, eq=False)
class FittedGround:
    """Ground under one gait cycle: a patch, deformed so that the feet touch it."""

    library: PatchLibrary  # The patches
    patch: int  # Index of the patch
    centre: Array  # (2,) metres: x and z of the patch's centre
    height: float  # Metres added to the patch
    # Down, up and over, m2 on average over frames and points, before the deformation.
    errors: tuple[float, float, float]
    # Interpolates what is added at places (n, 2); None without contacts.
    deformation: RBFInterpolator | None

    def at(self, places: Array) -> Array:
        """(...) metres: heights at places (..., 2), x and z in metres of the clip."""
        places = np.asarray(places, np.float64)
        near = places - self.centre
        heights = self.height + self.library.at(self.patch, near)
        if self.deformation is not None:
            heights = heights + self.deformation(near.reshape(-1, 2)).reshape(heights.shape)
        return heights


@compiled(
    void(
        float32[:, ::1],
        float64,
        float64[::1],
        float64[:, ::1],
        float64[:, ::1],
        float64[::1],
        float64[::1],
        int64,
        float64,
        float64[:, ::1],
    ),
    error_model="numpy",
)
def patch_errors(heights, spacing, origin, patches, places, feet, contacts, jump, reach, out):
    """Fill the errors of patches of one heightmap (Holden et al. 2017, equations 1 to 4).

    `heights` (rows, columns) metres of the heightmap; `patches` (patches, 4) x and z of the centre,
    cosine and sine of the turn; `places` (points, 2) metres of foot points relative to the mean
    place of contacts; `feet` (points,) metres: heights of the soles relative to their mean at
    contacts; `contacts` (points,) 1 at contacts, else 0; `out` (patches, 4) errors down, up and
    over, summed over points, and metres by which the patch is lowered so that its mean height at
    contacts is 0.
    """
    rows, columns = heights.shape
    count = places.shape[0]
    ground = np.empty(count)
    for p in range(patches.shape[0]):
        total, weight = 0.0, 0.0
        for i in range(count):
            x = patches[p, 0] + patches[p, 2] * places[i, 0] + patches[p, 3] * places[i, 1]
            z = patches[p, 1] - patches[p, 3] * places[i, 0] + patches[p, 2] * places[i, 1]
            u = min(max((x - origin[0]) / spacing, 0.0), columns - 1.0)
            v = min(max((z - origin[1]) / spacing, 0.0), rows - 1.0)
            a, b = min(int(u), max(columns - 2, 0)), min(int(v), max(rows - 2, 0))
            c, d = min(a + 1, columns - 1), min(b + 1, rows - 1)
            low = heights[b, a] + (heights[b, c] - heights[b, a]) * (u - a)
            high = heights[d, a] + (heights[d, c] - heights[d, a]) * (u - a)
            ground[i] = low + (high - low) * (v - b)
            total += contacts[i] * ground[i]
            weight += contacts[i]
        lowered = total / weight if weight > 0.0 else 0.0
        down, up, over = 0.0, 0.0, 0.0
        for i in range(count):
            gap = ground[i] - lowered - feet[i]
            down += contacts[i] * gap * gap
            free = 1.0 - contacts[i]
            if gap > 0.0:
                up += free * gap * gap
            elif jump == 1 and -gap > reach:
                over += free * (-gap - reach) ** 2
        out[p, 0], out[p, 1], out[p, 2], out[p, 3] = down, up, over, lowered


def fit_cycle(
    track: FootTrack, begin: int, end: int, library: PatchLibrary, best: int = _BEST
) -> list[FittedGround]:
    """The best grounds under frames begin to end - 1, best first."""
    places, heights, standing, centre, level = _stance(track, begin, end)
    near = np.ascontiguousarray(places - centre)
    flights = true_runs(np.asarray(~track.contacts[begin:end].any(axis=1)))
    longest = max((stop - start for start, stop in flights), default=0)
    out = np.empty((len(library), 4))
    for index, ground in enumerate(library.grounds):
        own = np.flatnonzero(library.ground_of == index)
        part = np.empty((own.size, 4))
        patch_errors(
            ground.heights,
            ground.spacing_m,
            np.array(ground.origin),
            np.ascontiguousarray(library.patches[own]),
            near,
            heights - level,
            standing.astype(np.float64),
            int(longest >= _FLIGHT_S * track.fps),
            _JUMP_REACH_M,
            part,
        )
        out[own] = part
    total = out[:, :3].sum(axis=1)
    chosen = np.argpartition(total, min(best, len(total)) - 1)[:best]
    chosen = chosen[np.argsort(total[chosen], kind="stable")]
    fits = []
    for patch in chosen.tolist():
        lowered = float(out[patch, 3])
        under = library.at(patch, near[standing]) - lowered + level
        down, up, over = (out[patch, :3] / len(near)).tolist()
        fits.append(
            FittedGround(
                library,
                patch,
                centre,
                level - lowered,
                (down, up, over),
                _deformation(near[standing], heights[standing] - under),
            )
        )
    return fits


def grounds_of_clip(
    track: FootTrack,
    library: PatchLibrary,
    count: int,
    *,
    spacing_m: float = 0.04,
    margin_m: float = 1.0,
    name: str = "ground",
    progress: Progress | None = None,
) -> list[Heightmap]:
    """Grounds under a whole clip: the best fit of each gait cycle, the second best, and so on.

    Each place has the ground of the cycle whose contacts are nearest.

    Raises ParameterError if there are not as many patches as grounds, or the ground would be too
    large.
    """
    if not 1 <= count <= len(library):
        raise ParameterError(
            f"there are {count} grounds of {len(library)} patches",
            hint="ask for one ground or more, and at most as many as there are patches",
        )
    low, grid = track.grid(spacing_m, margin_m)
    totals, weights = np.zeros((count, *grid.shape[:2])), np.zeros(grid.shape[:2])
    cycles = track.cycles()
    for begin, end in reported(progress, "fitting ground", cycles, len(cycles)):
        fits = fit_cycle(track, begin, end, library, count)
        places = track.places[begin:end].reshape(-1, 2)
        part = tuple(
            slice(
                int((places[:, axis].min() - margin_m - low[axis]) / spacing_m),
                int((places[:, axis].max() + margin_m - low[axis]) / spacing_m) + 2,
            )
            for axis in (1, 0)
        )
        contacts = track.contacts[begin:end].ravel()
        away, _ = cKDTree(places[contacts] if contacts.any() else places).query(grid[part])
        weight = 1.0 / (away**2 + _SAME_PLACE_M**2)
        for total, fit in zip(totals, fits, strict=True):
            total[part] += weight * fit.at(grid[part])
        weights[part] += weight
    missing = weights == 0
    nearest = distance_transform_edt(missing, return_distances=False, return_indices=True)
    origin = (float(low[0]), float(low[1]))
    means = (total / np.where(missing, 1.0, weights) for total in totals)
    return [Heightmap(mean[tuple(nearest)], spacing_m, origin, name) for mean in means]


def _stance(track: FootTrack, begin: int, end: int) -> tuple[Array, Array, Array, Array, float]:
    """Places (points, 2), heights and contacts (points,) of frames, and the contacts' means.

    Where nothing is in contact, the lowest fifth of the points is.
    """
    places = track.places[begin:end].reshape(-1, 2)
    heights = track.heights[begin:end].ravel()
    contacts = track.contacts[begin:end].ravel()
    standing = contacts if contacts.any() else heights <= np.percentile(heights, 20)
    return places, heights, standing, places[standing].mean(axis=0), float(heights[standing].mean())


def _deformation(places: Array, residuals: Array) -> RBFInterpolator | None:
    """Interpolation of what the ground lacks at contacts (points, 2), linear with distance."""
    if not len(places):
        return None
    # Frames of one stance are one contact: coincident points have no solution.
    cells = np.round(places / _SAME_PLACE_M).astype(np.int64)
    _, inverse, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    mean_places = np.stack(
        [np.bincount(inverse, places[:, axis]) / counts for axis in (0, 1)], axis=1
    )
    mean_residuals = np.bincount(inverse, residuals) / counts
    return RBFInterpolator(mean_places, mean_residuals, kernel="linear", degree=0)
