"""Measures of dances, on movement and beats that are known."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import CheckpointError, ParameterError
from deepphase.evaluation.dance import (
    DANCE_MEASURES,
    DanceReference,
    bandwidth_hz,
    bar_shares,
    beat_alignment,
    beat_alignment_by_chance,
    cycle_fit,
    cycles_at,
    dance_findings,
    dance_pieces,
    measure_dance,
    motion_beats,
    nearest_repeats,
)
from deepphase.music.features import features_of
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song

FPS, SECONDS = 60.0, 20.0
TIME = np.arange(round(SECONDS * FPS)) / FPS
BEATS = np.arange(0.5, SECONDS, 0.5)


def test_beats_of_a_movement_are_where_it_slows_down():
    found = motion_beats(1.0 - np.cos(2 * np.pi * 2.0 * (TIME - 0.1)), FPS)
    # Smoothing bends the first one, at the edge.
    np.testing.assert_allclose(found[1:], np.arange(0.6, SECONDS, 0.5), atol=0.51 / FPS)
    pause = np.concatenate([np.linspace(1, 0, 60), np.zeros(61), np.linspace(0, 1, 60)])
    np.testing.assert_allclose(motion_beats(pause, FPS), [1.5], atol=1.5 / FPS)
    for speed in (np.ones(60), np.linspace(0, 1, 60), np.ones(2)):
        assert not len(motion_beats(speed, FPS))


def test_a_beat_three_frames_away_counts_by_the_gaussian():
    assert beat_alignment(np.array([2.05]), np.array([1.0, 2.0])) == pytest.approx(np.exp(-0.5))
    assert beat_alignment(BEATS[::4], BEATS) == pytest.approx(1.0)
    assert beat_alignment(BEATS, np.zeros(0)) == beat_alignment(np.zeros(0), BEATS) == 0.0
    # By chance: the mean of the Gaussian over all shifts within half a beat.
    expected = 0.05 * np.sqrt(2 * np.pi) / 0.5
    assert beat_alignment_by_chance(BEATS, BEATS, SECONDS) == pytest.approx(expected, abs=0.06)


def test_beats_are_counted_between_them_and_nowhere_else():
    count = cycles_at(np.array([1.0, 2.0, 4.0]), np.array([0.9, 1.0, 1.5, 3.0, 4.0, 4.1]))
    np.testing.assert_allclose(count, [np.nan, 0.0, 0.5, 1.5, 2.0, np.nan])
    assert np.isnan(cycles_at(np.array([1.0]), np.zeros(3))).all()


def test_the_share_that_a_cycle_explains_and_its_phase():
    cycles = np.arange(6000) / 100
    sine = np.cos(2 * np.pi * (cycles - 0.2))
    amplitude, explained = cycle_fit(3 + 0.1 * sine, cycles)
    assert explained == pytest.approx(1.0)
    assert amplitude == pytest.approx(np.exp(2j * np.pi * 0.2), abs=1e-6)
    assert cycle_fit(sine + np.sin(4 * np.pi * cycles), cycles)[1] == pytest.approx(0.5)
    assert cycle_fit(np.random.default_rng(0).standard_normal(6000), cycles)[1] < 0.005
    assert cycle_fit(np.full(6000, 0.9), cycles) == (0j, 0.0)


@pytest.mark.parametrize("hertz", [1.0, 3.0, 9.0])
def test_the_band_of_a_movement_is_where_its_acceleration_is(hertz):
    time = np.arange(1200) / 60
    positions = np.zeros((1200, 2, 3))
    positions[:, 0, 1] = np.sin(2 * np.pi * hertz * time)
    positions[:, 1, 2] = 1e-4 * np.sin(2 * np.pi * 25.0 * time)
    assert bandwidth_hz(positions, 60.0) == pytest.approx(hertz, abs=0.5)
    assert bandwidth_hz(np.zeros((100, 2, 3)), 60.0) == bandwidth_hz(positions[:2], 60.0) == 30.0


def body(seconds, period_s=None, turn=0.0):
    """Points of a body that turns evenly, with hands that repeat or wander."""
    frames = round(seconds * FPS)
    t, rng = np.arange(frames) / FPS, np.random.default_rng(0)
    cycle = t if period_s is None else np.mod(t, period_s)
    angle = np.radians(turn) * t
    turning = np.zeros((frames, 3, 3))
    turning[:, 0, 0] = turning[:, 2, 2] = np.cos(angle)
    turning[:, 0, 2], turning[:, 2, 0] = np.sin(angle), -np.sin(angle)
    turning[:, 1, 1] = 1.0
    places = {"hip": (0.1, 1.0, 0.0), "knee": (0.1, 0.5, 0.0), "hand": (0.3, 1.1, 0.2)}
    points = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for part, (x, y, z) in places.items():
            local = np.tile([sign * x, y, z], (frames, 1))
            if part == "hand":
                hertz, phase = rng.uniform(0.1, 0.9, (3, 6)), rng.uniform(0, 6, (3, 6))
                waves = np.sin(2 * np.pi * cycle[:, None, None] * hertz + phase)
                local = local + 0.08 * waves.sum(2)
            points[f"{side}_{part}"] = np.einsum("fab,fb->fa", turning, local)
    points["root"] = 0.5 * (points["left_hip"] + points["right_hip"])
    return points


def test_a_step_that_returns_is_found_again_wherever_it_is_danced():
    assert nearest_repeats(dance_pieces(body(24.0, 4.0, turn=30.0), FPS)).max() < 0.002
    assert np.median(nearest_repeats(dance_pieces(body(24.0), FPS))) > 0.03
    assert dance_pieces(body(10.0), FPS).shape == (33, 8 * 6 * 3)
    assert len(dance_pieces(body(1.5), FPS)) == 0
    assert nearest_repeats(dance_pieces(body(3.0), FPS)).size == 0


@pytest.fixture(scope="module")
def recorded():
    """A synthetic dance and its song."""
    song = make_song(3, 24.0, tempo_bpm=110.0)
    return dance(song, 3).clip, features_of(song.samples)


def test_a_dance_to_its_song_has_all_measures(recorded):
    clip, song = recorded
    values = measure_dance(clip, song, 0.0)
    assert list(values) == list(DANCE_MEASURES)
    assert values["by_motion"] > 2 * values["by_motion_chance"]
    assert all(np.isfinite(value) for value in values.values())
    assert all(finding.good for finding in dance_findings(values, {})[:1])
    silent = replace(song, beat_confidence=0.0)
    assert "by_motion" not in measure_dance(clip, silent, 0.0)
    assert "bar_height" not in measure_dance(clip, replace(song, downbeats_s=None), 0.0)
    with pytest.raises(ParameterError, match="1 s or more"):
        measure_dance(clip.sliced(0, 30), song, 0.0)


def test_half_bars_explain_what_bars_do_not(recorded):
    song = recorded[1]
    beats = np.interp(TIME, song.downbeats_s, np.arange(len(song.downbeats_s)))
    halves = np.sin(4 * np.pi * beats)[120:]
    assert bar_shares(halves, FPS, song, 2.0)[0] < 0.1
    own, others = bar_shares(halves, FPS, song, 2.0, parts=(1, 2))
    assert own > 0.95 > 0.3 > others


def test_the_reference_is_the_mean_of_the_dances(recorded):
    clip, song = recorded
    reference = DanceReference.from_clips([clip, clip.sliced(0, 600)], [song, song])
    each = [measure_dance(part, song, 0.0) for part in (clip, clip.sliced(0, 600))]
    assert reference.values["speed"] == pytest.approx(np.mean([row["speed"] for row in each]))
    assert reference.dances == 2
    assert 0.0 < reference.bandwidth_hz < 30.0
    assert DanceReference.from_mapping(reference.as_mapping()) == reference
    with pytest.raises(CheckpointError, match="dance reference"):
        DanceReference.from_mapping({"values": {}})


def test_a_dance_below_chance_is_said():
    values = {"by_motion": 0.193, "by_motion_chance": 0.219}
    values |= {"bar_height": 0.39, "bar_height_shifted": 0.03}
    beats, bars = dance_findings(values, {"by_motion": 0.216})
    assert not beats.good
    assert "no more often than by chance" in beats.text
    assert "recorded dances 0.216" in beats.text
    assert bars.good
    assert "follow the bars" in bars.text
    # Chance is not beaten by its noise.
    assert not dance_findings(values | {"by_motion": 0.23}, {})[0].good
    assert dance_findings({}, {}) == ()
