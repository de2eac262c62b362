"""From one segment of a program to the next: changes of gait and speed, starts and stops."""

from __future__ import annotations

import numpy as np

from deepphase.errors import ParameterError
from deepphase.motion.skeleton import Array
from deepphase.synthetic.gait import Gait
from deepphase.synthetic.waves import integrated, smooth_step

# Changes take this long, and so much longer for every m/s of change; starts and stops more.
_TRANSITION_S, _TRANSITION_S_PER_SPEED = 1.1, 0.3
_START_S, _START_S_PER_SPEED = 1.4, 0.25
# A stop ends, and a stand begins, this many cycles after a touch-down: no foot is in the air.
REST_PHASE = 0.13
# In a start the feet go first, in a stop the body rests first: else legs would be overstretched.
_HEAD_START = 0.35


def blends(
    seconds: Array,
    step: float,
    lengths: Array,
    base: Array,
    frequencies: Array,
    velocities: Array,
    first_cycle: float,
) -> tuple[Array, Array, Array]:
    """How segments follow each other.

    Parameters
    ----------
    seconds : (frames,)
        Time; the first segment starts at 0. `step` is the time between two frames.
    lengths, base : (segments,)
        Seconds, and Hz of the stride without its profile: 0 stands.
    frequencies : (frames, segments)
        Hz of the stride with its profile.
    velocities : (segments, 2)
        m/s to the side and forward.
    first_cycle
        Cycles of the stride at the first frame.

    Returns
    -------
    frequency : (frames,)
        Hz of the stride.
    weights, body_weights : (frames, segments)
        Of each segment in the pose and, a little before or after it, in the body's travel.

    Raises
    ------
    ParameterError
        Where a segment is too short for the change to it.
    """
    starts = np.cumsum(lengths) - lengths
    frequency = frequencies[:, 0].copy()
    weights = np.zeros((len(seconds), len(base)))
    body_weights = weights.copy()
    weights[:, 0] = body_weights[:, 0] = 1.0
    for index in range(1, len(base)):
        since = seconds - starts[index]
        stops = base[index] == 0 and base[index - 1] > 0
        begins = base[index] > 0 and base[index - 1] == 0
        change = float(np.linalg.norm(velocities[index] - velocities[index - 1]))
        duration = _TRANSITION_S + _TRANSITION_S_PER_SPEED * change
        if begins or stops:
            duration = _START_S + _START_S_PER_SPEED * change
        if duration > lengths[index]:
            raise ParameterError(
                f"segment {index + 1} of {lengths[index]:g} s: the change to it takes "
                f"{duration:.1f} s",
                hint="give it more time, or a speed closer to that of the segment before it",
            )
        if stops:
            reached = first_cycle + integrated(frequency, step)
            duration = _stop_duration(since, step, frequency, reached, duration, lengths[index])
        share = since / duration
        pose = smooth_step(share)
        travel = pose
        if begins:
            travel = smooth_step((share - _HEAD_START) / (1 - _HEAD_START))
        elif stops:
            travel = smooth_step(share / (1 - _HEAD_START))
        frequency = (1 - pose) * frequency + pose * frequencies[:, index]
        weights *= 1 - pose[:, None]
        weights[:, index] = pose
        body_weights *= 1 - travel[:, None]
        body_weights[:, index] = travel
    return frequency, weights, body_weights


def _stop_duration(
    since: Array,
    step: float,
    frequency: Array,
    reached: Array,
    usual: float,
    longest: float,
) -> float:
    """Seconds of a stop after which the stride rests where every foot is on the ground."""
    durations = np.linspace(0.6 * usual, min(1.6 * usual, longest), 101)
    window = (since >= 0) & (since <= durations[-1])
    fading = 1.0 - smooth_step(since[window] / durations[:, None])
    last = reached[window][0] + step * (fading * frequency[window]).sum(axis=1)
    # Rest phases come twice a cycle, after either (hind) foot.
    misses = np.abs(np.mod(2 * (last - REST_PHASE) + 0.5, 1.0) - 0.5)
    return float(durations[np.argmin(misses + 0.1 * np.abs(durations - usual))])


def stride_lags(gaits: list[Gait]) -> Array:
    """(segments, limbs) lags; a stand keeps those of the gait before it, the first of the next."""
    lags = [gait.lags if gait.moves else None for gait in gaits]
    known = [lag for lag in lags if lag is not None]
    current = known[0] if known else gaits[0].lags
    rows = []
    for lag in lags:
        current = current if lag is None else lag
        rows.append(current)
    return np.array(rows, np.float64)


def unwrapped_lags(lags: Array) -> Array:
    """(segments, limbs) lags with whole cycles added such that changes are small.

    A limb rather catches up by 0.7 cycles than waits for 0.3: waiting, its phase would stand.
    """
    changes = np.diff(lags, axis=0)
    changes = np.mod(changes + 0.7, 1.0) - 0.7
    return np.concatenate([lags[:1], lags[:1] + np.cumsum(changes, axis=0)])
