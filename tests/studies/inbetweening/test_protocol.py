"""The measures of the in-betweening study, on motion by formula."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.motion_rows import MotionSpace
from deepphase.motion import quaternions
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import resample
from deepphase.synthetic.gait_motion import locomotion
from tests.studies.inbetweening.protocol import (
    FPS,
    PAST,
    STATISTICS_WINDOWS,
    TEST_WINDOWS,
    Scale,
    clip_of,
    held,
    measures,
    npss,
    straight,
    windows_of,
)


@pytest.fixture(scope="module")
def body():
    clips = [locomotion(seed, 4.0, turn_rate=0.4 * seed).clip for seed in range(3)]
    store = ClipStore.from_clips(clips)
    space = MotionSpace.of_clip(store.clip(0), FPS)
    return store, space, windows_of(store, space, *TEST_WINDOWS)


def test_windows_are_the_clips_turned_and_centred(body):
    store, space, windows = body
    assert len(windows) == 3 * 2
    np.testing.assert_allclose(windows.places[..., ::2].mean(axis=1), 0.0, atol=1e-9)
    clip = resample(space.on_hips(store.clip(0)), FPS)
    expected = joint_positions(clip)[:65, space.points.joints]
    found = windows.globals()[1][0]
    # Distances between joints and moments do not change.
    for a, b in ((0, 40), (5, 64)):
        np.testing.assert_allclose(
            np.linalg.norm(found[a] - found[b], axis=-1),
            np.linalg.norm(expected[a] - expected[b], axis=-1),
            atol=1e-5,
        )
    made = clip_of(windows, 0, space, clip)
    np.testing.assert_allclose(joint_positions(made)[:, space.points.joints], found, atol=1e-5)


def test_the_truth_is_free_of_errors_and_holding_is_worse_than_interpolation(body):
    store, space, windows = body
    scale = Scale.of(windows_of(store, space, *STATISTICS_WINDOWS))
    for missing in (5, 15):
        true = windows.part(PAST, PAST + missing)
        exact = measures(true.with_motion(-true.rotations, true.places), true, scale)
        assert (exact.l2p, exact.l2q, exact.npss) == pytest.approx((0, 0, 0), abs=1e-9)
        line = measures(straight(windows, missing), true, scale)
        still = measures(held(windows, missing), true, scale)
        assert 0 < line.l2p < still.l2p
        assert 0 < line.l2q < still.l2q


def test_interpolation_of_a_steady_turn_is_exact(body):
    windows = body[2]
    turns = np.linspace(0.0, 1.2, windows.places.shape[1])
    up = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), turns)
    rotations = np.broadcast_to(up[None, :, None], windows.rotations.shape).copy()
    places = np.broadcast_to(turns[None, :, None], windows.places.shape).copy()
    steady = windows.with_motion(rotations, places)
    made, true = straight(steady, 15), steady.part(PAST, PAST + 15)
    np.testing.assert_allclose(made.places, true.places, atol=1e-9)
    found = measures(made, true, Scale(np.zeros(1), np.ones(1)))
    assert (found.l2p, found.l2q) == pytest.approx((0, 0), abs=1e-6)


def test_npss_compares_frequencies_by_power():
    times = np.arange(32)
    waves = [np.sin(2 * np.pi * cycles * times / 32)[None, :, None] for cycles in (2, 4, 8)]
    assert npss(waves[0], waves[0]) == 0.0
    assert npss(waves[1], waves[0]) == pytest.approx(2.0)  # both peaks, each moved by two lines
    assert npss(waves[2], waves[0]) > npss(waves[1], waves[0])
    assert npss(3.0 * waves[0], waves[0]) == pytest.approx(0.0, abs=1e-9)
