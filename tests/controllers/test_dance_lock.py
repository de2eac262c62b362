"""Ratios of phases to the beat, and phases that are held to it."""

import numpy as np
import pytest

from controllers.character import Character
from controllers.character_frame import CharacterSettings
from controllers.dance_lock import MOST, BeatLock
from controllers.dance_ratios import RATIOS, BeatRatios, differences, nearness, told_ratio
from controllers.rollout import rollout
from controllers.starts import Starts
from deepphase.errors import CheckpointError, ParameterError
from deepphase.phase.parameters import PhaseParameters, wrapped
from tests.controllers.made_controllers import FormulaPhases, walking_store
from tests.controllers.made_dances import song_of
from tests.controllers.replaying import replay_of

_FPS = 60.0


def told(cycles, beats):
    return RATIOS.index((cycles, beats))


def one_channel(cycles, beats, offset, concentration=0.9):
    """Ratios that were learnt of a channel of one ratio."""
    shape = (1, len(RATIOS))
    parts = {name: np.zeros(shape) for name in ("offset", "concentration", "share")}
    parts["offset"][0, told(cycles, beats)] = offset
    parts["concentration"][0, told(cycles, beats)] = concentration
    return BeatRatios(**parts, chance=np.full(shape, 0.1))


def channel(phase, frequency, amplitude=1.0):
    values = [np.array([[each]]) for each in (phase, frequency, amplitude, 0.0)]
    return PhaseParameters(*values)


@pytest.mark.parametrize(("cycles", "beats"), RATIOS)
def test_a_channel_of_a_ratio_is_told_as_it(cycles, beats):
    near = nearness(np.array([2.0 * cycles / beats]), np.array([2.0]))
    assert near[0].argmax() == told(cycles, beats)
    assert near[0].max() == pytest.approx(1.0)
    assert np.count_nonzero(near) == 1
    # What keeps its ratio keeps its difference, whatever whole cycles lie between.
    beat = np.linspace(0.0, 30.0, 200)
    apart = differences(wrapped(beat * cycles / beats + 0.2), beat)[:, told(cycles, beats)]
    np.testing.assert_allclose(wrapped(apart - 0.2 * beats), 0.0, atol=1e-9)


def test_no_beat_and_no_movement_have_no_ratio():
    assert not nearness(np.array([0.0, 1.0]), np.array([2.0, 0.0])).any()
    assert told_ratio(told(1, 4)) == "1 cycle in 4 beats"


def _walked(phase_of_beat, spread=0.0, seconds=60.0, seed=0):
    """A dance whose only channel has a cycle in two beats, at that phase on even beats."""
    times = np.arange(round(seconds * _FPS)) / _FPS
    beat = 2.0 * times
    noise = spread * np.random.default_rng(seed).standard_normal(len(times))
    phase = wrapped(0.5 * beat + phase_of_beat + noise)[:, None]
    ones = np.ones_like(phase)
    return phase, ones, 0.3 * ones, beat, np.full(len(times), 2.0)


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
    phase, frequency, amplitude, beat, beat_hz = _walked(0.0)
    # Two seconds and then at another phase: as beats anywhere.
    jumps = np.repeat(rng.uniform(-0.5, 0.5, len(phase) // 120), 120)[:, None]
    anywhere = wrapped(phase + jumps)
    learnt = BeatRatios.learnt([(anywhere, frequency, amplitude, beat, beat_hz)], 1)
    assert not learnt.weights.any()
    silent = BeatRatios.learnt([(phase, frequency, amplitude, beat, 0 * beat_hz)], 1)
    assert not silent.weights.any()


@pytest.mark.parametrize("content", [{}, {"ratios": [[1, 2]]}, {"ratios": "x"}])
def test_a_header_of_something_else_is_refused(content):
    with pytest.raises(CheckpointError, match="phases of beats"):
        BeatRatios.from_mapping(content)


def _held(lock, frequency, seconds, begun=0.3):
    """(frames,) phase of a channel of that frequency under a lock, and all that was added."""
    phase, added, phases = begun, [], []
    for _ in range(round(seconds * _FPS)):
        phase = phase + frequency / _FPS
        extra = float(lock(channel(wrapped(np.array(phase)), frequency))[0, 0])
        added.append(extra)
        phase += extra
        phases.append(phase)
    return np.array(phases), np.array(added)


@pytest.mark.parametrize("frequency", [1.92, 2.0, 2.08])
def test_a_channel_near_the_beat_is_brought_onto_it(frequency):
    song = song_of(120.0, 20.0)
    lock = BeatLock(one_channel(1, 1, 0.1), song, strength=1.0, fps=_FPS, first_s=1.0)
    phases, added = _held(lock, frequency, 15.0)
    times = 1.0 + np.arange(len(phases)) / _FPS
    beat = np.interp(times, song.beats_s, np.arange(len(song.beats_s)))
    apart = wrapped(phases - beat - 0.1)[600:]
    assert np.abs(apart).max() < 0.03
    # It is never hurried more than told.
    assert np.abs(added).max() <= MOST * frequency / _FPS + 1e-9
    loose = BeatLock(one_channel(1, 1, 0.1), song, strength=0.0, fps=_FPS, first_s=1.0)
    assert not _held(loose, frequency, 1.0)[1].any()


def test_all_channels_go_faster_by_one_share():
    song = song_of(120.0, 10.0)
    ratios = one_channel(1, 1, 0.0)
    both = BeatRatios(
        *(np.repeat(getattr(ratios, name), 2, axis=0) for name in ("offset", "concentration")),
        chance=np.repeat(ratios.chance, 2, axis=0),
        share=np.repeat(ratios.share, 2, axis=0),
    )
    lock = BeatLock(both, song, strength=1.0, fps=_FPS, first_s=2.0)
    frequency = np.array([[1.9, 0.7]])
    parts = PhaseParameters(0 * frequency + 0.1, frequency, frequency, 0 * frequency)
    added = lock(parts) / frequency
    assert added[0, 0] == pytest.approx(added[0, 1])
    assert abs(added[0, 0]) > 0


def test_a_lock_that_is_none_is_refused():
    with pytest.raises(ParameterError, match=r"lock of 1\.5"):
        BeatLock(one_channel(1, 1, 0.0), song_of(), strength=1.5, fps=_FPS, first_s=0.0)


def test_what_a_lock_adds_is_added_to_the_running_phases():
    clip = walking_store().clip(0)
    controller, starts, _ = replay_of(clip, "experts", [70, 80], FormulaPhases())
    settings = CharacterSettings(phase_blend=0.0)

    def run(lock):
        return rollout(
            Character(controller, Starts.of(starts, [0, 1]), settings=settings, phase_lock=lock),
            None,
            0.5,
        ).phases

    more = np.array([[0.01, -0.002], [0.0, 0.005]])
    free, held = run(None), run(lambda phases: more)
    frames = np.arange(1, free.phase.shape[1] + 1)[:, None]
    np.testing.assert_allclose(
        wrapped(held.phase - free.phase - more[:, None] * frames), 0.0, atol=2e-5
    )
    np.testing.assert_allclose(held.amplitude, free.amplitude, atol=1e-5)
