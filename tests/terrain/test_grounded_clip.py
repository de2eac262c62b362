"""Clips on ground for controllers: files, mirror images, places, heights along a trajectory."""

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.motion.mirror import mirror_map, mirrored
from deepphase.motion.roles import find_roles
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.foot_track import FootTrack
from deepphase.terrain.grounded_clip import ClipGround, ClipGrounds, GroundedClip
from deepphase.terrain.heightmap import Heightmap, ground_level, made_ground, trajectory_heights
from deepphase.terrain.placing import best_place


@pytest.fixture(scope="module")
def walk():
    return locomotion(3, 3.0, speed=1.2, variety=0.0).clip


@pytest.fixture(scope="module")
def slope():
    """Rises by 0.1 m per metre of x."""
    x = np.linspace(-10.0, 10.0, 81)
    return Heightmap.centred(np.tile(0.1 * x, (81, 1)), 0.25, "slope")


def test_heights_of_a_slope_by_formula(slope):
    # At x = 2, facing +X: the left is +Z, so both sides are as high as the centre.
    places, directions = np.array([[2.0, 0.0], [3.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    level = ground_level(slope, places[0], directions[0])
    assert level == pytest.approx(0.2, abs=1e-6)
    heights = trajectory_heights(slope, places, directions, level)
    np.testing.assert_allclose(heights, [[0, 0, 0], [0.1, 0.1, 0.1]], atol=1e-6)
    # Facing +Z, the left is +X, where it is higher by 0.25 m of the slope.
    ahead = np.array([[0.0, 1.0]])
    heights = trajectory_heights(slope, places[:1], ahead, level)
    np.testing.assert_allclose(heights, [[0.025, 0.0, -0.025]], atol=1e-6)


def test_the_level_rises_evenly_on_stairs():
    stairs = made_ground("stairs", seed=1)
    places = np.stack([np.zeros(200), np.linspace(1.0, 3.0, 200)], axis=1)
    ahead = np.tile([0.0, 1.0], (200, 1))
    level = ground_level(stairs, places, ahead)
    assert np.abs(np.diff(stairs.at(places))).max() > 0.05
    assert np.abs(np.diff(level)).max() < 0.012


def test_a_laid_clip_is_used_on_its_floor_as_well_but_a_captured_one_is_not(walk, slope):
    roles = find_roles(walk.skeleton, clip=walk)
    laid = ClipGrounds([ClipGround(slope, walk.name, True)] * 2)
    assert laid.most == 2
    on_floor, first, _ = laid.on_ground(walk, roles)
    assert on_floor.clip is walk
    assert on_floor.ground.heights.shape == (1, 1)
    assert first.clip is not walk
    captured = ClipGrounds([ClipGround(slope, walk.name, False)]).on_ground(walk, roles)
    assert [each.clip is walk for each in captured] == [True]
    assert [each.clip is walk for each in ClipGrounds([]).on_ground(walk, roles)] == [True]


def test_the_mirror_image_of_a_laid_clip_is_laid_on_the_mirrored_ground(walk):
    ground = made_ground("hills", seed=2, size_m=20.0)
    roles = find_roles(walk.skeleton, clip=walk)
    mapping = mirror_map(walk, roles)
    places = np.random.default_rng(0).uniform(-5, 5, (20, 2))
    np.testing.assert_allclose(
        ground.mirrored().at(places * [-1.0, 1.0]), ground.at(places), atol=1e-6
    )
    laid = GroundedClip.from_clip(walk, ground, roles, laid=True).clip
    other = GroundedClip.from_clip(
        mirrored(walk, mapping), ground.mirrored(), roles, laid=True
    ).clip
    np.testing.assert_allclose(other.translations[:, 0, 1], laid.translations[:, 0, 1], atol=2e-3)


def test_the_best_place_suits_the_feet_better_than_others(walk):
    track, ground = FootTrack.from_clip(walk), made_ground("rocks", seed=1, size_m=30.0)
    best = best_place(track, ground, candidates=40, seed=1)
    standing = track.places[track.contacts]
    assert best.at(standing).mean() == pytest.approx(0.0, abs=1e-5)
    assert best.at(standing).std() > 0.03

    def unevenness(found):
        heel, toe = track.places[:, ::2], track.places[:, 1::2]
        middle = found.at(0.5 * (heel + toe)) - 0.5 * (found.at(heel) + found.at(toe))
        return np.abs(middle[track.contacts[:, ::2]]).mean()

    others = [best_place(track, ground, candidates=1, seed=seed) for seed in range(2, 10)]
    assert unevenness(best) < np.mean([unevenness(each) for each in others])


def test_the_command_lays_clips_on_kinds_of_ground_in_turn(tmp_path, walk, capsys):
    from deepphase.formats.load import save

    save(walk, tmp_path / "walk.bvh")
    options = ["--fits", "0", "--laid", "2", "-o", str(tmp_path / "g")]
    assert main(["fit", "ground", str(tmp_path / "walk.bvh"), *options]) == 0
    grounds = ClipGrounds.read([tmp_path / "g"])
    assert (len(grounds), grounds.most, grounds.names) == (2, 2, ("walk",))
    capsys.readouterr()
    for wrong, message in (
        (["--fits", "0"], "no ground"),
        (["--laid", "-1"], "--laid: expected a whole number from 0"),
    ):
        argv = ["fit", "ground", str(tmp_path / "walk.bvh"), *wrong, "-o", str(tmp_path / "x")]
        assert main(argv) == 2
        assert message in capsys.readouterr().err
