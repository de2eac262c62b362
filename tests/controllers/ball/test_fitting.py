"""Balls fitted to motion: physics between touches, touches by feet, and nothing through legs."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.controllers.ball.ball_track import BallTrack, ClipBalls, load_ball, save_ball
from deepphase.controllers.ball.captured import captured_ball
from deepphase.controllers.ball.fitting import FOOT_RADIUS_M, LegPoints, fit_ball
from deepphase.errors import CheckpointError, FormatError, ParameterError
from deepphase.formats.load import load, save
from deepphase.formats.points import load_points, save_points
from deepphase.motion.ball import Ball
from deepphase.motion.clip import joint_positions
from deepphase.motion.contacts import GRAVITY
from deepphase.motion.point_track import PointTrack, without_balls
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion

BALL = Ball(rolling=0.09)


@pytest.fixture(scope="module")
def walk():
    return locomotion(1, 5.0, speed=1.3, turn_rate=0.3).clip


@pytest.fixture(scope="module")
def track(walk):
    return fit_ball(walk, BALL)


def legs_of(clip):
    return LegPoints.from_clip(clip, find_roles(clip.skeleton, clip=clip))


def test_a_simulation_from_the_touches_makes_the_same_path(track):
    """Plain steps of constant friction, which know touches and impulses alone."""
    fine, speed = 50, track.velocities[0].copy()
    place = track.positions[0].copy()
    hits = dict(zip(track.touches.frames.tolist(), track.touches.impulses, strict=True))
    dt, away = 1.0 / track.fps / fine, []
    for frame in range(len(track)):
        if frame in hits and frame > 0:
            speed = speed + hits[frame] / BALL.mass_kg
        away.append(np.linalg.norm(place - track.positions[frame]))
        for _ in range(fine):
            size = np.linalg.norm(speed)
            slower = max(size - 0.09 * GRAVITY * dt, 0.0)
            speed = speed * (slower / size if size > 0 else 0.0)
            place = place + dt * speed
    assert len(hits) >= 3
    assert max(away) < 0.02


def test_touches_are_by_feet_that_swing_at_the_ball(walk, track):
    legs = legs_of(walk)
    for frame, foot, impulse in zip(
        track.touches.frames.tolist(), track.touches.feet, track.touches.impulses, strict=True
    ):
        column = legs.feet.index(foot)
        assert legs.swinging[frame, column]
        point = legs.positions[:, legs.foremost[column]]
        gap = np.linalg.norm(track.positions[frame] - point[frame])
        assert gap == pytest.approx(BALL.radius_m + FOOT_RADIUS_M, abs=1e-6)
        # The impulse points from the foot to the ball.
        assert impulse @ (track.positions[frame] - point[frame]) > 0
        assert np.linalg.norm(impulse) / BALL.mass_kg < 7.0
    assert (track.touches.restitutions < 0.8).all()


def test_the_ball_stays_near_and_out_of_the_legs(walk, track):
    legs = legs_of(walk)
    away = np.linalg.norm(track.positions[:, ::2] - legs.roots, axis=1)
    assert away.max() < 1.2
    gaps = np.linalg.norm(legs.positions - track.positions[:, None], axis=-1).min(axis=1)
    assert gaps.min() - BALL.radius_m - FOOT_RADIUS_M > -0.06
    np.testing.assert_allclose(track.positions[:, 1], BALL.radius_m)
    assert (track.plausible > 0.1).mean() > 0.9


def test_a_ball_is_saved_and_read_again(track, tmp_path):
    save_ball(track, tmp_path / "walk.ball")
    again = load_ball(tmp_path / "walk.ball")
    np.testing.assert_array_equal(again.positions, track.positions)
    np.testing.assert_array_equal(again.touches.impulses, track.touches.impulses)
    assert (again.ball, again.touches.feet) == (BALL, track.touches.feet)
    damaged = bytearray((tmp_path / "walk.ball").read_bytes())
    damaged[-9] ^= 255
    (tmp_path / "bad.ball").write_bytes(damaged)
    with pytest.raises(CheckpointError):
        load_ball(tmp_path / "bad.ball")
    with pytest.raises(ParameterError, match="no ball"):
        ClipBalls.read([])
    with pytest.raises(ParameterError, match="two balls"):
        ClipBalls([track, again])


def captured(walk, track, name="ball", **changes) -> PointTrack:
    points = joint_positions(walk).astype(np.float64)
    floor = legs_of(walk).floor
    ball = track.positions + np.array([0.0, floor, 0.0])
    made = PointTrack(
        (*walk.skeleton.names, name), np.concatenate([points, ball[:, None]], axis=1), walk.fps
    )
    return replace(made, **changes)


def read_captured(points: PointTrack, walk) -> BallTrack:
    return captured_ball(points, walk, BALL, find_roles(walk.skeleton, clip=walk))


def test_a_captured_ball_has_its_touches_and_its_gaps_are_bridged(walk, track):
    points = captured(walk, track)
    found = read_captured(points, walk)
    assert found.captured
    np.testing.assert_allclose(found.positions, track.positions, atol=1e-6)
    near = [np.abs(found.touches.frames - frame).min() for frame in track.touches.frames[1:-1]]
    assert np.mean(np.array(near) <= 4) >= 0.6
    present = np.ones(points.positions.shape[:2], bool)
    present[100:115, -1] = False
    gap = np.array(points.positions)
    gap[100:115, -1] = 0.0
    bridged = read_captured(replace(points, positions=gap, present=present), walk)
    assert np.abs(bridged.positions - track.positions).max() < 0.25
    present[100:160, -1] = False
    with pytest.raises(FormatError, match="missing in frames 100 to 159"):
        read_captured(replace(points, present=present), walk)


def test_impossible_captures_are_refused(walk, track):
    points = captured(walk, track)
    with pytest.raises(FormatError, match="no point named ball"):
        read_captured(without_balls(points), walk)
    two = replace(
        points,
        names=(*points.names, "Ball_2"),
        positions=np.concatenate([points.positions, points.positions[:, -1:] + 1.0], axis=1),
    )
    with pytest.raises(FormatError, match="2 balls: ball, Ball_2"):
        read_captured(two, walk)
    low = np.array(points.positions)
    low[50:, -1, 1] -= 0.5
    with pytest.raises(FormatError, match="under the floor"):
        read_captured(replace(points, positions=low), walk)
    fast = np.array(points.positions)
    fast[50:, -1, 0] += 3.0
    with pytest.raises(FormatError, match="m/s"):
        read_captured(replace(points, positions=fast), walk)


@pytest.mark.slow
def test_the_program_fits_resumes_and_reads_captures(walk, track, tmp_path, capsys):
    save(walk, tmp_path / "in" / "walk.bvh")
    save_points(captured(walk, track), tmp_path / "in" / "capture.npz")
    body = load(tmp_path / "in" / "capture.npz")
    assert "ball" not in body.skeleton.names
    assert "ball" in load_points(tmp_path / "in" / "capture.npz").names
    assert main(["fit", "ball", str(tmp_path / "in"), "-o", str(tmp_path / "ball")]) == 0
    said = capsys.readouterr().out
    assert "1 were captured with the motion" in said
    balls = ClipBalls.read([tmp_path / "ball"])
    assert {each.captured for each in balls.tracks} == {True, False}
    assert "ballRadius" in (tmp_path / "ball" / "index.html").read_text()
