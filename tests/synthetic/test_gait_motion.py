"""Synthetic locomotion: gaits, feet on the ground, phases."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from deepphase.errors import ParameterError
from deepphase.motion.clip import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.synthetic.bodies import biped, body_named, quadruped
from deepphase.synthetic.gait import FREEDOMS, gaits_of
from deepphase.synthetic.gait_motion import locomotion, perform
from deepphase.synthetic.program import PROFILES, Segment, Tempo
from tests.synthetic.motion_checks import (
    largest_acceleration,
    largest_angular_acceleration,
    largest_phase_error,
    largest_slide,
    lowest_points,
    stances,
)

ALL_GAITS = [(body, gait) for body in FREEDOMS for gait in gaits_of(body)]
MOVING = [(body, name) for body, name in ALL_GAITS if name != "idle"]
# Acceleration of the fastest joint, m/s^2: knees and feet of a gallop have about 350.
_ACCELERATION = {"biped": 350.0, "quadruped": 480.0}
_ANGULAR_ACCELERATION = {"biped": 2000.0, "quadruped": 5000.0}


@pytest.fixture(scope="module")
def made():
    cache = {}

    def make(body, gait, **options):
        key = (body, gait, tuple(sorted(options.items())))
        if key not in cache:
            turn = 1.0 if gait == "turn" else 0.3
            cache[key] = locomotion(
                4, 12, body=body, gait=gait, **{"turn_rate": turn, "profile": "drift", **options}
            )
        return cache[key]

    return make


@pytest.mark.parametrize(("body", "gait"), ALL_GAITS)
class TestEveryGait:
    def test_feet_stand_on_the_floor_and_never_under_it(self, made, body, gait):
        motion = made(body, gait)
        lowest = lowest_points(motion, body_named(body))
        assert lowest.min() > -0.01
        assert np.abs(lowest[motion.contacts]).max() < 1e-3

    def test_lengths_between_joints_are_those_of_the_skeleton(self, made, body, gait):
        clip = made(body, gait).clip
        positions = joint_positions(clip).astype(np.float64)
        parents = clip.skeleton.parents[1:]
        lengths = np.linalg.norm(positions[:, 1:] - positions[:, parents], axis=-1)
        expected = np.linalg.norm(clip.skeleton.offsets[1:], axis=-1)
        assert np.abs(lengths - expected).max() < 1e-4

    def test_phase_steps_are_frequency_times_time(self, made, body, gait):
        motion = made(body, gait)
        assert largest_phase_error(motion) < 1e-6
        assert motion.phase.min() >= -0.5
        assert motion.phase.max() < 0.5

    def test_nothing_pops(self, made, body, gait):
        motion = made(body, gait)
        assert largest_acceleration(motion) < _ACCELERATION[body]
        assert largest_angular_acceleration(motion) < _ANGULAR_ACCELERATION[body]

    def test_roles_and_kind_are_found(self, made, body, gait):
        clip = made(body, gait).clip
        assert find_roles(clip.skeleton, clip=clip).kind == body


@pytest.mark.parametrize(("body", "gait"), MOVING)
class TestEveryMovingGait:
    def test_phase_is_zero_at_touch_down(self, made, body, gait):
        motion = made(body, gait)
        definition = gaits_of(body)[gait]
        frame = motion.frequency.max() / motion.clip.fps
        for limb in range(len(motion.limb_names)):
            landings = [run.start for run in stances(motion.contacts[:, limb]) if run.start > 0]
            phases = motion.phase[landings, limb]
            if definition.hop[1] > definition.hop[0]:
                phases = phases[np.abs(phases - definition.hop[1]) > 1.5 * frame]
            assert len(phases) > 5
            assert (phases >= 0).all()
            assert phases.max() < frame + 1e-9

    def test_share_of_contact_is_the_duty_factor(self, made, body, gait):
        motion = made(body, gait)
        definition = gaits_of(body)[gait]
        expected = definition.duty - (definition.hop[1] - definition.hop[0])
        phase = np.mod(motion.phase, 1.0)
        limit = motion.frequency.max() / motion.clip.fps
        assert np.abs(phase[motion.contacts]).max() <= definition.duty + 1e-6
        # Weighted by frequency: a drifting one passes unequal times in equal phases.
        for limb in range(len(motion.limb_names)):
            weight = motion.frequency[:, limb]
            share = weight[motion.contacts[:, limb]].sum() / weight.sum()
            assert share == pytest.approx(expected, abs=2 * limit)

    def test_travels_at_its_speed_where_it_faces(self, body, gait):
        motion = locomotion(2, 10, body=body, gait=gait, variety=0)
        definition = gaits_of(body)[gait]
        hips = joint_positions(motion.clip)[:, 0].astype(np.float64)
        stride = round(motion.clip.fps / motion.frequency[0, 0])
        strides = (len(hips) - 1) // stride * stride
        mean = (hips[strides] - hips[0]) / (strides / motion.clip.fps)
        expected = definition.speed * np.array([definition.heading[0], 0, definition.heading[1]])
        np.testing.assert_allclose(mean[[0, 2]], expected[[0, 2]], atol=0.05)


def test_knees_bend_forward_and_elbows_of_front_legs_backward():
    for body, gait in MOVING:
        motion = locomotion(1, 4, body=body, gait=gait)
        positions = joint_positions(motion.clip).astype(np.float64)
        root = root_trajectory(motion.clip, find_roles(motion.clip.skeleton), positions)
        for limb in body_named(body).limbs:
            upper, middle, foot = (positions[:, j] for j in (limb.upper, limb.lower, limb.foot))
            line = foot - upper
            bend = (
                middle
                - upper
                - line
                * (
                    np.einsum("fc,fc->f", middle - upper, line)[:, None]
                    / np.einsum("fc,fc->f", line, line)[:, None]
                )
            )
            forward = np.einsum("fc,fc->f", bend, root.directions.astype(np.float64))
            assert (limb.bends * forward > 0).all()


def test_arms_swing_against_the_leg_of_their_side():
    motion = locomotion(1, 10, gait="walk", variety=0)
    positions = joint_positions(motion.clip).astype(np.float64)
    index = motion.clip.skeleton.index
    hand = positions[:, index("LeftHand"), 2] - positions[:, 0, 2]
    foot = positions[:, index("LeftFoot"), 2] - positions[:, 0, 2]
    assert np.corrcoef(hand, foot)[0, 1] < -0.9


def test_same_seed_same_motion_other_seed_another():
    first, again, other = (locomotion(seed, 3, profile="ramp") for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.clip.rotations, again.clip.rotations)
    np.testing.assert_array_equal(first.phase, again.phase)
    assert np.abs(first.clip.rotations - other.clip.rotations).max() > 0.01


def test_ramps_change_at_half_a_hertz_a_second_and_drifts_by_15_percent():
    ramp = locomotion(1, 20, profile="ramp")
    rate = np.abs(np.diff(ramp.frequency[:, 0])) * 60
    assert np.median(rate) == pytest.approx(0.5, rel=1e-6)
    drift = locomotion(1, 20, profile="drift").frequency[:, 0]
    mean = 0.5 * (drift.max() + drift.min())
    assert drift.max() / mean == pytest.approx(1.15, abs=1e-3)


def test_frequency_and_duty_survive_any_frame_rate():
    slow, fast = locomotion(3, 5, fps=20), locomotion(3, 5, fps=120)
    np.testing.assert_allclose(slow.phase, fast.phase[::6], atol=1e-9)
    np.testing.assert_array_equal(slow.contacts, fast.contacts[::6])
    feet = [
        joint_positions(motion.clip)[:, motion.contact_joints][..., [0, 2]]
        for motion in (slow, fast)
    ]
    np.testing.assert_allclose(feet[0][slow.contacts], feet[1][::6][slow.contacts], atol=1e-3)


def test_starts_and_stops():
    program = [Segment("idle", 3), Segment("walk", 5), Segment("idle", 4)]
    motion = perform(program, 1)
    assert motion.contacts[:170].all()
    assert motion.contacts[-60:].all()
    assert (motion.frequency[:170] == 0).all()
    assert (np.abs(motion.frequency[-60:]) < 1e-9).all()
    hips = joint_positions(motion.clip)[:, 0]
    assert hips[-1, 2] - hips[0, 2] > 4.0
    assert np.ptp(hips[-60:, 2]) < 0.03
    assert largest_slide(motion) < 1e-3
    feet = joint_positions(motion.clip)[-1, list(motion.contact_joints)]
    assert np.abs(feet[:, 2] - feet[:, 2].mean()).max() < 0.15
    assert motion.gait_names == ("idle", "walk")
    assert set(np.unique(motion.gait)) == {0, 1}


@st.composite
def programs(draw):
    body = draw(st.sampled_from(sorted(FREEDOMS)))
    segment = st.builds(
        Segment,
        gait=st.sampled_from(sorted(gaits_of(body))),
        seconds=st.floats(3.5, 6),
        turn_rate=st.floats(-1.2, 1.2),
        tempo=st.builds(Tempo, st.sampled_from(PROFILES)),
    )
    return body, draw(st.lists(segment, min_size=1, max_size=4)), draw(st.integers(0, 1000))


@pytest.mark.slow
@settings(max_examples=20)
@given(programs())
def test_any_program_keeps_feet_still_and_joints_smooth(case):
    body, program, seed = case
    motion = perform(program, seed, body=body)
    assert np.isfinite(motion.clip.rotations).all()
    assert np.isfinite(motion.phase).all()
    assert largest_slide(motion) < 1e-3
    assert lowest_points(motion, body_named(body)).min() > -0.01
    assert largest_phase_error(motion) < 1e-6
    # A change from a run to a skip has reached 1.35 of what single gaits have.
    assert largest_acceleration(motion) < 1.5 * _ACCELERATION[body]
    assert joint_positions(motion.clip)[:, 0, 1].min() > 0.6 * body_named(body).hips_height


def test_an_arm_waves_at_its_own_frequency():
    motion = locomotion(2, 20, oscillators={"LeftArm": 1.7})
    index = motion.clip.skeleton.index("LeftForeArm")
    turn = Rotation.from_quat(motion.clip.rotations[:, index]).magnitude()
    power = np.abs(np.fft.rfft(turn - turn.mean()))
    assert np.fft.rfftfreq(len(turn), 1 / 60)[power.argmax()] == pytest.approx(1.7, abs=0.03)
    wave = np.cos(2 * np.pi * motion.oscillator_phase[:, 0])
    assert np.corrcoef(turn, wave)[0, 1] > 0.999
    assert (motion.oscillator_amplitude[:, 0] == 1).all()
    assert (motion.oscillator_amplitude[:, 1] == 0).all()


def test_a_tail_wags_in_idle_too():
    motion = locomotion(2, 20, body="quadruped", gait="idle", oscillators={"Tail": 2.3})
    turn = Rotation.from_quat(motion.clip.rotations[:, motion.clip.skeleton.index("Tail")])
    yaw = turn.as_euler("YXZ")[:, 0]
    wave = np.cos(2 * np.pi * motion.oscillator_phase[:, 0])
    assert np.corrcoef(yaw, wave)[0, 1] > 0.999
    np.testing.assert_allclose(motion.oscillator_frequency, 2.3)


def test_bodies_have_their_size_and_stand_on_the_floor():
    for body, top, joints in ((biped(1.7), 1.7, 25), (quadruped(0.6), 0.6, 29)):
        positions = body.skeleton.rest_positions
        assert len(body.skeleton) == joints
        ends = positions[body.skeleton.end_parents] + body.skeleton.end_offsets
        assert ends[:, 1].min() == pytest.approx(0.01, abs=1e-9)
        height = ends[:, 1].max() if body.kind == "biped" else positions[10:, 1].max()
        assert height == pytest.approx(top, abs=0.02)
    child = locomotion(1, 5, body=biped(1.2), speed=0.9)
    assert largest_slide(child) < 1e-3


@pytest.mark.parametrize(
    "options",
    [
        {"body": "octopus"},
        {"gait": "trot"},
        {"profile": "wild"},
        {"fps": 0},
        {"fps": float("nan")},
        {"speed": 40.0},
        {"speed": float("inf")},
        {"oscillators": {"Tail": 2.0}},
        {"seconds": 0.0},
        {"seed": -1},
    ],
)
def test_impossible_motions_are_refused(options):
    with pytest.raises(ParameterError):
        locomotion(**{"seed": 1, "seconds": 5.0, **options})


def test_a_dog_turns_round_on_the_spot_without_lying_down():
    """Front feet step as often as a trunk that sweeps over them needs."""
    quick = Segment("trot", 0.65, speed=1.2, turn_rate=4.8, change_s=0.5)
    program = [Segment("walk", 3.0), quick, Segment("walk", 3.0, change_s=0.6)]
    motion = perform(program, 1, body=replace(quadruped(), longest_sweep=0.25), variety=0.0)
    angles = root_trajectory(motion.clip, find_roles(motion.clip.skeleton)).angles
    assert angles[260] - angles[180] > np.radians(150.0)
    assert joint_positions(motion.clip)[:, 0, 1].min() > 0.63 * quadruped().hips_height
    assert largest_slide(motion) < 1e-3


def test_a_change_needs_its_time():
    with pytest.raises(ParameterError, match="segment 2"):
        perform([Segment("gallop", 5), Segment("idle", 1.0)], 1, body="quadruped")
    with pytest.raises(ParameterError, match="has no segments"):
        perform([], 1)
    with pytest.raises(ParameterError, match="change in no time"):
        Segment("walk", 1.0, change_s=0.0)


@pytest.mark.parametrize("kind", FREEDOMS)
def test_every_shipped_gait_is_whole(kind):
    gaits = gaits_of(kind)
    assert gaits_of(kind) is gaits
    assert "idle" in gaits
    for name, gait in gaits.items():
        assert gait.name == name
        assert set(gait.waves) <= set(FREEDOMS[kind])
        assert gait.next
        assert set(gait.next) <= set(gaits)
        assert 0 < gait.hop[0] <= gait.hop[1] < gait.duty <= 1


def test_an_unknown_kind_of_body_is_refused():
    with pytest.raises(ParameterError, match="no body of kind 'fish'"):
        gaits_of("fish")
