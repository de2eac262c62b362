"""Whether made motion stays alive: of the data's energy, of one length of limb, moving."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.kinematics import velocities


def kinetic_energies(positions: Array, fps: float) -> Array:
    """(frames,) m^2/s^2: kinetic energy a kilogram, of joints of equal mass.

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
        raise ParameterError(f"{values.size} values beside a band from {low} to {high}")
    below, above = float((values < low).mean()), float((values > high).mean())
    return below, 1.0 - below - above, above


def limb_length_change(positions: Array, parents: Array, lengths: Array) -> float:
    """Largest change of a limb's length as a share of it.

    Parameters
    ----------
    positions : (frames, joints, 3)
        Metres.
    parents : (joints,)
        The joint that each hangs from, -1 for none.
    lengths : (joints,)
        Metres from each joint to its parent, as the skeleton has them. Limbs without a length are
        left out.
    """
    joints = np.flatnonzero((np.asarray(parents) >= 0) & (np.asarray(lengths) > 1e-6))
    if not joints.size:
        return 0.0
    limbs = positions[:, joints] - positions[:, np.asarray(parents)[joints]]
    found = np.linalg.norm(limbs.astype(np.float64), axis=-1)
    return float(np.abs(found / np.asarray(lengths)[joints] - 1.0).max())


def seconds_of(values: Array, fps: float) -> Array:
    """(seconds,) means of values (frames,) over whole seconds; what is left at the end is not."""
    length = max(1, round(fps))
    whole = len(values) // length
    return np.asarray(values, np.float64)[: whole * length].reshape(whole, length).mean(axis=1)


def frozen_share(
    speeds: Array, desired: Array, fps: float, *, still: float, moving: float
) -> float:
    """Share of the seconds with a wish to move in which the body hardly moves; 0 without any.

    Parameters
    ----------
    speeds : (frames,)
        m/s: mean speed of the joints, seen from the root: a body that glides without a step
        moves none of them.
    wished : (frames,)
        m/s: the wished speed over the ground.
    still, moving
        m/s: below and above, on a second's average, the body hardly moves and the wish does.
    """
    asked = seconds_of(desired, fps) > moving
    if not asked.any():
        return 0.0
    return float((seconds_of(speeds, fps)[asked] < still).mean())
