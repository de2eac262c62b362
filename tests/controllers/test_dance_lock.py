"""Ratios of phases to beat and bar, and dances that are held to them."""

from dataclasses import replace

import numpy as np
import pytest

from controllers.dance_clock import SongClock
from controllers.dance_lock import APART_S, MOST, BeatLock, DanceClock
from controllers.dance_ratios import RATIOS, BeatRatios, differences, nearness
from deepphase.errors import CheckpointError, ParameterError
from deepphase.phase.parameters import PhaseParameters, wrapped
from tests.controllers.made_dances import song_of

_FPS = 60.0


_BEAT_HZ, _BAR_HZ = 2.0, 0.5


def told(cycles, count, of="beat"):
    return RATIOS.index((cycles, count, of))


def one_channel(cycles, count, of, offset, concentration=0.9):
    """Ratios that were learnt of a channel of one ratio."""
    shape = (1, len(RATIOS))
    parts = {name: np.zeros(shape) for name in ("offset", "concentration", "share")}
    parts["offset"][0, told(cycles, count, of)] = offset
    parts["concentration"][0, told(cycles, count, of)] = concentration
    return BeatRatios(**parts, chance=np.full(shape, 0.1))


def channel(phase, frequency, amplitude=1.0):
    """Parameters of one frame of channels."""
    values = np.broadcast_arrays(*map(np.atleast_1d, (phase, frequency, amplitude, 0.0)))
    return PhaseParameters(*values)


@pytest.mark.parametrize(("cycles", "count", "of"), RATIOS)
def test_a_channel_of_a_ratio_is_told_as_it(cycles, count, of):
    which = int(of == "bar")
    hz = np.array([_BEAT_HZ, _BAR_HZ])
    # The other clock runs at no ratio of it.
    hz[1 - which] = 0.0
    near = nearness(np.array([hz[which] * cycles / count]), hz)
    assert near[0].argmax() == told(cycles, count, of)
    assert near[0].max() == pytest.approx(1.0)
    assert np.count_nonzero(near) == 1
    # What keeps its ratio keeps its difference, whatever whole cycles lie between.
    clock = np.zeros((200, 2))
    clock[:, which] = np.linspace(0.0, 30.0, 200)
    phase = wrapped(clock[:, which] * cycles / count + 0.2)
    apart = differences(phase, clock)[:, told(cycles, count, of)]
    np.testing.assert_allclose(wrapped(apart - 0.2 * count), 0.0, atol=1e-9)


def test_beat_and_bar_are_told_beside_each_other():
    near = nearness(np.array([_BAR_HZ]), np.array([_BEAT_HZ, _BAR_HZ]))[0]
    assert np.flatnonzero(near).tolist() == [told(1, 4), told(1, 1, "bar")]


def test_no_beat_and_no_movement_have_no_ratio():
    assert not nearness(np.array([0.0, 1.0]), np.array([[2.0, 0.5], [0.0, 0.0]])).any()


def test_a_clock_of_a_song_tells_beat_and_bar():
    song = song_of(120.0, 20.0)
    clock = SongClock(song)
    assert clock.told
    position, hz = clock.at(song.beats_s[[3, 7]])
    np.testing.assert_allclose(position[:, 0], [3, 7], atol=1e-9)
    np.testing.assert_allclose(hz, [[2.0, 0.5], [2.0, 0.5]], rtol=0.02)
    assert position[1, 1] - position[0, 1] == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(clock.at(song.downbeats_s[1:3])[0][:, 1], [1.0, 2.0], atol=1e-9)
    assert clock.inside(np.array([-1.0, 10.0, 99.0]))[:, 0].tolist() == [False, True, False]
    doubtful = SongClock(replace(song, bar_confidence=0.1))
    assert doubtful.at(np.array(5.0))[1].tolist() == pytest.approx([2.0, 0.0], abs=0.05)
    assert not SongClock(replace(song, beat_confidence=0.1)).told


def _walked(phase_of_beat, spread=0.0, seconds=60.0, seed=0):
    """A dance whose only channel has a cycle in two beats, at that phase on even beats."""
    times = np.arange(round(seconds * _FPS)) / _FPS
    clock = np.stack([_BEAT_HZ * times, np.zeros_like(times)], axis=1)
    noise = spread * np.random.default_rng(seed).standard_normal(len(times))
    phase = wrapped(0.5 * clock[:, 0] + phase_of_beat + noise)[:, None]
    ones = np.ones_like(phase)
    return phase, ones, 0.3 * ones, clock, np.full((len(times), 2), (_BEAT_HZ, 0.0))


def test_where_beats_fall_is_learnt():
    learnt = BeatRatios.learnt([_walked(0.1), _walked(0.1)], 1)
    half = told(1, 2)
    # Two cycles of the channel are one of the difference.
    assert learnt.offset[0, half] == pytest.approx(0.2, abs=1e-6)
    assert learnt.concentration[0, half] == pytest.approx(1.0)
    assert learnt.share[0, half] == pytest.approx(1.0)
    assert learnt.weights[0, half] > 0.9
    again = BeatRatios.from_mapping(learnt.as_mapping())
    np.testing.assert_allclose(again.offset, learnt.offset)


def test_what_keeps_to_no_beat_is_not_relied_on():
    rng = np.random.default_rng(0)
    phase, frequency, amplitude, clock, clock_hz = _walked(0.0)
    # Two seconds and then at another phase: as beats anywhere.
    jumps = np.repeat(rng.uniform(-0.5, 0.5, len(phase) // 120), 120)[:, None]
    anywhere = wrapped(phase + jumps)
    learnt = BeatRatios.learnt([(anywhere, frequency, amplitude, clock, clock_hz)], 1)
    assert not learnt.weights.any()
    silent = BeatRatios.learnt([(phase, frequency, amplitude, clock, 0 * clock_hz)], 1)
    assert not silent.weights.any()


@pytest.mark.parametrize("content", [{}, {"ratios": [[1, 2]]}, {"ratios": "x"}])
def test_a_header_of_something_else_is_refused(content):
    with pytest.raises(CheckpointError, match="phases of beats"):
        BeatRatios.from_mapping(content)


def _held(lock, frequency, seconds, start_s=1.0, begun=0.3):
    """Times of a dance under a lock, and phases of its one channel of that own frequency."""
    clock = DanceClock(start_s, _FPS, lock)
    phases = wrapped(begun + np.arange(round(seconds * _FPS)) * frequency / _FPS)
    for phase in phases:
        clock.advance(channel(phase, frequency))
    return np.array(clock.times_s[1:]), phases, np.array(clock.hastes[1:])


@pytest.mark.slow
@pytest.mark.parametrize("begun", [0.18, 0.02])
@pytest.mark.parametrize(("count", "of"), [(1, "beat"), (1, "bar")])
def test_a_dance_beside_the_beat_is_brought_onto_it(begun, count, of):
    song = song_of(120.0, 20.0)
    ticks = song.beats_s if of == "beat" else song.downbeats_s
    frequency = 2.0 / (1 if of == "beat" else 4)
    at = float(np.interp(1.0, ticks, np.arange(len(ticks))))
    lock = BeatLock(one_channel(1, count, of, 0.1), song, 1.0)
    times, phases, hastes = _held(lock, frequency, 15.0, begun=begun + at)
    position = np.interp(times, ticks, np.arange(len(ticks)))
    settled = (times > 11.0) & (times < 15.0)
    assert np.abs(wrapped(phases - position - 0.1)[settled]).max() < 0.03
    # It is never hurried more than told.
    assert np.abs(hastes).max() <= MOST
    np.testing.assert_allclose(np.diff(times) * _FPS, 1 / (1 + hastes[:-1]), rtol=1e-9)
    loose = BeatLock(one_channel(1, count, of, 0.1), song, 0.0)
    times, _, hastes = _held(loose, frequency, 1.0)
    assert not hastes.any()
    np.testing.assert_allclose(times, 1.0 + np.arange(60) / _FPS, atol=1e-9)


def test_a_dance_that_nothing_is_learnt_of_goes_on_as_it_is():
    lock = BeatLock(one_channel(1, 1, "beat", 0.1, concentration=0.0), song_of(120.0, 10.0), 1.0)
    assert not _held(lock, 1.9, 3.0)[2].any()


@pytest.mark.slow
def test_what_is_heard_goes_on_evenly_and_the_dance_stays_near_it():
    song = song_of(120.0, 20.0)
    # A dance slower by a tenth would need more and more haste.
    lock = BeatLock(one_channel(1, 1, "beat", 0.1), song, 1.0)
    clock = DanceClock(2.0, _FPS, lock)
    for index in range(600):
        heard = clock.heard_at(np.array([-1.0, 0.0]))
        np.testing.assert_allclose(heard, 2.0 + (index - 1) / _FPS + np.array([-1.0, 0.0]))
        clock.advance(channel(wrapped(np.array(index * 1.8 / _FPS)), 1.8))
    early = 2.0 + np.arange(600) / _FPS - np.array(clock.times_s[1:])
    assert 0.2 < np.abs(early).max() < APART_S + 0.01


def test_a_lock_that_is_none_is_refused():
    with pytest.raises(ParameterError, match=r"lock of 1\.5"):
        BeatLock(one_channel(1, 1, "beat", 0.0), song_of(), 1.5)
