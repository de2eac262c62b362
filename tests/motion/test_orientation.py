"""Units and up axes that files do not state, and turning clips."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.motion.clip import joint_positions
from deepphase.motion.orientation import AXES, infer_unit, infer_up, rotate_from_y_up, rotate_up
from deepphase.motion.skeleton import Skeleton
from tests.motion.bodies import CONVENTIONS, DOG, HUMAN, body, random_clip, standing, walking

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048, "dm": 0.1}
UNITS["1/0.45 inch"] = 0.0254 / 0.45


def folded(skeleton):
    """The same lengths with every joint on one axis."""
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    return replace(skeleton, offsets=lengths[:, None] * np.array([1.0, 0.0, 0.0]))


@pytest.mark.parametrize("pose", [lambda skeleton: skeleton, folded], ids=["T-pose", "folded"])
@pytest.mark.parametrize("stature", [0.85, 1.0, 1.15])
@pytest.mark.parametrize("unit", UNITS)
def test_the_unit_of_a_human(unit, stature, pose):
    skeleton, _ = body(HUMAN, CONVENTIONS["unreal"], scale=stature / UNITS[unit])
    found, note = infer_unit(pose(skeleton))
    assert found == pytest.approx(UNITS[unit])
    assert "unit assumed to be" in note


@pytest.mark.parametrize("size", [0.5, 1.0, 2.6])
@pytest.mark.parametrize("unit", ["m", "cm", "mm"])
def test_the_unit_of_a_quadruped(unit, size):
    skeleton, _ = body(DOG, scale=size / UNITS[unit])
    assert infer_unit(skeleton)[0] == UNITS[unit]


def test_a_root_far_from_the_hips_props_and_dummy_ends_do_not_count():
    human, index = body(HUMAN, scale=100.0)
    names = ("origin", *human.names, "prop")
    parents = [-1, *(human.parents + 1), 0]
    offsets = np.concatenate([np.zeros((1, 3)), human.offsets, [[900.0, 0.0, 0.0]]])
    head = index["head"] + 1
    skeleton = Skeleton(names, parents, offsets, [head], [[400.0, 0.0, 0.0]])
    assert infer_unit(skeleton)[0] == 0.01


@pytest.mark.parametrize("up", AXES)
@pytest.mark.parametrize("geometry", [HUMAN, DOG], ids=["human", "dog"])
def test_the_up_axis_is_where_the_hips_are_above_the_feet(geometry, up):
    skeleton, index = body(geometry, scale=100.0)
    clip = rotate_from_y_up(walking(skeleton, index, heading=0.7), up)
    found, note = infer_up(clip)
    assert found == up
    assert note.startswith(f"up axis assumed to be {up}:")


def test_the_up_axis_of_a_body_whose_hips_stay_at_the_origin():
    skeleton, index = body(HUMAN)
    clip = walking(skeleton, index, heading=0.7)
    clip = rotate_from_y_up(replace(clip, translations=0.0 * clip.translations), "z")
    assert infer_up(clip)[0] == "z"


def test_the_up_axis_of_a_body_without_legs_is_that_of_its_steady_height():
    skeleton = Skeleton(("a", "b"), [-1, 0], [(0, 0, 0), (0, 0, 0.3)])
    clip = standing(skeleton, frames=200)
    time = np.linspace(0, 6, 200)
    path = np.stack([np.sin(time), 0.05 * np.sin(9 * time), np.cos(time)], axis=-1) + np.array(
        [0, 1, 0]
    )
    clip = replace(clip, translations=path[:, None])
    assert infer_up(clip)[0] == "y"
    assert infer_up(rotate_from_y_up(clip, "z"))[0] == "z"
    still, note = infer_up(standing(skeleton))
    assert still == "y"
    assert "not conclusive" in note


@pytest.mark.parametrize("up", AXES)
def test_turning_turns_all_positions_properly_and_back(up):
    skeleton, _ = body(HUMAN)
    clip = random_clip(skeleton, np.random.default_rng(0))
    turned = rotate_up(clip, up)
    before, after = joint_positions(clip), joint_positions(turned)
    axis = np.eye(3)[AXES.index(up) % 3] * (-1 if up[0] == "-" else 1)
    np.testing.assert_allclose(after[..., 1], before @ axis, atol=1e-12)
    flat_before, flat_after = before.reshape(-1, 3), after.reshape(-1, 3)
    matrix = np.linalg.lstsq(flat_before, flat_after, rcond=None)[0]
    assert np.linalg.det(matrix) == pytest.approx(1.0)
    np.testing.assert_allclose(flat_before @ matrix, flat_after, atol=1e-9)
    back = rotate_from_y_up(turned, up)
    np.testing.assert_allclose(back.rotations, clip.rotations, atol=1e-15)
    np.testing.assert_array_equal(back.translations, clip.translations)
    np.testing.assert_array_equal(back.skeleton.offsets, clip.skeleton.offsets)


def test_the_front_of_z_up_programs_becomes_plus_z():
    skeleton, _ = body(HUMAN)
    clip = standing(skeleton)
    clip = replace(clip, translations=np.broadcast_to([0.0, -3.0, 1.0], (4, 1, 3)).copy())
    np.testing.assert_array_equal(rotate_up(clip, "z").translations[0, 0], [0.0, 1.0, 3.0])
