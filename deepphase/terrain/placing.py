"""Made ground under motion that was captured on a flat floor: places where the feet stand well.

Motion on a flat floor can be laid on any ground. Of many places of a made ground, the best one is
where feet stand on even parts of it, swinging feet are clear of it, and no step is too high; the
counterpart of the errors of Holden, Komura and Saito 2017 (section 4.2), whose ground is under
feet that rise and fall themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.terrain.foot_track import FootTrack
from deepphase.terrain.heightmap import Heightmap

# Every so many frames a second are compared.
_FPS = 15.0
# Beside the foot, where its sole must be on the ground as well, metres.
_ASIDE_M = 0.04
# Steeper ground, m/m, and steps that are higher than this, metres, cost.
_MAX_SLOPE, _MAX_STEP_M = 0.45, 0.3
# The least rise of the ground under contacts: its standard deviation in metres.
_LEAST_RISE_M = 0.03


def best_place(
    track: FootTrack,
    ground: Heightmap,
    *,
    candidates: int = 64,
    spacing_m: float = 0.04,
    margin_m: float = 1.5,
    seed: int = 0,
) -> Heightmap:
    """The part of a ground under a clip, out of random places and turns of it.

    Returns ground in the clip's places, whose mean height at contacts is 0. Raises ParameterError
    if the ground would be too large.
    """
    low, grid = track.grid(spacing_m, margin_m)
    high = track.places.max(axis=(0, 1)) + margin_m
    generator = np.random.default_rng(seed)
    middle, size = 0.5 * (low + high), np.array(ground.size)
    room = np.maximum(0.5 * (size - np.linalg.norm(high - low)), 0.0)
    centres = np.array(ground.origin) + 0.5 * size + generator.uniform(-room, room, (candidates, 2))
    angles = generator.uniform(-np.pi, np.pi, candidates)
    steps = _Steps.from_track(track, middle)
    found = [
        steps.cost(ground.turned_at(steps.points, centre, np.cos(angle), np.sin(angle)))
        for centre, angle in zip(centres, angles, strict=True)
    ]
    costs, rises = np.array(found).T
    costs = np.where(rises < min(_LEAST_RISE_M, rises.max()), np.inf, costs)
    best = int(np.argmin(costs))
    cosine, sine = np.cos(angles[best]), np.sin(angles[best])
    heights = ground.turned_at(grid - middle, centres[best], cosine, sine)
    local = Heightmap(heights, spacing_m, (float(low[0]), float(low[1])), ground.name)
    standing = track.places[track.contacts]
    under = standing if len(standing) else track.places
    return local.shifted(-float(local.at(under).mean()))


@dataclass(frozen=True, eq=False)
class _Steps:
    """Points of the feet, as far as their cost needs them."""

    # (5, feet, frames, 2) metres: heel, middle, toe, and beside the middle at both sides.
    points: Array
    lengths: Array  # (feet, frames) metres from heel to toe
    stands: Array  # (feet, frames) bool
    clear: Array  # (feet, frames) metres of the lower one of heel and toe over the floor

    @classmethod
    def from_track(cls, track: FootTrack, middle: Array) -> _Steps:
        """Of some frames of a track, relative to a place (2,)."""
        step = max(1, round(track.fps / _FPS))
        places = (track.places[::step] - middle).swapaxes(0, 1)
        heel, toe = places[::2], places[1::2]
        along = toe - heel
        lengths = np.linalg.norm(along, axis=-1)
        aside = np.stack([along[..., 1], -along[..., 0]], axis=-1)
        aside *= (_ASIDE_M / np.maximum(lengths, 1e-3))[..., None]
        between = 0.5 * (heel + toe)
        contacts, heights = track.contacts[::step].T, track.heights[::step].T
        return cls(
            np.stack([heel, between, toe, between + aside, between - aside]),
            lengths,
            contacts[::2] | contacts[1::2],
            np.minimum(heights[::2], heights[1::2]),
        )

    def cost(self, ground: Array) -> tuple[float, float]:
        """Mean cost in m2 of heights at `points`, and their standard deviation under contacts."""
        heel, between, toe, left, right = ground
        uneven = np.square(between - 0.5 * (heel + toe))
        uneven += np.square(0.5 * (left + right) - between)
        along = (toe - heel) / np.maximum(self.lengths, 0.1)
        slope = np.hypot(along, (left - right) / (2.0 * _ASIDE_M))
        steep = np.square(0.2 * np.maximum(slope - _MAX_SLOPE, 0.0))
        highest = ground[:3].max(axis=0)
        levels = np.stack(
            [_held(each, stands) for each, stands in zip(highest, self.stands, strict=True)]
        )
        # A swinging foot clears what is below the higher one of its two stances.
        above = np.maximum(highest - levels - np.maximum(self.clear, 0.0), 0.0)
        high = np.square(np.maximum(np.ptp(levels, axis=0) - _MAX_STEP_M, 0.0)).mean()
        total = np.where(self.stands, uneven + steep, np.square(above)).mean() + high
        return float(total), float(np.std(levels))


def _held(values: Array, stands: Array) -> Array:
    """(frames,) values of stances; while a foot swings, the higher one of its two."""
    held = values.copy()
    for begin, end in true_runs(~stands):
        around = [values[frame] for frame in (begin - 1, end) if 0 <= frame < len(values)]
        held[begin:end] = max(around, default=0.0)
    return held
