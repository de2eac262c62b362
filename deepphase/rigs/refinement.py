"""Refinement of controls by the Jacobian of their rig, as damped least squares."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.rigs.body_rig import BodyRig

_ITERATIONS = 10
# Root mean square of a joint's error at which a pose is done, metres.
_DONE_M = 2e-4
# The damping after a step that did not help, and after one that did.
_HARDER, _EASIER = 4.0, 0.7
# A pose whose steps do not help any more is left after this many of them; a step helps if it leaves
# less than this share of the error.
_TRIES, _HELPS = 3, 0.97
_BATCH = 128


def refined(
    rig: BodyRig,
    values: Array,
    targets: Array,
    *,
    columns: Array,
    scale: Array,
    damping: float,
    weights: Array | None = None,
) -> tuple[Array, Array]:
    """Values (poses, controls) whose joints are nearer to targets, and their positions.

    Each pose is refined on its own, from where it is: what the joints do not need stays as it was.
    The `columns` of the controls may move, in steps that are measured by their deviations `scale`;
    `damping` is in metres for a deviation. Joints with weight 0 are free.

    References
    ----------
    Holden 2017, equation 3.13 and algorithm 1. A step that leads away is taken back.
    """
    found = np.clip(values, rig.lower, rig.upper)
    positions = np.empty((len(values), len(rig.joints), 3))
    importance = np.repeat(np.sqrt(np.ones(len(rig.joints)) if weights is None else weights), 3)
    for start in range(0, len(values), _BATCH):
        part = slice(start, start + _BATCH)
        found[part], positions[part] = _refine(
            rig, found[part], targets[part], columns, scale, damping, importance
        )
    return found, positions


def _refine(
    rig: BodyRig,
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
    done_at = _DONE_M**2 / 3.0 * np.square(importance).mean()
    easing = np.full(poses, damping)
    failures = np.zeros(poses, np.int64)
    moved = np.ones(poses, bool)
    derivatives = np.empty((poses, goal.shape[1], len(columns)))
    diagonal = np.arange(len(importance))
    for _ in range(_ITERATIONS):
        rows = np.flatnonzero((errors > done_at) & (failures < _TRIES))
        if not len(rows):
            break
        again = rows[moved[rows]]
        if len(again):
            derivatives[again] = rig.jacobian(values[again], columns, positions=places[again])
        weighted = derivatives[rows] * importance[:, None] * scale
        square = weighted @ weighted.swapaxes(1, 2)
        square[:, diagonal, diagonal] += easing[rows, None] ** 2
        missing = (goal[rows] - places[rows]) * importance
        steps = weighted.swapaxes(1, 2) @ np.linalg.solve(square, missing[..., None])
        trial = values[rows].copy()
        trial[:, columns] += scale * steps[..., 0]
        trial = np.clip(trial, rig.lower, rig.upper)
        reached = rig.evaluate(trial).reshape(len(rows), -1)
        after = np.square((goal[rows] - reached) * importance).mean(axis=1)
        better = after < errors[rows]
        helps = after <= _HELPS * errors[rows]
        values[rows[better]], places[rows[better]] = trial[better], reached[better]
        errors[rows[better]] = after[better]
        moved[rows] = better
        failures[rows] = np.where(helps, 0, failures[rows] + 1)
        easing[rows] *= np.where(better, _EASIER, _HARDER)
    return values, places.reshape(poses, -1, 3)
