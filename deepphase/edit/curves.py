"""Curves through what is known of a motion, and estimates that are moved to continue it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.transform import Rotation, Slerp

from deepphase.arrays import Array, smoothstep, true_runs
from deepphase.motion import quaternions

# Seconds over which a difference of velocity at the edge of a restored stretch fades.
_FADE_S = 0.1
# The curve: length and noise of its covariance, chosen on other clips than those reported; the part
# of a clip that is computed at once, and what is read on both sides of it, in seconds.
_LENGTH_S, _NOISE = 0.2, 1e-6
_PART_S, _BESIDE_S = 1.6, 0.8


def straight(values: Array, known: Array) -> Array:
    """Values (frames, values) interpolated linearly where they are not known (frames,)."""
    has = np.flatnonzero(known)
    if not len(has):
        return values.copy()
    frames = np.arange(len(values))
    lines = np.stack([np.interp(frames, has, own) for own in values[has].T], axis=1)
    return np.where(known[:, None], values, lines)


def slerped(rotations: Array, known: Array) -> Array:
    """As `straight`, for quaternions (frames, 4), by spherical interpolation."""
    has, lost = np.flatnonzero(known), np.flatnonzero(~known)
    result = rotations.copy()
    if len(has) == 1:
        result[:] = rotations[has[0]]
    elif len(has) and len(lost):
        between = Slerp(has, Rotation.from_quat(rotations[has]))
        result[lost] = between(np.clip(lost, has[0], has[-1])).as_quat()
    return result


def curve(values: Array, known: Array, fps: float) -> Array:
    """(frames, values) a smooth curve through the known values.

    It is the mean of a Gaussian process with a Matern kernel of order 5/2 around a straight line
    (Rasmussen and Williams 2006, equations 2.25 and 4.17), computed for a few seconds at a time.
    """
    result, has = values.copy(), np.flatnonzero(known)
    if len(has) < 4:
        return result
    part, beside = round(_PART_S * fps), round(_BESIDE_S * fps)
    for start in range(int(has[0]), int(has[-1]) + 1, part):
        lost = np.arange(start, min(start + part, int(has[-1]) + 1))
        lost = lost[~known[lost]]
        if not lost.size:
            continue
        near = has[(has >= start - beside) & (has < start + part + beside)]
        if len(near) < 4:
            near = np.sort(has[np.argsort(np.abs(has - start), kind="stable")[:8]])
        line = np.stack([np.ones(len(near)), near - start], axis=1)
        slope = np.linalg.lstsq(line, values[near], rcond=None)[0]
        kernel = _matern(near[:, None] - near, fps) + _NOISE * np.eye(len(near))
        weights = cho_solve(cho_factor(kernel), values[near] - line @ slope)
        trend = np.stack([np.ones(len(lost)), lost - start], axis=1) @ slope
        result[lost] = trend + _matern(lost[:, None] - near, fps) @ weights
    return result


def rotation_curves(rotations: Array, known: Array, fps: float) -> Array:
    """(frames, joints, 4) smooth curves through the known rotations (frames, joints)."""
    curves = rotations.copy()
    for joint in np.flatnonzero(~known.all(axis=0)):
        has, values = known[:, joint], rotations[:, joint].copy()
        values[has] = quaternions.sign_continuous(values[has])
        curves[:, joint] = quaternions.normalized(curve(values, has, fps))
    return curves


def _matern(frames: Array, fps: float) -> Array:
    """Matern covariance of order 5/2 at distances in frames."""
    scaled = np.sqrt(5.0) * np.abs(frames) / (_LENGTH_S * fps)
    return np.asarray((1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled))


def mixed(rotations: Sequence[Array], weights: Sequence[Array | float]) -> Array:
    """(frames, joints, 4) means of several rotations, with weights (frames, 1 or joints)."""
    mean = np.zeros_like(rotations[0])
    for own, weight in zip(rotations, weights, strict=True):
        sign = np.where((own * rotations[0]).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
        mean += np.asarray(weight)[..., None] * sign * own
    return quaternions.normalized(mean)


def blended(first: Array, second: Array, weights: Array) -> Array:
    """(frames, joints, 4) means of rotations, with weights (frames, joints) of the first."""
    return mixed([first, second], [weights, 1.0 - weights])


def bridged(estimate: Array, own: Array, broken: Array, fps: float) -> Array:
    """`own` values (frames, values) with estimates that continue them where `broken` (frames,)."""
    result = own.copy()
    result[broken] = estimate[broken] + _offsets(own - estimate, broken, fps)[broken]
    return result


def bridged_rotations(estimate: Array, own: Array, broken: Array, fps: float) -> Array:
    """As `bridged`, for quaternions (frames, 4)."""
    result = own.copy()
    if broken.any():
        apart = quaternions.vectors_between(estimate, own)
        turns = quaternions.from_rotation_vectors(_offsets(apart, broken, fps)[broken])
        result[broken] = quaternions.multiply(turns, estimate[broken])
    return quaternions.sign_continuous(result)


def eased(line: tuple[Array, Array], broken: Array, fps: float) -> tuple[Array, Array]:
    """Lines, rotations (frames, joints, 4) and places, over stretches at the velocities of both
    ends."""
    turns, places = line
    ahead = quaternions.normalized(_extended(turns, broken))
    joints = range(turns.shape[1])
    turns = np.stack([bridged_rotations(ahead[:, j], turns[:, j], broken, fps) for j in joints], 1)
    return turns, bridged(_extended(places, broken), places, broken, fps)


def _extended(line: Array, broken: Array) -> Array:
    """Values that go on along the lines over broken stretches for a frame beside them."""
    ahead = line.copy()
    for first, stop in true_runs(broken):
        for beside, edge, inner in ((first - 2, first - 1, first), (stop + 1, stop, stop - 1)):
            if 0 <= beside < len(line) and not broken[beside]:
                ahead[beside] = 2.0 * line[edge] - line[inner]
    return ahead


def _offsets(apart: Array, broken: Array, fps: float) -> Array:
    """(frames, values) differences at whole frames, continued over broken stretches."""
    offsets = apart.copy()
    frames = len(broken)
    for first, stop in true_runs(broken):
        here = slice(first, stop)
        if first == 0 or stop == frames:
            offsets[here] = apart[stop] if stop < frames else apart[first - 1] if first else 0.0
            continue
        length = stop - first + 1
        share = (np.arange(1, length) / length)[:, None]
        offsets[here] = apart[first - 1] + (apart[stop] - apart[first - 1]) * smoothstep(share)
        for edge, inner, away in ((first - 1, first - 2, share), (stop, stop + 1, 1.0 - share)):
            if 0 <= inner < frames and not broken[inner]:
                slope = apart[edge] - apart[inner]
                fade = np.exp(-away * length / (_FADE_S * fps))
                offsets[here] += slope * length * away * (1.0 - away) ** 2 * fade
    return offsets
