"""Solving of point tracks: made motion is the truth, with and without noise, names, edges."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from deepphase.errors import SkeletonError
from deepphase.formats.points import load_points
from deepphase.motion.clip import joint_positions
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.point_track import PointTrack
from deepphase.motion.roles import PAIRED_PARTS, find_roles
from deepphase.solving.fitting import initial_guess, solve_body
from deepphase.solving.point_structure import clip_of_points, plain_names
from deepphase.solving.pose_solver import PoseSolver
from deepphase.solving.solve import solve_points
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.song import make_song
from tests.real_data import real_clips
from tests.solving.point_bodies import MARKER_SETS, markers_of_set

# Joints that every solved skeleton has.
LIMBS = tuple(
    side + part
    for side in ("Left", "Right")
    for part in ("UpLeg", "Leg", "Foot", "ToeBase", "Arm", "ForeArm", "Hand")
)
# What captures of 20 points lack: hips, spine, neck and collar bones.
TRUNK = ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Neck1", "LeftShoulder", "RightShoulder")


def walker():
    return locomotion(3, 5.0, gait="walk", fps=30.0).clip


def dancer():
    return dance(make_song(1), 1, fps=30.0).clip.sliced(0, 200)


def track_of_joints(clip, *, names=True, edges=True, seed=None, left_out=()):
    skeleton = clip.skeleton
    kept = [j for j, name in enumerate(skeleton.names) if name not in left_out]
    if seed is not None:
        kept = np.random.default_rng(seed).permutation(kept).tolist()
    pairs = [(int(p), j) for j, p in enumerate(skeleton.parents) if p >= 0]
    if not edges or left_out:
        pairs = []
    return PointTrack(
        tuple(skeleton.names[j] for j in kept) if names else plain_names(len(kept)),
        joint_positions(clip)[:, kept].astype(np.float64),
        clip.fps,
        edges=np.array([(kept.index(a), kept.index(b)) for a, b in pairs]).reshape(-1, 2),
    )


def noisy(clip, noise_m=0.01, wobble=0.08, seed=0):
    """(frames, joints, 3) positions with noise, and lengths that change slowly by so much."""
    rng = np.random.default_rng(seed)
    positions, parents = joint_positions(clip).astype(np.float64), clip.skeleton.parents
    made = positions.copy()
    for joint in range(1, len(parents)):
        change = gaussian_filter1d(rng.standard_normal(len(clip)), 15)
        change *= wobble / change.std()
        way = positions[:, joint] - positions[:, parents[joint]]
        made[:, joint] = made[:, parents[joint]] + way * (1.0 + change[:, None])
    return made + noise_m * rng.standard_normal(made.shape)


def jerk(positions):
    return np.abs(np.diff(positions, 3, axis=0)).mean()


def errors_cm(result, clip, names=LIMBS):
    found, true = joint_positions(result.clip), joint_positions(clip)
    return {
        name: 100
        * np.linalg.norm(
            found[:, result.clip.skeleton.index(name)] - true[:, clip.skeleton.index(name)], axis=1
        ).mean()
        for name in names
    }


def angular_speed(clip):
    """(frames - 1, joints) radians a second."""
    q = clip.rotations.astype(np.float64)
    cosine = np.abs(np.vecdot(q[1:], q[:-1])).clip(0, 1)
    return 2 * np.arccos(cosine) * clip.fps


@pytest.mark.slow
@pytest.mark.parametrize("make", [walker, dancer])
@pytest.mark.parametrize("edges", [True, False])
def test_without_noise_every_point_is_reached(make, edges):
    track = track_of_joints(make(), edges=edges)
    body = solve_body([track])
    solver = PoseSolver(body)
    state = solver.solve(initial_guess(body, track.positions, track.fps), track.positions, 7)
    # A joint may be off its point by millimetres: limbs are straight at rest, points are not.
    assert np.linalg.norm(solver.points(state) - track.positions, axis=-1).max() < 0.002


@pytest.mark.slow
@pytest.mark.parametrize("make", [walker, dancer])
def test_noise_and_changing_lengths(make):
    clip = make()
    points = noisy(clip)
    result = solve_points(replace(track_of_joints(clip), positions=points))
    # Noise of a centimetre on each axis is 1.6 cm of distance; lengths add to it.
    assert 1.2 < 100 * result.residuals.mean() < 2.3
    assert 100 * np.percentile(result.residuals, 95) < 4.5
    joints = joint_positions(result.clip).astype(np.float64)
    parents = result.clip.skeleton.parents[1:]
    lengths = np.linalg.norm(joints[:, 1:] - joints[:, parents], axis=-1)
    assert np.ptp(lengths, axis=0).max() < 1e-5
    assert jerk(joints) < 0.2 * jerk(points)
    assert angular_speed(result.clip).max() < 20.0


@pytest.mark.parametrize("name", MARKER_SETS)
def test_markers_of_standard_sets_become_the_body_that_carries_them(name):
    true = walker()
    track = markers_of_set(true, name)
    clip = clip_of_points(track)
    assert any(f"{len(track.names)} of {len(track.names)} labels" in n for n in clip.source.notes)
    roles = find_roles(clip.skeleton, clip=clip)
    assert [clip.skeleton.names[joint] for joint in roles.both("foot")] == ["LeftFoot", "RightFoot"]
    flags = foot_contacts(clip, roles).flags
    truth = foot_contacts(true, find_roles(true.skeleton)).flags
    assert (flags == truth).mean() > 0.8
    result = solve_points(track)
    assert result.residuals.mean() < 0.01
    # Markers lie on the skin, beside their joints.
    errors = errors_cm(result, true)
    assert max(errors.values()) < 7.0, errors
    legs = [errors[f"{side}{part}"] for side in ("Left", "Right") for part in ("UpLeg", "Foot")]
    assert max(legs) < 5.0, errors
    places = joint_positions(result.clip)
    assert -0.02 < places[..., 1].min() < 0.05
    assert (places[:, 0, 1] > 0.8).all()


def test_feet_stay_where_they_stand():
    clip = walker()
    track = replace(track_of_joints(clip), positions=noisy(clip))
    held = solve_points(track)
    contacts = held.feet.contacts
    assert 0.3 < contacts.mean() < 0.8
    both = contacts[1:] & contacts[:-1]

    def slide(result):
        tips = joint_positions(result.clip)[:, [leg[3] for leg in result.body.plan.legs]][..., ::2]
        return (np.linalg.norm(np.diff(tips, axis=0), axis=-1) * track.fps)[both].mean()

    assert held.feet.sliding_before > 0.05
    assert slide(held) < 0.005
    assert held.feet.sliding_after == pytest.approx(slide(held), abs=1e-3)
    assert held.feet.moved.max() < 0.1


@pytest.mark.slow
def test_rest_pose_is_upright_and_symmetric():
    body = solve_points(track_of_joints(dancer(), names=False, edges=False, seed=4)).body
    skeleton, pairs = body.skeleton, list(body.plan.pairs)
    mirrored = skeleton.offsets[pairs] * [-1.0, 1.0, 1.0]
    assert np.allclose(skeleton.offsets, mirrored, atol=1e-9)
    down = skeleton.offsets[skeleton.index("LeftLeg")]
    assert down[1] < -0.3
    assert abs(down[[0, 2]]).max() < 1e-9
    side = skeleton.offsets[skeleton.index("LeftForeArm")]
    assert side[0] > 0.2
    assert abs(side[1:]).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("left_out", [(), TRUNK])
def test_points_in_any_order_without_names(left_out):
    clip = dancer()
    track = track_of_joints(clip, names=False, edges=False, seed=2, left_out=left_out)
    result = solve_points(track)
    # Without points on the trunk its joints are guesses, and the limbs are where they were.
    assert max(errors_cm(result, clip).values()) < (2.0 if left_out else 1.0)
    roles, plan = find_roles(result.clip.skeleton), result.body.plan
    for limbs, parts in ((plan.legs, PAIRED_PARTS[:4]), (plan.arms, PAIRED_PARTS[4:])):
        assert [roles.both(part) for part in parts] == list(zip(*limbs, strict=True))


def test_knees_and_elbows_bend_their_way():
    clip = dancer()
    track = track_of_joints(clip, names=False, edges=False, seed=2, left_out=TRUNK)
    result = solve_points(track)
    joints = joint_positions(result.clip)
    hips = (
        joints[:, result.clip.skeleton.index("LeftUpLeg")]
        - joints[:, result.clip.skeleton.index("RightUpLeg")]
    )
    for side in ("Left", "Right"):
        hip, knee, foot = (
            joints[:, result.clip.skeleton.index(side + part)] for part in ("UpLeg", "Leg", "Foot")
        )
        bend = np.vecdot(np.cross(knee - hip, foot - knee), hips)
        assert (bend > -1e-3).mean() > 0.98


@pytest.mark.slow
def test_one_body_for_people_of_two_sizes():
    clip = walker()
    track = track_of_joints(clip)
    large = replace(track, positions=1.2 * track.positions)
    body = solve_body([track, track, large])
    same, scaled = solve_points(track, body), solve_points(large, body)
    assert same.scale == 1.0
    assert scaled.scale == pytest.approx(1 / 1.2, abs=0.01)
    assert scaled.clip.skeleton is same.clip.skeleton
    difference = joint_positions(same.clip) - joint_positions(scaled.clip)
    assert np.abs(difference).max() < 0.03


@pytest.mark.slow
def test_a_floor_that_drifts_is_levelled():
    clip = walker()
    track = track_of_joints(clip)
    raised = track.positions.copy()
    raised[..., 1] += np.linspace(0.0, 0.4, len(raised))[:, None]
    level = joint_positions(solve_points(replace(track, positions=raised)).clip)[:, 0, 1]
    assert level[-20:].mean() == pytest.approx(level[:20].mean(), abs=0.08)
    # Feet that step onto a box within a second do not drift.
    climbing = track.positions.copy()
    climbing[..., 1] += 0.4 * (np.arange(len(climbing)) > len(climbing) // 2)[:, None]
    climbed = solve_points(replace(track, positions=climbing)).clip
    assert any("boxes or stairs: not levelled" in text for text in climbed.source.notes)
    high = joint_positions(climbed)[:, 0, 1]
    assert high[-20:].mean() > high[:20].mean() + 0.3
    # One that does not is left alone.
    assert not any("levelled" in text for text in solve_points(track).clip.source.notes)


def test_one_frame_and_short_tracks():
    track = track_of_joints(walker())
    for frames in (1, 2, 7):
        assert len(solve_points(track.sliced(0, frames), solve_body([track])).clip) == frames


def test_invalid_points_are_refused():
    clip = walker()
    with pytest.raises(SkeletonError, match="rotations"):
        solve_points(clip)
    track = track_of_joints(clip)
    with pytest.raises(SkeletonError, match="points"):
        solve_points(
            PointTrack(track.names[:9], track.positions[:, :9], track.fps), solve_body([track])
        )
    rng = np.random.default_rng(0)
    with pytest.raises(SkeletonError, match="two legs"):
        solve_points(PointTrack(plain_names(5), rng.normal(size=(50, 5, 3)), 30.0))
    with pytest.raises(SkeletonError, match="quadruped"):
        solve_points(
            track_of_joints(locomotion(1, 4.0, body="quadruped", gait="trot", fps=30.0).clip)
        )


def test_real_dances():
    folder = real_clips("dance_music")
    for name in ("DANCE_W_2", "DANCE_R_2"):
        track = load_points(folder / f"{name}.npz").sliced(0, 500)
        result = solve_points(track)
        assert result.residuals.mean() < 0.02
        assert result.feet.sliding_after < 0.01 < result.feet.sliding_before
        assert angular_speed(result.clip).max() < 30.0


def test_real_markers_stand_on_two_legs():
    for path in sorted(real_clips("reading").glob("*.c3d")):
        track = load_points(path)
        assert (track.source.up, track.fps) == ("z", 120.0)
        clip = clip_of_points(track)
        roles = find_roles(clip.skeleton, clip=clip)
        contacts = foot_contacts(clip, roles)
        assert roles.kind == "biped"
        assert (contacts.flags.mean(axis=0) > 0.15).all()
        result = solve_points(track)
        assert np.median(result.residuals) < 0.01
        skeleton = result.clip.skeleton
        # Of the same person in another program's solution: .43 m each.
        for lower in ("LeftLeg", "LeftFoot"):
            length = np.linalg.norm(skeleton.offsets[skeleton.index(lower)])
            assert length == pytest.approx(0.43, abs=0.04)
