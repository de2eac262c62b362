"""Periodicity at bar and beat: known for sinusoids and noise, and on made dances."""

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.evaluation.dance_beats import (
    beat_count,
    counted_beats,
    explained_by_cycle,
    rhythm,
    vector_strength,
)

FPS = 60.0
TIME = np.arange(round(61.0 * FPS)) / FPS
BEATS = np.arange(0.2, 61.0, 0.5)
BAR = (TIME - 0.2) / 1.5


def test_beats_are_counted_between_them_and_nowhere_else():
    count = beat_count(np.array([1.0, 2.0, 4.0]), np.array([0.9, 1.0, 1.5, 3.0, 4.0, 4.1]))
    np.testing.assert_allclose(count, [np.nan, 0.0, 0.5, 1.5, 2.0, np.nan])
    assert np.isnan(beat_count(np.array([1.0]), np.zeros(3))).all()
    with pytest.raises(ParameterError, match="rise"):
        beat_count(np.array([1.0, 1.0]), np.zeros(3))


@pytest.mark.parametrize(
    ("bpm", "beats"), [(87, 1), (174, 2), (149, 1), (151, 2), (60, 0.5), (340, 4)]
)
def test_beats_are_counted_at_the_tempo_that_people_count_at(bpm, beats):
    assert counted_beats(np.arange(50) * 60.0 / bpm) == beats


def test_vector_strength_of_known_signals():
    cycles = np.arange(6000) / 100
    assert vector_strength(1 + np.cos(2 * np.pi * cycles), cycles) == pytest.approx(0.5, abs=1e-9)
    assert vector_strength(np.ones(6000), cycles) == pytest.approx(0.0, abs=1e-9)
    once = np.zeros(6000)
    once[30::100] = 1.0
    assert vector_strength(once, cycles) == pytest.approx(1.0)
    assert vector_strength(np.zeros(6000), cycles) == 0.0
    with pytest.raises(ParameterError, match="signal must be 0 or more everywhere"):
        vector_strength(-once, cycles)


def test_explained_share_of_known_signals():
    cycles = np.arange(6000) / 100
    sine = np.sin(2 * np.pi * cycles + 0.7)
    assert explained_by_cycle(3 + 0.1 * sine, cycles) == pytest.approx(1.0)
    assert explained_by_cycle(sine + np.sin(4 * np.pi * cycles), cycles) == pytest.approx(0.5)
    both = sine + np.sin(4 * np.pi * cycles)
    assert explained_by_cycle(both, cycles, harmonics=2) == pytest.approx(1.0)
    noise = np.random.default_rng(0).standard_normal(6000)
    assert explained_by_cycle(noise, cycles) < 0.005
    assert explained_by_cycle(np.full(6000, 0.9), cycles) == 0.0


def test_a_movement_at_the_bar_stands_over_other_tempi():
    speed = 1 + np.cos(2 * np.pi * BAR)
    found = rhythm(speed, np.sin(2 * np.pi * BAR), FPS, BEATS, beats_per_cycle=3)
    assert len(found) == 3
    # Windows end inside a bar.
    np.testing.assert_allclose(found.strength, 0.5, atol=0.02)
    np.testing.assert_allclose(found.variance, 1.0, atol=0.01)
    assert found.strength_shifted.max() < 0.12
    assert found.variance_shifted.max() < 0.1
    # The same movement is none of a bar of four.
    assert rhythm(speed, speed, FPS, BEATS, beats_per_cycle=4).strength.max() < 0.05


def test_noise_follows_no_bar_better_than_another():
    speed = np.abs(np.random.default_rng(1).standard_normal(len(TIME)))
    found = rhythm(speed, speed, FPS, BEATS, beats_per_cycle=3)
    assert abs(found.strength.mean() - found.strength_shifted.mean()) < 0.02
    assert found.variance.mean() < 0.01


def test_a_song_that_slows_down_is_followed():
    """The song's own clock counts, not seconds."""
    beats = np.cumsum(np.linspace(0.4, 0.6, 120))
    bar = beat_count(beats, TIME) / 3
    speed = 1 + np.cos(2 * np.pi * np.nan_to_num(bar))
    found = rhythm(speed, speed, FPS, beats, beats_per_cycle=3)
    np.testing.assert_allclose(found.strength, 0.5, atol=0.02)


def test_too_few_beats_have_no_rhythm():
    speed = np.ones(len(TIME))
    assert len(rhythm(speed, speed, FPS, BEATS[:5], beats_per_cycle=3)) == 0
    assert len(rhythm(speed, speed, FPS, np.zeros(0), beats_per_cycle=3)) == 0
