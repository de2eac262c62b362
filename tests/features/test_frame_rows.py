"""Features of frames against motion by formula."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.features.feature import (
    BodyFrames,
    facing_directions,
    path_of_clip,
    relative_trajectory,
)
from deepphase.features.layout import Feature, FeatureLayout, Moments, Normalisation, frame_rows
from deepphase.motion.root_trajectory import RootTrajectory
from tests.formula_motion import NAMES, swinging

OFFSETS = (-0.5, 0.25, 1.0)


def circling(frames: int = 240, fps: float = 60.0, turn: float = 0.7, speed: float = 1.3):
    """A root on a circle, facing along it: its trajectory is the same from everywhere."""
    time = np.arange(frames) / fps
    angles = turn * time
    radius = speed / turn
    positions = np.stack([-radius * np.cos(angles), np.zeros(frames), radius * np.sin(angles)], -1)
    return RootTrajectory(positions, facing_directions(angles), np.zeros((frames, 4)), angles)


def test_a_circle_looks_the_same_from_everywhere():
    root = circling()
    path, inside = path_of_clip(root, np.array(OFFSETS), 60.0)
    positions, directions = relative_trajectory(
        path.positions, path.directions, root.positions, root.directions
    )
    np.testing.assert_array_equal(np.flatnonzero(inside), np.arange(30, 180))
    turned = 0.7 * np.array(OFFSETS)
    radius = 1.3 / 0.7
    # Facing +Z at the origin of a circle whose middle lies at +X.
    expected = np.stack([radius * (1 - np.cos(turned)), radius * np.sin(turned)], -1).reshape(-1)
    np.testing.assert_allclose(positions[inside], np.tile(expected, (150, 1)), atol=1e-4)
    expected = np.stack([np.sin(turned), np.cos(turned)], -1).reshape(-1)
    np.testing.assert_allclose(directions[inside], np.tile(expected, (150, 1)), atol=1e-6)


def test_behind_a_clips_end_it_goes_straight_on():
    root = circling(turn=1e-9)
    path, inside = path_of_clip(root, np.array([-1.0, 1.0]), 60.0)
    assert not inside[0]
    assert not inside[-1]
    positions, directions = relative_trajectory(
        path.positions, path.directions, root.positions, root.directions
    )
    np.testing.assert_allclose(positions, np.tile([0, -1.3, 0, 1.3], (240, 1)), atol=1e-5)
    np.testing.assert_allclose(directions, np.tile([0, 1, 0, 1], (240, 1)), atol=1e-6)


def test_a_batch_of_characters_is_a_batch_of_frames():
    rng = np.random.default_rng(0)
    positions, roots = rng.standard_normal((5, 3, 3)), rng.standard_normal((5, 3))
    angles = rng.uniform(-3, 3, 5)
    directions = facing_directions(rng.uniform(-3, 3, (5, 3)))
    together = relative_trajectory(positions, directions, roots, facing_directions(angles))
    for index in range(5):
        alone = relative_trajectory(
            positions[index], directions[index], roots[index], facing_directions(angles[index])
        )
        np.testing.assert_allclose(together[0][index], alone[0])
        np.testing.assert_allclose(together[1][index], alone[1])


def test_pose_of_a_body():
    clip, _ = swinging(1.0, 3.0)
    frames = BodyFrames.from_clip(clip)
    layout = FeatureLayout(
        Feature("hips_position", joints=("Hips",)),
        Feature("hips_velocity", joints=("Hips",)),
        Feature("foot_position", joints=("LeftFoot", "RightFoot")),
    )
    rows, inside = frame_rows(layout, frames)
    assert inside.all()
    np.testing.assert_allclose(rows[:, [0, 2]], 0, atol=1e-6)
    np.testing.assert_allclose(rows[10:-10, 5], 1.2, atol=1e-2)
    assert (rows[:, 6] > 0).all()  # the left foot lies to +X of a body that faces +Z
    assert (rows[:, 9] < 0).all()
    assert frames.joints == NAMES


def test_the_slow_pose_keeps_posture_and_loses_the_swing():
    clip, _ = swinging(2.0, 4.0)
    frames = BodyFrames.from_clip(clip)
    feet = {"joints": ("LeftFoot", "RightFoot")}
    layout = FeatureLayout(
        Feature("foot_position", **feet), Feature("slow_foot_position", **feet, smoothing_s=0.5)
    )
    rows, inside = frame_rows(layout, frames)
    assert inside.all()
    plain, slow = np.split(rows.astype(np.float64), 2, axis=1)
    middle = slice(60, -60)
    moving = plain[middle].std(0) > 0.05
    assert moving.any()
    # A Gaussian of 0.5 s leaves exp(-2 (pi 2 Hz 0.5 s)^2) of 2 Hz, which is nothing.
    np.testing.assert_allclose(slow[middle][:, moving].std(0), 0, atol=2e-3)
    np.testing.assert_allclose(slow[middle].mean(0), plain[middle].mean(0), atol=5e-3)
    # A pose that is held stays as it is, to the very ends.
    held = replace(frames, positions=np.repeat(frames.positions[:1], len(frames), axis=0))
    rows, _ = frame_rows(layout, held)
    np.testing.assert_allclose(rows[:, 6:], rows[:, :6], atol=1e-6)


def test_phases_and_tracks_at_offsets():
    clip, _ = swinging(1.0, 1.0)
    frames = BodyFrames.from_clip(clip)
    values = np.arange(len(clip), dtype=float)[:, None]
    layout = FeatureLayout(Feature("song", kind="track", channels=1, offsets_s=(-0.1, 0.0, 0.1)))
    rows, inside = frame_rows(layout, frames, tracks={"song": values})
    np.testing.assert_array_equal(rows[6:-6], values[6:-6] + np.array([-6, 0, 6]))
    np.testing.assert_array_equal(rows[0], [0, 0, 6])
    np.testing.assert_array_equal(np.flatnonzero(inside), np.arange(6, len(clip) - 6))
    phases = FeatureLayout(Feature("phase_manifold", channels=1))
    with pytest.raises(
        ParameterError, match="feature 'phase_manifold' must have values for each of the"
    ):
        frame_rows(phases, frames)
    with pytest.raises(ParameterError, match="feature 'phase_manifold' must have finite values"):
        frame_rows(phases, frames, manifold=np.full((len(clip), 2), np.nan))


def test_normalisation_in_pieces_is_that_of_all():
    rng = np.random.default_rng(0)
    layout = FeatureLayout(
        Feature("a", kind="track", channels=3, weight=2.0),
        Feature("b", kind="track", channels=2),
        Feature("still", kind="track", channels=1),
        Feature("unused", kind="track", channels=1, weight=0.0),
    )
    rows = rng.standard_normal((1000, 7)) * [1, 2, 3, 10, 20, 0, 5] + 1000.0
    moments = Moments()
    for piece in np.array_split(rows, [1, 300, 300, 999]):
        moments.add(piece)
    found = moments.normalisation(layout)
    np.testing.assert_allclose(found.mean, rows.mean(0), rtol=1e-6)
    deviation = rows.std(0)
    expected = [2 / deviation[:3].mean()] * 3 + [1 / deviation[3:5].mean()] * 2 + [1.0, 0.0]
    np.testing.assert_allclose(found.scale, expected, rtol=1e-4)
    normalised = found(rows)
    np.testing.assert_allclose(found.inverse(normalised)[:, :6], rows[:, :6], rtol=1e-4)
    np.testing.assert_allclose(found.of_block(rows[:, 3:5], slice(3, 5)), normalised[:, 3:5])
    assert isinstance(found, Normalisation)
    with pytest.raises(
        ParameterError, match="there must be at least one frame to normalise features by"
    ):
        Moments().normalisation(layout)
