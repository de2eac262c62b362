"""Claims, rings, foot strikes and searches of features."""

import numpy as np
import pytest

from deepphase.arrays import wrapped
from deepphase.phase.matches import Frames, nearest_frames
from deepphase.phase.parameters import PhaseParameters
from tests.studies.phase_features.autoregressive_search import searched_paths
from tests.studies.phase_features.feature_claims import Measured, claims_about, difference
from tests.studies.phase_features.feature_rings import one_way_matches, unevenness, windings
from tests.studies.phase_features.frame_features import FrameFeatures
from tests.studies.phase_features.strike_agreement import strike_deviations


def measured(values, clips, numbers=None):
    numbers = np.arange(len(values)) if numbers is None else np.array(numbers)
    return Measured(np.array(values, float), np.array(clips), numbers)


CLIPS = np.repeat(np.arange(10), 5)
NOISE = np.random.default_rng(0).normal(size=50)


@pytest.mark.parametrize(
    ("key", "shift", "outcome"),
    [("alignment", -0.1, "better"), ("alignment", 0.1, "worse"), ("distinct", 0.1, "better"),
     ("distinct", -0.1, "worse"), ("alignment", 0.0, "level")],
)  # fmt: skip
def test_outcomes_are_by_the_same_queries(key, shift, outcome):
    # The shift is far below the spread of the values, and of the clips.
    other = measured(NOISE + 3 * CLIPS, CLIPS)
    found = difference(key, measured(other.values + shift, CLIPS), "pose", other)
    assert found.outcome == outcome
    assert found.value == pytest.approx(shift)
    assert found.interval_95 == pytest.approx([shift, shift])


def test_clips_decide_and_not_frames():
    # Better by far in one of four clips, by many frames, and a little worse in the others.
    clips = np.array([0] * 1000 + [1, 2, 3])
    apart = np.where(clips == 0, -1.0, 0.1)
    found = difference("next", measured(apart, clips), "pose", measured(0 * apart, clips))
    assert found.outcome == "level"


def test_verdicts():
    clips = np.arange(8)
    one = {"winding": measured(np.ones(8), clips), "uneven": measured(np.ones(8), clips)}

    def verdict(winding, uneven):
        shares = {"winding": winding, "uneven": uneven}
        own = {key: measured(clips * 0 + share, clips) for key, share in shares.items()}
        differences = [difference(key, own[key], "velocity", one[key]) for key in own]
        (claim,) = claims_about(differences, own, {"velocity": one})
        assert "(1)" in claim.reason
        return claim.verdict

    assert verdict(2.0, 0.5) == "holds"
    assert verdict(2.0, 1.0) == verdict(2.0, 2.0) == "partly"
    assert verdict(1.0, 1.0) == "undecided"
    assert verdict(1.0, 2.0) == "does not hold"


FPS = 60.0
FRAMES = Frames(np.repeat([0, 1], 240), np.tile(np.arange(240), 2))
ANGLE = 2 * np.pi * np.arange(240) / 60


def both(curve):
    return np.concatenate([curve, curve]).astype(np.float32)


def test_a_ring_turns_one_way_in_even_steps():
    ring = both(np.stack([np.sin(ANGLE), np.cos(ANGLE)], -1))
    assert unevenness(ring, FRAMES, FPS) == pytest.approx([0, 0], abs=1e-5)
    assert windings(ring, FRAMES) == pytest.approx([1, 1], abs=1e-3)


def test_a_swing_turns_back_and_slows_down():
    # An arc that is passed to and fro, around a middle that lies beside it.
    turn = 0.9 * np.pi * np.sin(ANGLE)
    swing = both(np.stack([np.sin(turn), np.cos(turn)], -1))
    # The speed of a sine has a coefficient of variation of sqrt(pi^2 / 8 - 1).
    assert unevenness(swing, FRAMES, FPS) == pytest.approx(0.483, abs=0.03)
    assert windings(swing, FRAMES).max() < 0.1


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


def walks(clips=6, seconds=8.0, fps=60.0):
    """Phases of an unrelated clock and one of the step; strikes of two feet."""
    phases, strikes = [], []
    for clip in range(clips):
        time = np.arange(round(seconds * fps)) / fps
        step = time * (0.8 + 0.05 * clip)
        unrelated = time * 0.613 * (1 + clip)
        phases.append(wrapped(np.stack([unrelated, step + 0.21], -1)))
        strikes.append([np.flatnonzero(np.diff(np.floor(step + at))) for at in (0.0, 0.5)])
    return phases, strikes


def test_the_channel_that_times_steps_is_found():
    phases, strikes = walks()
    assert strike_deviations(phases, strikes).max() < 0.02
    without = [each[:, :1] for each in phases]
    assert strike_deviations(without, strikes).mean() > 0.15


def circling(clips=3, length=150, rate=1.1):
    index = np.tile(np.arange(length), clips)
    clip = np.repeat(np.arange(clips), length)
    phase = wrapped(index * rate / FPS + 0.37 * clip)[:, None]
    angle = 2 * np.pi * phase
    poses = np.stack([np.sin(angle), np.cos(angle), np.zeros_like(angle)], -1)
    ones = np.ones_like(phase)
    return PhaseParameters(phase, rate * ones, ones, 0 * ones), poses, Frames(clip, index)


def test_phases_play_on_and_poses_are_stuck():
    parameters, poses, frames = circling()
    options = {"steps": 60, "starts": 20}
    phase = FrameFeatures.of_phases("phase", parameters)
    pose = FrameFeatures("pose", poses.reshape(len(poses), -1))
    assert phase.advances
    assert not pose.advances
    on = searched_paths(phase, poses, frames, FPS, **options)
    stuck = searched_paths(pose, poses, frames, FPS, **options)
    assert on.paths.shape == (20, 61)
    assert on.forward.min() == 1
    assert on.distances[:, -1].max() < 0.1
    assert stuck.distinct.mean() < 0.3 < on.distinct.min()
    # After a second, a circle of radius 1 m is all around the start.
    assert stuck.distances.mean() > 0.5
