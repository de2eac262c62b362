"""Few keys for curves of controls, so that an animator can edit them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.errors import ParameterError
from deepphase.rigs.keys import RigKeys, hermite, key_groups, key_slopes
from deepphase.rigs.rig_function import RigFunction

# Poses at which the Jacobian of the rig is computed, and rounds in which keys are added.
_JACOBIAN_POSES, _ROUNDS = 5, 40
# Tolerance of each control in the first pass, as a multiple of the allowed error of joints.
_INITIAL_TOLERANCE = 2.0
# In a frame with too large an error, every group gets a key whose deviation is at least this share
# of the largest one.
_KEYED_SHARE = 0.3
# Lower bound in metres of how far a unit of a control moves joints; the others keep few keys.
_LEAST_M = 0.01


def thinned_rows(values: Array, tolerances: Array) -> Array:
    """Frames of the keys between which cubic curves keep to values within tolerances.

    A segment is split at the frame with the largest deviation (Douglas and Peucker 1973). All
    columns have the same key frames.

    Parameters
    ----------
    values : (frames, columns)
    tolerances : (columns,)
        In the units of the columns.

    Returns
    -------
    (keys,) with the first and the last frame.
    """
    last = len(values) - 1
    slopes = key_slopes(values)
    kept, waiting = {0, last}, [(0, last)]
    while waiting:
        first, end = waiting.pop()
        if end - first < 2:
            continue
        ends = np.array([first, end])
        curve = hermite(ends - first, values[ends], slopes[ends], end - first + 1)
        deviation = (np.abs(curve - values[first : end + 1]) / tolerances).max(axis=1)
        worst = int(np.argmax(deviation[1:-1])) + 1
        if deviation[worst] > 1.0:
            kept.add(first + worst)
            waiting += [(first, first + worst), (first + worst, end)]
    return np.array(sorted(kept), np.int64)


def thinned_keys(keys: RigKeys, rig: RigFunction, error_m: float) -> RigKeys:
    """Keys at few frames, whose curves move no joint of the rig by more than an error.

    Controls of one bone or handle have keys at the same frames. Each group is first thinned on its
    own, with a tolerance from the Jacobian of the rig. Then, in every run of frames in which a
    joint is farther off than `error_m`, the groups that deviate most get another key.

    Parameters
    ----------
    error_m
        Largest distance of a joint from its place with all keys, metres.

    Raises
    ------
    ParameterError
        If the error is not positive, or the rig lacks a control.
    """
    if not (np.isfinite(error_m) and error_m > 0):
        raise ParameterError(
            f"an error of keys must be positive, not {error_m} m",
            hint="give a positive length in metres",
        )
    values = keys.values_of(rig)
    joints = rig.evaluate(values)
    poses = np.unique(np.linspace(0, len(values) - 1, _JACOBIAN_POSES).astype(np.int64))
    jacobians = rig.jacobian(values[poses], positions=joints[poses])
    reach = np.linalg.norm(
        jacobians.reshape(len(poses), len(rig.joints), 3, len(rig.controls)), axis=2
    ).max(axis=(0, 1))
    columns = np.array([rig.index(name) for name in keys.names])
    reach = np.maximum(reach[columns], _LEAST_M)
    groups = key_groups(keys.names)
    rows = {
        name: thinned_rows(keys.values[:, own], _INITIAL_TOLERANCE * error_m / reach[own])
        for name, own in groups
    }
    ground_rows = thinned_rows(keys.ground, np.full(4, error_m))
    for _ in range(_ROUNDS):
        thinned = replace(keys, rows=rows, placement_rows=ground_rows)
        positions = rig.evaluate(thinned.values_of(rig))
        errors = np.linalg.norm(positions - joints, axis=-1).max(axis=1)
        if errors.max() <= error_m:
            break
        deviations = np.abs(thinned.drawn - keys.values) * reach
        of_group = np.stack([deviations[:, own].max(axis=1) for _, own in groups], axis=1)
        for first, end in true_runs(errors > error_m):
            frame = first + int(np.argmax(errors[first:end]))
            needs_key = of_group[frame] >= _KEYED_SHARE * of_group[frame].max()
            for (name, _), needed in zip(groups, needs_key, strict=True):
                if needed:
                    rows[name] = np.union1d(rows[name], frame)
    return thinned
