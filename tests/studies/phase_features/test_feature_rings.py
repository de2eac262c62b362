"""Regularity of curves whose shape is known."""

import numpy as np
import pytest

from deepphase.phase.matches import Frames, nearest_frames
from tests.studies.phase_features.feature_rings import one_way_matches, unevenness, winding

FPS = 60.0
FRAMES = Frames(np.repeat([0, 1], 240), np.tile(np.arange(240), 2))
ANGLE = 2 * np.pi * np.arange(240) / 60


def both(curve):
    return np.concatenate([curve, curve]).astype(np.float32)


def test_a_ring_turns_one_way_in_even_steps():
    ring = both(np.stack([np.sin(ANGLE), np.cos(ANGLE)], -1))
    assert unevenness(ring, FRAMES, FPS) == pytest.approx([0, 0], abs=1e-5)
    assert winding(ring, FRAMES) == pytest.approx([1, 1], abs=1e-3)


def test_a_swing_turns_back_and_slows_down():
    # An arc that is passed to and fro, around a middle that lies beside it.
    turn = 0.9 * np.pi * np.sin(ANGLE)
    swing = both(np.stack([np.sin(turn), np.cos(turn)], -1))
    # The speed of a sine has a coefficient of variation of sqrt(pi^2 / 8 - 1).
    assert unevenness(swing, FRAMES, FPS) == pytest.approx(0.483, abs=0.03)
    assert winding(swing, FRAMES).max() < 0.1


def test_a_clip_that_stands_still_has_no_measure():
    still = np.zeros((480, 2), np.float32)
    assert np.isnan(unevenness(still, FRAMES, FPS)).all()
    assert np.isnan(winding(still, FRAMES)).all()


def test_a_phase_matches_one_way_and_a_pose_both_ways():
    ring = both(np.stack([np.sin(ANGLE), np.cos(ANGLE)], -1))
    pose = ring[:, :1]
    chosen = np.arange(20, 220, 7)
    shares = {}
    for name, feature in (("ring", ring), ("pose", pose)):
        nearest = nearest_frames(feature, FRAMES, chosen, exclude=5, matches=6)
        shares[name] = one_way_matches(feature, FRAMES, FPS, chosen, nearest)
    assert shares["ring"].min() == 1
    # A sine passes each height on its way up and on its way down.
    assert 0.25 < shares["pose"].mean() < 0.75


def test_matches_without_neighbours_are_unknown():
    frames = Frames(np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3))
    share = one_way_matches(np.zeros((12, 2)), frames, FPS, np.array([1]), np.array([[6, 9]]))
    assert np.isnan(share).all()
