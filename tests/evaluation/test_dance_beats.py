"""Beats of movement and both beat alignments, on speeds and beats that are known."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.evaluation.dance_beats import (
    beat_alignment,
    beat_alignment_by_chance,
    beat_scores,
    mean_joint_speed,
    motion_beats,
)

FPS = 60.0
SECONDS = 20.0
TIME = np.arange(round(SECONDS * FPS)) / FPS
BEATS = np.arange(0.5, SECONDS, 0.5)


def test_speed_is_the_mean_over_joints():
    positions = np.zeros((60, 2, 3))
    positions[:, 0, 0] = 3.0 * np.arange(60) / FPS
    positions[:, 1, 1] = 1.0 * np.arange(60) / FPS
    np.testing.assert_allclose(mean_joint_speed(positions, FPS), 2.0, rtol=1e-9)


def test_beats_of_a_movement_are_where_it_slows_down():
    speed = 1.0 - np.cos(2 * np.pi * 2.0 * (TIME - 0.1))
    found = motion_beats(speed, FPS)
    # Smoothing bends the first one, at the edge.
    np.testing.assert_allclose(found[1:], np.arange(0.6, SECONDS, 0.5), atol=0.51 / FPS)


def test_a_pause_is_one_beat_in_its_middle():
    speed = np.concatenate([np.linspace(1, 0, 60), np.zeros(61), np.linspace(0, 1, 60)])
    np.testing.assert_allclose(motion_beats(speed, FPS, smoothing_s=1e-6), [1.5], atol=1.5 / FPS)


@pytest.mark.parametrize("speed", [np.ones(60), np.linspace(0, 1, 60), np.ones(2)])
def test_what_never_slows_down_has_no_beats(speed):
    assert not len(motion_beats(speed, FPS))


def test_a_beat_three_frames_away_counts_by_the_gaussian():
    scores = beat_scores(np.array([1.0, 2.05, 3.5]), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(scores, [1.0, np.exp(-0.5), np.exp(-50.0)], atol=1e-12)
    assert beat_scores(np.array([1.0]), np.zeros(0)).tolist() == [0.0]


def test_the_two_alignments_ask_different_things():
    """One accent in four beats: all accents are on beats, a quarter of the beats is danced."""
    few = beat_alignment(BEATS[::4], BEATS, SECONDS)
    assert few.by_motion == pytest.approx(1.0)
    assert few.by_music == pytest.approx(len(BEATS[::4]) / len(BEATS))
    many = beat_alignment(np.arange(0.5, SECONDS, 0.125), BEATS, SECONDS)
    assert many.by_music == pytest.approx(1.0)
    assert many.by_motion == pytest.approx(0.29, abs=0.02)
    assert (many.motion_beats, many.music_beats) == (156, 39)


def test_beats_outside_of_the_dance_do_not_count():
    more = np.concatenate([[-3.0, -2.0], BEATS, [SECONDS + 1.0]])
    assert beat_alignment(BEATS, more, SECONDS).by_music == pytest.approx(1.0)


def test_without_beats_there_is_no_alignment_and_no_nan():
    nothing = beat_alignment(np.zeros(0), BEATS, SECONDS)
    assert (nothing.by_motion, nothing.by_music) == (0.0, 0.0)


def test_chance_is_what_shifts_of_the_song_have():
    chance = beat_alignment_by_chance(BEATS, BEATS, SECONDS, draws=400)
    # The mean of the Gaussian over all shifts within half a beat.
    expected = 0.05 * np.sqrt(2 * np.pi) / 0.5
    assert chance.by_motion == pytest.approx(expected, abs=0.02)
    assert chance.by_music == pytest.approx(expected, abs=0.02)
    with pytest.raises(ParameterError):
        beat_alignment_by_chance(BEATS, BEATS, 0.0)
