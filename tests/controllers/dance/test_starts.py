"""Starts of dances from which the recorded dance goes on moving."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.dance.starts import STALL_S, lasting_starts
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.resample import at_frames
from deepphase.synthetic.gait_motion import locomotion

_FPS = 60
_SPEED = 0.6


@pytest.fixture(scope="module")
def store():
    walk = replace(locomotion(0, 8.0, fps=_FPS).clip, name="walks")
    count = len(walk)
    # Half of this clip stands still.
    halts = replace(at_frames(walk, np.minimum(np.arange(count), count // 2)), name="halts")
    return ClipStore.from_clips([walk, halts])


def _starts(names, frames):
    blank = np.zeros((len(names), 1), np.float32)
    return InitialStates(blank, blank, tuple(names), np.asarray(frames))


def test_starts_before_a_halt_are_left_out(store):
    frames = [0, 60, 240, 300]
    starts = _starts(["walks"] * 4 + ["halts"] * 4, frames * 2)
    kept = lasting_starts(starts, store, _SPEED)
    assert kept.names == ("walks",) * 4
    np.testing.assert_array_equal(kept.frames, frames)
    # Far enough before a halt, a start remains.
    longer = ClipStore.from_clips([at_frames(store.clip(0), np.minimum(np.arange(900), 470))])
    kept = lasting_starts(_starts(["walks"] * 2, [0, 470 - 60]), longer, _SPEED)
    np.testing.assert_array_equal(kept.frames, [0])
    assert STALL_S < 470 / _FPS
