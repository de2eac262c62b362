"""Quality of generated motion: smoothness, foot skating, transitions, survival, means by speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import derivative_sizes, velocities
from deepphase.motion.resample import BANDS_HZ, low_passed

BLEND_S = 0.1
"""Time after a jump in seconds in which its blend is visible."""
# Bins with fewer frames say little; data at 60 Hz has this many in a second.
_MIN_FRAMES = 60
# Share of the frames whose speeds must occur in the data.
_MIN_COVERED = 0.5


def joint_accelerations(positions: Array, fps: float) -> Array:
    """(frames,) m/s^2: the largest acceleration of (frames, joints, 3) joints in each frame."""
    return derivative_sizes(positions, fps, order=2).max(axis=1)


def joint_jerks(positions: Array, fps: float) -> Array:
    """(frames,) m/s^3: mean over joints of the third derivative's size in each frame."""
    return derivative_sizes(positions, fps, order=3).mean(axis=1)


def below(name: str, edge_hz: float) -> str:
    """Name of a measure of what a low-pass at a frequency leaves of a motion."""
    return f"{name}_below_{edge_hz:g}_hz"


def jerks_in_bands(positions: Array, fps: float) -> dict[str, Array]:
    """``jerk`` by `joint_jerks`, and ``jerk_below_12_hz`` and so on, below each of `BANDS_HZ`.

    Noise of a capture, most of its jerk, lies above these frequencies: motion that has less jerk
    than the data may only have less noise.
    """
    positions = positions.astype(np.float64)
    return {"jerk": joint_jerks(positions, fps)} | {
        below("jerk", edge): joint_jerks(low_passed(positions, edge, fps), fps) for edge in BANDS_HZ
    }


def joint_rotation_rates(rotations: Array, fps: float) -> Array:
    """(frames - 1, joints) degrees per second: rotation rate of each joint.

    `rotations` (frames, joints, 4) quaternions. With local rotations a swinging arm counts once, at
    the shoulder; in the world or in root space it would count for every descendant. Starke et al.
    2022, table 2, which does not state space and unit.
    """
    if len(rotations) < 2:
        raise ParameterError(f"rotation rates need at least 2 frames, not {len(rotations)}")
    exact = quaternions.normalized(rotations.astype(np.float64))
    turns = quaternions.multiply(quaternions.conjugate(exact[:-1]), exact[1:])
    # The arc cosine of the real part is inaccurate for small angles.
    half = np.arctan2(np.linalg.norm(turns[..., :3], axis=-1), np.abs(turns[..., 3]))
    return np.degrees(2.0 * half) * fps


def near_marked(marked: Array, frames: int) -> Array:
    """(count,) bool: marked frames, the frame before each, and some frames after it."""
    near = np.array(marked, bool)
    for shift in range(1, min(frames, len(marked) - 1) + 1):
        near[shift:] |= marked[:-shift]
    near[:-1] |= marked[1:]
    return near


def foot_speeds(feet: Sequence[Array], fps: float) -> Array:
    """(frames - 1, feet) m/s over the ground of each foot's slowest point.

    A foot that rolls from heel to toe has a point at rest at any time, and does not slide. `feet`:
    for each foot (frames, points, 3) metres.
    """
    steps = [np.diff(points[..., ::2].astype(np.float64), axis=0) * fps for points in feet]
    return np.stack([np.linalg.norm(step, axis=-1).min(axis=1) for step in steps], axis=1)


def foot_skating(speeds: Array, largest: float) -> float:
    """Mean of v / v_max: speeds of feet in contact relative to the data's largest.

    Starke et al. 2022, table 3.
    """
    if not largest > 0:
        raise ParameterError(f"the largest contact speed must be above 0, not {largest} m/s")
    return float(np.mean(speeds) / largest) if len(speeds) else 0.0


def means_by_speed(speeds: Array, measures: Mapping[str, Array], width: float) -> dict[str, Any]:
    """Means in bins of speed from 0, 1, 2... times `width` m/s on, as plain values.

    `speeds` (frames,) m/s of the root. `measures`: name -> (frames,) values. Returns ``width``, and
    for each name a list with the mean of each bin, None in bins of fewer than 60 frames.
    """
    bins = (speeds / width).astype(np.int64)
    counts = np.bincount(bins)
    found: dict[str, Any] = {"width": width}
    for name, values in measures.items():
        sums = np.bincount(bins, values)
        found[name] = [
            round(float(total / count), 4) if count >= _MIN_FRAMES else None
            for total, count in zip(sums, counts, strict=True)
        ]
    return found


def ratio_at_speed(
    speeds: Array, values: Array, name: str, reference: Mapping[str, Any]
) -> float | None:
    """Mean of a measure over the mean that the data has at the same speeds.

    Frames at speeds that the data lacks are left out; None if they are more than half.
    """
    means = np.array([np.nan if each is None else each for each in reference[name]], np.float64)
    bins = (speeds / reference["width"]).astype(np.int64)
    expected = np.where(bins < len(means), means[np.minimum(bins, len(means) - 1)], np.nan)
    covered = np.isfinite(expected)
    if covered.mean() < _MIN_COVERED or not expected[covered].sum() > 0:
        return None
    return float(values[covered].sum() / expected[covered].sum())


def kinetic_energies(positions: Array, fps: float) -> Array:
    """(frames,) m^2/s^2: half the mean over (frames, joints, 3) joints of their squared speed."""
    speed = velocities(positions.astype(np.float64), fps)
    return 0.5 * np.einsum("fjc,fjc->f", speed, speed) / positions.shape[1]


def seconds_of(values: Array, fps: float) -> Array:
    """(seconds,) means of values (frames,) over whole seconds, without the remainder."""
    length = max(1, round(fps))
    whole = len(values) // length
    return np.asarray(values, np.float64)[: whole * length].reshape(whole, length).mean(axis=1)
