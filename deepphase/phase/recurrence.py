"""Passages of clips whose poses recur, found by comparing them with themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.fft

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import path_length

# Clips that are compared, spread over the collection, and how much of each.
_COMPARED, _COMPARED_S = 256, 40.0
# Rate at which poses are compared, and length and distance of the passages that are.
_RATE, _PASSAGE_S, _STEP_S = 15.0, 4.0, 1.0
# Cycles of bodies, seconds: the beat of a trot to a slow step.
_SHORTEST_S, _LONGEST_S = 0.25, 2.2
# Before that, no window of a phase model lies within its clip.
_LEAD_S = 1.0
# Speed over the ground, m/s, that counts half, and length of a clip that counts in full.
_SPEED, _LONG_S = 0.5, 8.0


class PeriodicMoment(NamedTuple):
    """A passage that repeats: index of its clip, and its first second there."""

    clip: int
    start_s: float


def periodic_moments(store: ClipStore, count: int) -> list[PeriodicMoment]:
    """The passages whose poses recur most exactly, among those that move most, one of each clip."""
    # Joint rotations are compared with themselves at later moments: a second for hundreds of clips.
    chosen = np.linspace(0, len(store), min(len(store), _COMPARED), endpoint=False).astype(int)
    roles = find_roles(store.skeleton)
    thighs = [joint for joint in roles.both("hip") or () if joint > 0]
    reach = 0.0
    if thighs and (feet := roles.both("foot")) is not None:
        reach = path_length(store.skeleton, thighs[0], feet[0])
    passages = [
        (index, *each) for index in chosen for each in _passages(store, index, thighs, reach)
    ]
    if not passages:
        return [PeriodicMoment(int(np.argmax(store.lengths)), 0.0)]
    clip, start, likeness, movement, speed = np.array(passages).T
    share = movement / (movement + max(float(np.median(movement)), 1e-9))
    seconds = store.lengths[clip.astype(int)] / store.fps
    score = likeness * share * (0.5 + speed / (speed + _SPEED))
    score *= np.sqrt(np.minimum(seconds / _LONG_S, 1.0))
    best: dict[int, PeriodicMoment] = {}
    for at in np.argsort(-score):
        best.setdefault(int(clip[at]), PeriodicMoment(int(clip[at]), float(start[at])))
    return list(best.values())[:count]


def _passages(
    store: ClipStore, index: int, thighs: list[int], reach: float
) -> list[tuple[float, ...]]:
    """Start, likeness of the pose one period later, movement and m/s of passages of a clip.

    The speed is that of the root, or of feet that hang `reach` m below `thighs`, as in place.
    """
    step = max(1, round(store.fps / _RATE))
    rate = store.fps / step
    begin = int(store.range_starts[index])
    end = min(int(store.range_stops[index]), begin + round(_COMPARED_S * store.fps))
    # The root turns with the way, which is not a cycle.
    rotations = np.array(store.rotations[begin:end:step, 1:], np.float32)
    places = np.asarray(store.translations[begin:end:step], np.float32)
    if len(rotations) < 2 or not rotations.shape[1]:
        return []
    # q and -q are one rotation.
    turned = np.sign((rotations[1:] * rotations[:-1]).sum(-1, keepdims=True))
    rotations[1:] *= np.cumprod(np.where(turned == 0, 1, turned), axis=0)
    poses = rotations.reshape(len(rotations), -1)
    turning = np.diff(rotations[:, [joint - 1 for joint in thighs]], axis=0)
    swing = 2.0 * rate * reach * np.sqrt(np.square(turning).sum(-1).mean(-1)) if thighs else None
    if not np.ptp(poses, axis=0).any():
        # Tracked points have places alone: those of bones, whichever way the body faces.
        across = np.hypot(places[:, 1:, 0], places[:, 1:, 2])
        poses = np.concatenate([across, places[:, 1:, 1]], axis=1)
    size = min(round(_PASSAGE_S * rate), len(poses))
    lags = np.arange(
        max(2, round(_SHORTEST_S * rate)), min(round(_LONGEST_S * rate), size // 2) + 1
    )
    if lags.size < 2:
        return []
    first = min(round(_LEAD_S * rate), len(poses) - size)
    found: list[tuple[float, ...]] = []
    for start in range(first, len(poses) - size + 1, max(1, round(_STEP_S * rate))):
        part = poses[start : start + size]
        likeness = _recurrence(part - part.mean(0), lags)
        if start == 0 and size == len(poses):
            likeness = max(likeness, _closing(poses))
        movement = float(np.square(np.diff(part, axis=0)).sum(-1).mean())
        moved = np.linalg.norm(np.ptp(places[start : start + size], axis=0), axis=-1).max(
            initial=0.0
        )
        speed = float(moved) * rate / size
        if swing is not None:
            speed = max(speed, float(swing[start : start + size].mean()))
        found.append((start / rate, likeness, movement, speed))
    return found


def _closing(poses: Array) -> float:
    """How well the end of (frames, values) goes on at their beginning, as loops of games do."""
    ends = poses[[0, -1]] - poses.mean(0), poses[[1, -1]] - poses[[0, -2]]
    alike = [float(a @ b) / max(float(np.sqrt((a @ a) * (b @ b))), 1e-12) for a, b in ends]
    return max(alike[0], 0.0) * max(alike[1], 0.0)


def _recurrence(poses: Array, lags: Array) -> float:
    """Correlation of (frames, values) with themselves after the lag that makes them most alike."""
    size = len(poses)
    spectrum = scipy.fft.rfft(poses, 2 * size, axis=0)
    products = scipy.fft.irfft(np.square(np.abs(spectrum)).sum(-1), 2 * size)[lags]
    power = np.cumsum(np.square(poses).sum(-1))
    before, after = power[size - 1 - lags], power[-1] - power[lags - 1]
    likeness = products / np.sqrt(np.maximum(before * after, 1e-12))
    # Neighbours are alike: a recurrence comes after something else.
    return max(float(likeness[int(np.argmin(likeness)) :].max()), 0.0)
