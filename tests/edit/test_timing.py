"""Durations that phases give, on motion whose phase is known by formula."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.cycles import wrapped
from deepphase.edit.inbetween import phase_passage
from deepphase.edit.motion_rows import MotionSpace
from deepphase.edit.timing import cycles_of_frames, phase_key_times, phase_timing
from deepphase.errors import ParameterError
from deepphase.motion.kinematics import joint_positions
from deepphase.phase.clip_phases import ClipPhases
from deepphase.phase.parameters import PhaseParameters
from deepphase.synthetic.gait_motion import locomotion
from tests.formula_motion import swinging


class TruePhases:
    """A model that knows the phase of a made motion; parts of it are named by their first frame."""

    fps, window, channels = 60.0, 121, 2

    def __init__(self, cycles, frequency):
        self.cycles, self.frequency = np.asarray(cycles), np.asarray(frequency)

    def encode(self, clip):
        start = int(clip.name)
        here = slice(start, start + len(clip))
        # The second channel is a weak overtone: two cycles for one.
        turns = np.stack([self.cycles[here], 2.0 * self.cycles[here]], axis=1)
        rates = np.stack([self.frequency[here], 2.0 * self.frequency[here]], axis=1)
        size = np.broadcast_to([1.0, 0.3], turns.shape)
        parameters = PhaseParameters(wrapped(turns), rates, size, np.zeros(turns.shape))
        return ClipPhases(parameters, np.ones(len(clip), bool), self.fps, clip.name)


def cut(clip, start, stop):
    return replace(clip.sliced(start, stop), name=str(start))


@pytest.fixture(scope="module")
def walk():
    """A walk and its phases."""
    motion = locomotion(seed=5, seconds=8.0)
    first = motion.phase[:, 0].astype(float)
    cycles = np.unwrap(2 * np.pi * first) / (2 * np.pi)
    return motion, TruePhases(cycles, motion.frequency[:, 0])


@pytest.mark.parametrize("missing", [20, 60, 100, 170])
def test_phases_and_the_way_give_the_duration_of_a_gap(walk, missing):
    motion, model = walk
    start, stop = 150, 150 + missing
    found = phase_timing(cut(motion.clip, 0, start), cut(motion.clip, stop, len(motion)), model)
    assert found.seconds == pytest.approx((missing + 1) / 60, abs=1.5 / 60)
    assert found.cycles == pytest.approx(model.cycles[stop] - model.cycles[start - 1], abs=1e-3)
    assert found.agreement > 0.99
    # Both feet come down once in a cycle.
    assert found.steps == pytest.approx(2 * found.cycles, abs=0.2)
    np.testing.assert_allclose(np.diff(found.durations), 1 / model.frequency[start], atol=2 / 60)


def test_steps_and_seconds_choose_the_nearest_duration(walk):
    motion, model = walk
    parts = cut(motion.clip, 0, 150), cut(motion.clip, 210, len(motion))
    own = phase_timing(*parts, model)
    more = phase_timing(*parts, model, steps=own.steps + 2)
    assert more.cycles == pytest.approx(own.cycles + 1, abs=1e-6)
    assert more.seconds == pytest.approx(own.seconds + 1 / model.frequency[150], abs=2 / 60)
    longer = phase_timing(*parts, model, seconds=more.seconds + 0.2)
    assert longer.seconds == more.seconds
    # One cycle is the default where the way says nothing.
    assert phase_timing(*parts, model, follow=True).seconds == min(
        own.durations, key=lambda each: abs(np.log(each * model.frequency[150]))
    )


def test_frequencies_change_evenly_from_one_end_to_the_other():
    slow, slow_cycles = swinging(1.0, 3.0)
    fast, fast_cycles = swinging(1.4, 3.0)
    before = TruePhases(slow_cycles, np.full(180, 1.0))
    after = TruePhases(fast_cycles, np.full(180, 1.4))

    class Both(TruePhases):
        def encode(self, clip):
            return (before if clip is slow_part else after).encode(clip)

    slow_part, fast_part = replace(slow, name="0"), replace(fast, name="0")
    found = phase_timing(slow_part, fast_part, Both([], []), seconds=2.0)
    assert found.seconds == pytest.approx(found.cycles / 1.2, abs=1 / 60)


def test_the_cycles_of_both_clips_continue_in_a_passage(walk):
    motion, model = walk
    start, stop = 180, 330
    first, second = cut(motion.clip, 0, start), cut(motion.clip, stop, len(motion))
    space = MotionSpace.from_clip(motion.clip, 30.0)
    made = phase_passage(first, second, stop - start, space, phase_timing(first, second, model))
    apart = np.linalg.norm(
        joint_positions(made) - joint_positions(motion.clip)[start:stop], axis=-1
    )
    assert apart.mean() < 0.02
    # Clips without a whole cycle give none.
    short = cut(motion.clip, start - 62, start), cut(motion.clip, stop, stop + 62)
    slow = TruePhases(0.5 * model.cycles, 0.5 * model.frequency)
    assert phase_passage(*short, 30, space, phase_timing(*short, slow, seconds=1.0)) is None


def test_keys_stand_where_phases_allow(walk):
    motion, model = walk
    clip, keys = replace(motion.clip, name="0"), [60, 100, 190]
    own, timings = phase_key_times(clip, keys, model)
    np.testing.assert_allclose(own, (np.array(keys) - 60) / 60, atol=1.5 / 60)
    assert [each.cycles for each in timings] == pytest.approx(np.diff(model.cycles[keys]), abs=1e-3)
    cycle = 1 / model.frequency[60]
    times, _ = phase_key_times(clip, keys, model, times=[0.0, 0.7, 0.7 + 1.5 + 1.2 * cycle])
    np.testing.assert_allclose(times - own, [0.0, 0.0, cycle], atol=2 / 60)
    steps, _ = phase_key_times(clip, keys, model, steps=[None, None, timings[1].steps + 4])
    np.testing.assert_allclose(steps - own, [0.0, 0.0, 2 * cycle], atol=3 / 60)


def test_cycles_are_counted_between_frames(walk):
    motion, model = walk
    clip = replace(motion.clip, name="0")
    counted = cycles_of_frames(clip, model, 0)
    np.testing.assert_allclose(counted - counted[0], model.cycles - model.cycles[0], atol=1e-6)


def test_what_has_no_phase_or_no_steps_is_refused(walk):
    motion, model = walk
    part = cut(motion.clip, 0, 150)
    with pytest.raises(ParameterError, match=r"phases are read from 1\.0 s"):
        phase_timing(part, cut(motion.clip, 300, 301), model)
    still = replace(
        part,
        rotations=part.rotations[:1].repeat(150, axis=0),
        translations=part.translations[:1].repeat(150, axis=0),
    )
    with pytest.raises(ParameterError, match="make no steps"):
        phase_timing(still, part, model, steps=2)
    flat = TruePhases(model.cycles, 0.0 * model.frequency)
    with pytest.raises(ParameterError, match="the motion at the ends of the clips is not periodic"):
        phase_timing(part, part, flat)
