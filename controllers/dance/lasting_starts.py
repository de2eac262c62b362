"""Starts of dances from which the recorded dance goes on moving."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.corpus.clip_store import ClipStore
from deepphase.evaluation.dance_beats import mean_joint_speed
from deepphase.evaluation.dance_body import STANDS, body_points
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles

STALL_SHARE, STALL_S = 2.0 * STANDS, 2.0
"""A dance has stalled if its mean speed over so many seconds is below this share of the recorded
dances' usual speed. The share is twice that of the measure `standing`, so that a frozen body that
jitters counts as stalled, too."""

# Seconds of the recorded dance after a start that are looked at, longer than from one change of the
# pose to the next.
_AHEAD_S = 6.0


def lasting_starts(
    starts: InitialStates,
    store: ClipStore,
    usual_speed: float,
) -> InitialStates:
    """The starts after which the recorded dance does not halt.

    Recorded dances hold a pose at times, and at their ends. A dance that starts shortly before
    halts as well, and would be restarted.

    Parameters
    ----------
    starts
        States of frames of the store's clips.
    store
        The clips.
    usual_speed
        Usual speed of the recorded dances in m/s, see `DanceReference`.

    Returns
    -------
    All starts if none would remain.
    """
    names = np.array(starts.names)
    lasting = np.ones(len(starts), bool)
    for name, clip in zip(store.names, store, strict=True):
        rows = np.flatnonzero(names == name)
        if len(rows):
            lasting[rows] = _lasts(clip, starts.frames[rows], STALL_SHARE * usual_speed)
    return starts.select(np.flatnonzero(lasting)) if lasting.any() else starts


def _lasts(clip: Clip, frames: Array, stalled: float) -> Array:
    """(n,) bool: whether the clip moves in all windows that begin within six seconds."""
    points = body_points(joint_positions(clip), find_roles(clip.skeleton, clip=clip))
    speed = mean_joint_speed(np.stack([points[name] for name in sorted(points)], axis=1), clip.fps)
    window, ahead = round(STALL_S * clip.fps), round(_AHEAD_S * clip.fps)
    summed = np.concatenate([[0.0], np.cumsum(speed)])
    found = []
    for frame in frames.tolist():
        # At an end of the clip the last window is shorter.
        begins = np.arange(frame, min(frame + ahead - window, len(speed) - 1) + 1)
        ends = np.minimum(begins + window, len(speed))
        means = (summed[ends] - summed[begins]) / np.maximum(ends - begins, 1)
        found.append(bool((means[ends - begins > window // 2] >= stalled).all()))
    return np.array(found, bool)
