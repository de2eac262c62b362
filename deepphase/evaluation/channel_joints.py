"""Relation of phase channels to the joints of the body."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.phase.parameters import PhaseParameters

# Joints slower than this share of the fastest joint count as still, and so do parts of the body
# that are slower than this share of the whole: what a channel predicts of them is noise.
_STILL = 0.02


def joints_followed(parameters: PhaseParameters, signals: Array) -> Array:
    """Share of each joint's velocity that a single channel explains by linear regression.

    The velocities of all joints, `signals` (frames, 3 * joints) m/s, are regressed on the channel's
    two manifold coordinates. The share, (channels, joints) from 0 to 1, is near 1 for a joint that
    moves at the channel's frequency with any lag, near 0 at another one, and 0 for a still joint.
    """
    frames, channels = parameters.phase.shape
    if signals.ndim != 2 or len(signals) != frames or signals.shape[1] % 3:
        raise ParameterError(f"signals must have shape ({frames}, 3 * joints), not {signals.shape}")
    if frames < 4:
        raise ParameterError(
            f"a regression on a channel needs more than {frames} frames",
            hint="choose a longer clip, or a model with a shorter window",
        )
    moved = signals.astype(np.float64)
    moved -= moved.mean(0)
    pairs = parameters.manifold().astype(np.float64)
    pairs -= pairs.mean(0)
    # The normal equations of all channels at once, (channels, 2, 2) and (channels, 2, signals).
    own = pairs.reshape(frames, channels, 2)
    gram = np.einsum("fci,fcj->cij", own, own)
    cross = (pairs.T @ moved).reshape(channels, 2, -1)
    explained = ((np.linalg.pinv(gram, hermitian=True) @ cross) * cross).sum(1)
    variance, moves = _by_joint(np.square(moved).sum(0))
    shares = np.zeros((channels, len(moves)))
    shares[:, moves] = explained.reshape(channels, -1, 3).sum(-1)[:, moves] / variance[moves]
    return shares.clip(0.0, 1.0)


def followed_parts(shares: Array, energy: Array, parts: Sequence[str]) -> dict[str, Array]:
    """The shares of joints averaged over parts of the body, weighted by the joints' energy.

    Of `joints_followed`, `joint_energy` and `body_parts`. Returns part -> (channels,) share of the
    part's movement; still parts are left out.
    """
    gathered = {}
    for part in dict.fromkeys(parts):
        inside = np.array([own == part for own in parts])
        total = float(energy[inside].sum())
        if total > _STILL**2 * float(energy.sum()):
            gathered[part] = shares[:, inside] @ energy[inside] / total
    return gathered


def part_energy(energy: Array, parts: Sequence[str]) -> dict[str, float]:
    """Part of the body -> its share of the energy of all joints, 0 to 1."""
    whole = max(float(energy.sum()), 1e-12)
    return {
        part: float(energy[[own == part for own in parts]].sum()) / whole
        for part in dict.fromkeys(parts)
    }


def joint_energy(signals: Array) -> Array:
    """(joints,) squared deviation of each joint's velocity from its mean, summed over frames."""
    moved = signals.astype(np.float64)
    return _by_joint(np.square(moved - moved.mean(0)).sum(0))[0]


def _by_joint(values: Array) -> tuple[Array, Array]:
    """(joints,) sums of three values each, and whether each joint moves."""
    joints = values.reshape(-1, 3).sum(1)
    return joints, joints > _STILL**2 * max(float(joints.max(initial=0.0)), 1e-12)
