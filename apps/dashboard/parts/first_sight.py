"""The clip and the moment on which a collection opens: the steadiest cycle that moves most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.fft

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore

# Clips that are compared, spread over the collection, and how much of each.
_CLIPS, _CLIP_S = 256, 40.0
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


def periodic_moment(store: ClipStore) -> PeriodicMoment:
    """The passage whose poses recur most exactly, among those that move most.

    Joint rotations are compared with themselves at later moments, so that nothing is encoded and no
    position is computed: a second for hundreds of clips.
    """
    count = min(len(store), _CLIPS)
    chosen = [int(each * len(store) / count) for each in range(count)]
    passages = [(index, *each) for index in chosen for each in _passages(store, index)]
    if not passages:
        return PeriodicMoment(int(np.argmax(store.lengths)), 0.0)
    clip, start, likeness, movement, speed = np.array(passages).T
    share = movement / (movement + max(float(np.median(movement)), 1e-9))
    seconds = store.lengths[clip.astype(int)] / store.fps
    score = likeness * share * (0.5 + speed / (speed + _SPEED))
    score *= np.sqrt(np.minimum(seconds / _LONG_S, 1.0))
    best = int(np.argmax(score))
    return PeriodicMoment(int(clip[best]), float(start[best]))


def _passages(store: ClipStore, index: int) -> list[tuple[float, ...]]:
    """Start, likeness of the pose one period later, movement and m/s of passages of a clip."""
    step = max(1, round(store.fps / _RATE))
    rate = store.fps / step
    begin = int(store.range_starts[index])
    end = min(int(store.range_stops[index]), begin + round(_CLIP_S * store.fps))
    # The root turns with the way, which is not a cycle.
    rotations = np.array(store.rotations[begin:end:step, 1:], np.float32)
    if len(rotations) < 2 or not rotations.shape[1]:
        return []
    # q and -q are one rotation.
    turned = np.sign((rotations[1:] * rotations[:-1]).sum(-1, keepdims=True))
    rotations[1:] *= np.cumprod(np.where(turned == 0, 1, turned), axis=0)
    poses = rotations.reshape(len(rotations), -1)
    places = np.asarray(store.translations[begin:end:step], np.float32)
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
        movement = float(np.square(np.diff(part, axis=0)).sum(-1).mean())
        moved = np.linalg.norm(np.ptp(places[start : start + size], axis=0), axis=-1).max(
            initial=0.0
        )
        found.append((start / rate, likeness, movement, float(moved) * rate / size))
    return found


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
