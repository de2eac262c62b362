"""Few keys for curves of controls, so that an animator can edit them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.errors import ParameterError
from deepphase.rigs.hermite import hermite, key_slopes
from deepphase.rigs.keys import RigKeys, key_groups
from deepphase.rigs.rig_function import RigFunction

# Poses at which derivatives of the rig are looked at, and rounds in which keys are added.
_POSES, _STEPS = 5, 40
# Tolerance of each control at first, as a share of the error of joints; groups get a key in a frame
# that miss this share of what the worst one does.
_FIRST, _BLAMED = 2.0, 0.3
# Metres that a control moves joints at least, in its unit: others keep few keys in any case.
_LEAST_M = 0.01


def thinned_rows(values: Array, tolerances: Array) -> Array:
    """Frames of the keys between which cubic curves keep to values within tolerances.

    A stretch is divided where the curve misses it most (Douglas and Peucker 1973). All columns get
    the same keys.

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
        made = hermite(ends - first, values[ends], slopes[ends], end - first + 1)
        missed = (np.abs(made - values[first : end + 1]) / tolerances).max(axis=1)
        worst = int(np.argmax(missed[1:-1])) + 1
        if missed[worst] > 1.0:
            kept.add(first + worst)
            waiting += [(first, first + worst), (first + worst, end)]
    return np.array(sorted(kept), np.int64)


def thinned_keys(keys: RigKeys, rig: RigFunction, error_m: float) -> RigKeys:
    """Keys at few frames, whose curves move no joint of the rig by more than an error.

    Controls of one bone or handle have keys at the same frames. Keys are left out first where each
    control alone moves joints little, by the derivatives of the rig, and are then added to those
    that move them most in frames in which a joint is too far off.

    Parameters
    ----------
    error_m
        Metres.

    Raises
    ------
    ParameterError
        If the error is not positive, or the rig lacks a control.
    """
    if not (np.isfinite(error_m) and error_m > 0):
        raise ParameterError(f"an error of keys of {error_m} m", hint="give a positive length")
    values = keys.values_of(rig)
    joints = rig.evaluate(values)
    some = np.unique(np.linspace(0, len(values) - 1, _POSES).astype(np.int64))
    derivatives = rig.jacobian(values[some], positions=joints[some])
    reach = np.linalg.norm(
        derivatives.reshape(len(some), len(rig.joints), 3, len(rig.controls)), axis=2
    ).max(axis=(0, 1))
    columns = np.array([rig.index(name) for name in keys.names])
    reach = np.maximum(reach[columns], _LEAST_M)
    groups = key_groups(keys.names)
    rows = {
        name: thinned_rows(keys.values[:, own], _FIRST * error_m / reach[own])
        for name, own in groups
    }
    ground_rows = thinned_rows(keys.ground, np.full(4, error_m))
    for _ in range(_STEPS):
        made = replace(keys, rows=rows, placement_rows=ground_rows)
        off = np.linalg.norm(rig.evaluate(made.values_of(rig)) - joints, axis=-1).max(axis=1)
        if off.max() <= error_m:
            break
        missed = np.abs(made.drawn - keys.values) * reach
        of_group = np.stack([missed[:, own].max(axis=1) for _, own in groups], axis=1)
        for first, end in true_runs(off > error_m):
            frame = first + int(np.argmax(off[first:end]))
            blamed = of_group[frame] >= _BLAMED * of_group[frame].max()
            for (name, _), guilty in zip(groups, blamed, strict=True):
                if guilty:
                    rows[name] = np.union1d(rows[name], frame)
    return made
