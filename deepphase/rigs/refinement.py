"""Refinement of controls by the Jacobian of their rig, as damped least squares."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.rigs.rig_function import RigFunction

_ITERATIONS = 10
# Root mean square of a joint's error at which a pose is done, metres.
DONE_M = 2e-4
# The damping after a step that did not help, and after one that did.
_HARDER, _EASIER = 4.0, 0.7
# A pose whose steps do not help any more is left after this many of them.
_TRIES = 3
_BATCH = 128


def refined(
    rig: RigFunction,
    values: Array,
    targets: Array,
    *,
    columns: Array,
    scale: Array,
    damping: float,
    weights: Array | None = None,
) -> tuple[Array, Array]:
    """Controls whose joints are nearer to targets.

    Each pose is refined on its own, from where it is: what the joints do not need stays as it was.

    Parameters
    ----------
    values : (poses, controls)
        To begin with.
    targets : (poses, joints, 3) metres
    columns : (used,)
        Controls that may move.
    scale : (used,)
        Their deviations, in which steps are measured.
    damping
        In metres for a deviation.
    weights : (joints,), optional
        Joints with weight 0 are free.

    Returns
    -------
    values : (poses, controls)
        Within the limits.
    positions : (poses, joints, 3)

    References
    ----------
    Holden 2017, equation 3.13 and algorithm 1. A step that leads away is taken back.
    """
    found = np.clip(values, rig.lower, rig.upper)
    positions = np.empty((len(values), len(rig.joints), 3))
    importance = np.ones(len(rig.joints)) if weights is None else np.sqrt(weights)
    rows_of = np.repeat(importance, 3)
    for start in range(0, len(values), _BATCH):
        part = slice(start, min(start + _BATCH, len(values)))
        found[part], positions[part] = _refine(
            rig, found[part], targets[part], columns, scale, damping, rows_of
        )
    return found, positions


def _refine(
    rig: RigFunction,
    values: Array,
    targets: Array,
    columns: Array,
    scale: Array,
    damping: float,
    importance: Array,
) -> tuple[Array, Array]:
    poses = len(values)
    goal = targets.reshape(poses, -1)
    places = rig.evaluate(values).reshape(poses, -1)
    errors = np.square((goal - places) * importance).mean(axis=1)
    done_at = DONE_M**2 / 3.0 * np.square(importance).mean()
    easing = np.full(poses, damping)
    failures = np.zeros(poses, np.int64)
    moved = np.ones(poses, bool)
    derivatives = np.empty((poses, goal.shape[1], len(columns)))
    for _ in range(_ITERATIONS):
        rows = np.flatnonzero((errors > done_at) & (failures < _TRIES))
        if not len(rows):
            break
        again = rows[moved[rows]]
        if len(again):
            derivatives[again] = rig.jacobian(values[again], columns, positions=places[again])
        weighted = derivatives[rows] * importance[:, None] * scale
        square = weighted @ weighted.swapaxes(1, 2)
        square[:, np.arange(square.shape[1]), np.arange(square.shape[1])] += easing[rows, None] ** 2
        wanted = (goal[rows] - places[rows]) * importance
        steps = np.linalg.solve(square, wanted[..., None])
        trial = values[rows].copy()
        trial[:, columns] += scale * (weighted.swapaxes(1, 2) @ steps)[..., 0]
        trial = np.clip(trial, rig.lower, rig.upper)
        there = rig.evaluate(trial).reshape(len(rows), -1)
        after = np.square((goal[rows] - there) * importance).mean(axis=1)
        better = after < errors[rows]
        small = better & (after > 0.97 * errors[rows])
        values[rows[better]], places[rows[better]] = trial[better], there[better]
        errors[rows[better]] = after[better]
        moved[rows] = better
        failures[rows] = np.where(better & ~small, 0, failures[rows] + 1)
        easing[rows] *= np.where(better, _EASIER, _HARDER)
    return values, places.reshape(poses, -1, 3)
