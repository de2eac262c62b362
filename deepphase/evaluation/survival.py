"""Survival of generated motion: kinetic energy, limb lengths and frozen seconds."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.kinematics import velocities


def kinetic_energies(positions: Array, fps: float) -> Array:
    """(frames,) m^2/s^2: kinetic energy per kilogram, for joints of equal mass.

    Half the mean over joints of the squared speed.

    Parameters
    ----------
    positions : (frames, joints, 3)
        Metres, in the world.
    """
    speed = velocities(positions.astype(np.float64), fps)
    return 0.5 * np.einsum("fjc,fjc->f", speed, speed) / positions.shape[1]


def shares_of_band(values: Array, low: float, high: float) -> tuple[float, float, float]:
    """Shares of values below, inside and above a band; they add up to 1."""
    values = np.asarray(values)
    if not values.size or not low <= high:
        raise ParameterError(
            "there must be at least one value, and low must not exceed high; there are "
            f"{values.size} values, and the band is from {low} to {high}"
        )
    below, above = float((values < low).mean()), float((values > high).mean())
    return below, 1.0 - below - above, above


def limb_length_change(positions: Array, parents: Array, lengths: Array) -> float:
    """Largest relative change of a limb's length.

    Parameters
    ----------
    positions : (frames, joints, 3)
        Metres.
    parents : (joints,)
        Parent of each joint, -1 for none.
    lengths : (joints,)
        Metres from each joint to its parent in the skeleton. Limbs of length 0 are left out.
    """
    joints = np.flatnonzero((np.asarray(parents) >= 0) & (np.asarray(lengths) > 1e-6))
    if not joints.size:
        return 0.0
    limbs = positions[:, joints] - positions[:, np.asarray(parents)[joints]]
    measured = np.linalg.norm(limbs.astype(np.float64), axis=-1)
    return float(np.abs(measured / np.asarray(lengths)[joints] - 1.0).max())


def seconds_of(values: Array, fps: float) -> Array:
    """(seconds,) means of values (frames,) over whole seconds, without the remainder."""
    length = max(1, round(fps))
    whole = len(values) // length
    return np.asarray(values, np.float64)[: whole * length].reshape(whole, length).mean(axis=1)


def frozen_share(
    speeds: Array, desired: Array, fps: float, *, still: float, moving: float
) -> float:
    """Share of the seconds with a desired movement in which the body is still; 0 without any.

    Parameters
    ----------
    speeds : (frames,)
        m/s: mean speed of the joints relative to the root, which is 0 for a body that glides
        without a step.
    desired : (frames,)
        m/s: desired speed over the ground.
    still, moving
        m/s: averaged over a second, the body is still below the first, and movement is desired
        above the second.
    """
    required = seconds_of(desired, fps) > moving
    if not required.any():
        return 0.0
    return float((seconds_of(speeds, fps)[required] < still).mean())
