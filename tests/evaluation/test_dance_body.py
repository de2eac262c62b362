"""Foot contact score, standing and coming apart, on motion made to have known values."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.evaluation.dance_body import (
    broken_share,
    moving_speed,
    physical_foot_contact,
    standing_share,
)

FPS = 60.0
TIME = np.arange(240) / FPS


def bouncing():
    root = np.zeros((240, 3))
    root[:, 1] = 0.9 + 0.05 * np.sin(2 * np.pi * TIME)
    return root


def foot(speed, points=2):
    moved = np.zeros((240, points, 3))
    moved[..., 0] = speed * TIME[:, None]
    return moved


def test_one_standing_foot_is_enough():
    assert physical_foot_contact(bouncing(), foot(0.0), foot(2.0), FPS) == 0.0
    rolling = foot(2.0)
    rolling[:, 1] = 0.0
    assert physical_foot_contact(bouncing(), rolling, foot(2.0), FPS) == 0.0


def test_sliding_on_both_feet_has_the_scores_closed_form():
    """Constant upward acceleration of 3 m/s^2: each frame counts v_left * v_right."""
    root = np.zeros((240, 3))
    root[:, 1] = 1.5 * TIME**2
    score = physical_foot_contact(root, foot(0.3), foot(0.6), FPS)
    assert score == pytest.approx(1e4 * (0.3 / 30) * (0.6 / 30), rel=1e-4)


def test_falling_needs_no_foot_and_rates_do_not_matter():
    root = np.zeros((240, 3))
    root[:, 1] = -0.5 * 9.81 * TIME**2
    assert physical_foot_contact(root, foot(1.0), foot(1.0), FPS) == 0.0
    every = slice(None, None, 2)
    whole = physical_foot_contact(bouncing(), foot(0.5), foot(0.5), FPS)
    half = physical_foot_contact(bouncing()[every], foot(0.5)[every], foot(0.5)[every], FPS / 2)
    assert half == pytest.approx(whole, rel=0.03)
    assert physical_foot_contact(np.zeros((9, 3)), foot(1.0)[:9], foot(1.0)[:9], FPS) == 0.0
    with pytest.raises(ParameterError, match="root must have at least 3 frames, not 2"):
        physical_foot_contact(np.zeros((2, 3)), foot(1.0)[:2], foot(1.0)[:2], FPS)


def test_standing_and_coming_apart_are_shares_of_windows():
    speed = np.concatenate([np.full(600, 1.0), np.zeros(600), np.full(600, 10.0)])
    moving = moving_speed(speed, FPS)
    assert len(moving) == 59
    assert standing_share(moving, 1.0) == pytest.approx(1 / 3, abs=0.03)
    assert broken_share(moving, 1.0) == pytest.approx(1 / 3, abs=0.03)
    assert broken_share(moving, 10.0) == 0.0
    np.testing.assert_allclose(moving[:19], 1.0)
    with pytest.raises(ParameterError, match=r"usual must be above 0, not 0\.0 m/s"):
        standing_share(moving, 0.0)


def test_a_clip_of_less_than_a_window_is_one():
    np.testing.assert_allclose(moving_speed(np.full(20, 2.0), FPS), 2.0)
    assert len(moving_speed(np.ones(1), FPS)) == 1
