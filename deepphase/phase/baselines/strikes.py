"""Foot strikes, and a phase that runs evenly from each to the next (Holden et al. 2017, 4.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deepphase.arrays import Array

# Seconds: no two steps follow each other faster, and no foot strikes again sooner. What does is a
# heel that rocks, or the second foot of a landing from a jump.
_SHORTEST_STEP_S, _SHORTEST_CYCLE_S = 0.1, 0.25
# Seconds of a cycle beyond which the body is not stepping but stands.
_LONGEST_CYCLE_S = 2.4


class Strikes(NamedTuple):
    """When a foot strikes, and the phase of that foot's strike in cycles."""

    frames: Array
    phases: Array


def strikes(flags: Array, fps: float) -> Strikes:
    """The strikes of one foot or two.

    Parameters
    ----------
    flags : (frames, feet)
        Contacts. The first foot strikes at phase 0, a second one at phase .5.
    fps
        Frames a second.
    """
    frames, feet = np.nonzero(flags[1:] & ~flags[:-1])
    kept: list[tuple[int, int]] = []
    last = dict.fromkeys(range(flags.shape[1]), -np.inf)
    for frame, foot in zip((frames + 1).tolist(), feet.tolist(), strict=True):
        since = (frame - max(last.values())) / fps
        if since < _SHORTEST_STEP_S or (frame - last[foot]) / fps < _SHORTEST_CYCLE_S:
            continue
        last[foot] = frame
        kept.append((frame, foot))
    every = np.array(kept, np.int64).reshape(-1, 2)
    return Strikes(every[:, 0], 0.5 * every[:, 1])


def paced(found: Strikes, frames: int, fps: float) -> tuple[Array, Array, Array]:
    """Phase of every frame: even between strikes, at the pace of the nearest step beyond them.

    Where no strike follows for longer than a cycle may last, the body stands, and the phase goes
    through as many whole cycles as the shortest one allows, so that it meets the next strike.

    Returns
    -------
    (frames,) cycles, never falling; (frames,) Hz, the cycles to the next frame; (frames,) whether
    the body steps, 1 or 0.
    """
    knots, cycles, rates, stepping = _segments(found, frames, fps)
    index = np.arange(frames)
    segment = np.clip(np.searchsorted(knots, index, side="right") - 1, 0, len(rates) - 1)
    at = cycles[segment] + rates[segment] * (index - knots[segment]) / fps
    return at, rates[segment], stepping[segment].astype(np.float64)


def _segments(found: Strikes, frames: int, fps: float) -> tuple[Array, Array, Array, Array]:
    """Where each stretch of one pace begins, its cycles there, its Hz, whether the body steps."""
    fastest = 1.0 / _SHORTEST_CYCLE_S
    if not len(found.frames):
        return np.zeros(1), np.zeros(1), np.array([fastest]), np.zeros(1, bool)
    seconds = np.diff(found.frames) / fps
    # From one foot to the other half a cycle, from a foot to itself a whole one.
    advance = np.where(np.diff(found.phases) == 0, 1.0, 0.5)
    stepping = seconds <= advance * _LONGEST_CYCLE_S
    whole = np.maximum(np.floor(seconds * fastest - advance), 0.0)
    advance = advance + np.where(stepping, 0.0, whole)
    rates = advance / seconds
    knots = found.frames.astype(np.float64)
    cycles = found.phases[0] + np.concatenate([[0.0], np.cumsum(advance)])
    steps = np.flatnonzero(stepping)
    pace = (rates[steps[0]], rates[steps[-1]]) if steps.size else (0.0, 0.0)
    # The step that a clip's end cuts off.
    before, after = (
        min(0.5 / each, _LONGEST_CYCLE_S / 2) * fps if each > 0 else 0.0 for each in pace
    )
    if not (stepping.size and stepping[0]):
        before = 0.0
    if not (stepping.size and stepping[-1]):
        after = 0.0
    before = min(before, knots[0])
    parts = [
        (
            0.0,
            cycles[0] - pace[0] * before / fps - fastest * (knots[0] - before) / fps,
            fastest,
            False,
        ),
        (knots[0] - before, cycles[0] - pace[0] * before / fps, pace[0], True),
        *zip(knots[:-1], cycles[:-1], rates, stepping, strict=True),
        (knots[-1], cycles[-1], pace[1], True),
        (knots[-1] + after, cycles[-1] + pace[1] * after / fps, fastest, False),
    ]
    columns = [np.array(column) for column in zip(*parts, strict=True)]
    # Of stretches that begin together only the last has a length.
    return columns[0], columns[1], columns[2], columns[3].astype(bool)
