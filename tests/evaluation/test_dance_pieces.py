"""Pieces of dances: repetition, distinct and nearest pieces, of movement that is known."""

import numpy as np
import pytest

from deepphase.evaluation.dance_body import net_turning, travel
from deepphase.evaluation.dance_pieces import (
    dance_pieces,
    distinct_pieces,
    nearest_repeats,
)
from tests.studies.dances.rows import nearest_pieces

FPS = 60.0


def body(seconds, period_s=None, seed=0, turn=0.0, speed=0.0):
    """Points of a body that turns and moves evenly, with hands that repeat or wander."""
    frames = round(seconds * FPS)
    t = np.arange(frames) / FPS
    rng = np.random.default_rng(seed)
    cycle = t if period_s is None else np.mod(t, period_s)
    waves = [rng.uniform(0.1, 0.9, 6) for _ in range(6)]
    wander = [
        0.08 * np.sin(2 * np.pi * np.outer(cycle, f) + rng.uniform(0, 6, 6)).sum(1) for f in waves
    ]
    left = {"hip": (0.1, 1.0, 0.0), "knee": (0.1, 0.5, 0.0), "foot": (0.1, 0.1, 0.0)}
    left |= {"toe": (0.1, 0.0, 0.1), "shoulder": (0.2, 1.5, 0.0), "elbow": (0.3, 1.3, 0.0)}
    left |= {"hand": (0.3, 1.1, 0.2)}
    angle = np.radians(turn) * t
    turning = np.stack(
        [
            np.stack([np.cos(angle), 0 * t, np.sin(angle)], 1),
            np.stack([0 * t, 0 * t + 1, 0 * t], 1),
            np.stack([-np.sin(angle), 0 * t, np.cos(angle)], 1),
        ],
        axis=1,
    )
    points = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for part, (x, y, z) in left.items():
            local = np.tile([sign * x, y, z], (frames, 1))
            if part == "hand":
                local = local + np.stack(wander[:3] if side == "left" else wander[3:], 1)
            points[f"{side}_{part}"] = np.einsum("fab,fb->fa", turning, local) + speed * np.outer(
                t, [1.0, 0.0, 0.0]
            )
    points["root"] = 0.5 * (points["left_hip"] + points["right_hip"])
    points["neck"] = 0.5 * (points["left_shoulder"] + points["right_shoulder"])
    return points


def test_a_step_that_returns_is_found_again_wherever_it_is_danced():
    again = dance_pieces(body(24.0, period_s=4.0, turn=30.0, speed=0.5), FPS)
    once = dance_pieces(body(24.0), FPS)
    assert nearest_repeats(again).max() < 0.002
    assert np.median(nearest_repeats(once)) > 0.03
    assert distinct_pieces(again) <= 4.0 / 0.25
    assert distinct_pieces(once) > distinct_pieces(again)
    assert distinct_pieces(dance_pieces(body(24.0, period_s=0.25), FPS)) == 1.0


def test_pieces_are_of_two_seconds_a_quarter_of_a_second_apart():
    assert dance_pieces(body(10.0), FPS).shape == (33, 8 * 14 * 3)
    assert len(dance_pieces(body(1.5), FPS)) == 0
    assert nearest_repeats(dance_pieces(body(3.0), FPS)).size == 0
    assert distinct_pieces(dance_pieces(body(6.0), FPS)) == 0.0


def test_distances_are_root_mean_squares_in_metres():
    one = body(4.0, period_s=0.25)
    other = {name: each + (0.14 if name == "left_hand" else 0.0) for name, each in one.items()}
    distance, index = nearest_pieces(dance_pieces(other, FPS), dance_pieces(one, FPS))
    # One of 14 points is 14 cm away along each of three axes.
    assert distance == pytest.approx(0.14 * np.sqrt(3.0 / 14.0), rel=1e-3)
    assert len(index) == len(distance)
    assert nearest_pieces(np.zeros((0, 3)), np.zeros((4, 3)))[0].size == 0


def test_turning_and_travel_are_net():
    points = body(25.0, turn=40.0, speed=0.3)
    assert net_turning(points, FPS) == pytest.approx(40.0, rel=1e-3)
    assert travel(points, FPS) == pytest.approx(3.0, rel=1e-3)
    short = body(2.0, turn=40.0, speed=0.3)
    assert net_turning(short, FPS) == pytest.approx(40.0, rel=1e-3)
    assert travel(short, FPS) == pytest.approx(0.3 * 119 / 60, rel=1e-3)
