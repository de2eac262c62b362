"""Motion from the paths of hands and feet."""

import numpy as np
import pytest

from deepphase.edit.control_training import random_known, train_path
from deepphase.edit.editor import MotionEditor
from deepphase.edit.effector_motion import (
    EffectorPaths,
    effector_joints,
    motion_of_effectors,
    read_effector_paths,
)
from deepphase.errors import FormatError, ParameterError
from deepphase.motion.clip import joint_positions
from deepphase.motion.resample import resample
from deepphase.steering.path import GroundPath
from tests.edit.conftest import FEW

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reacher(tmp_path_factory, walks, walker) -> MotionEditor:
    """An editor with networks for hands and feet."""
    folder = tmp_path_factory.mktemp("effectors")
    return train_path(walks, walker, effectors=True, folder=folder, **FEW)


def test_hands_and_feet_are_known_in_all_of_a_window_or_a_stretch_or_nowhere():
    known = random_known(200, 4, 48, seed=3).numpy()
    always, never = known.all(axis=-1).mean(), (~known).all(axis=-1).mean()
    assert 0.5 < always < 0.7
    assert 0.2 < never < 0.35
    assert (np.abs(np.diff(known.astype(int), axis=-1)).sum(axis=-1) <= 2).all()
    np.testing.assert_array_equal(known, random_known(200, 4, 48, seed=3).numpy())


def test_hands_and_feet_come_to_their_paths_and_bones_stay(reacher, walks):
    clip = walks.clip(0)
    paths = EffectorPaths.from_clip(clip, reacher)
    assert paths.known.all()
    # The paths are those of the clip, over its floor, up to the size of the body.
    true = joint_positions(resample(clip, reacher.fps))
    joints = [clip.skeleton.index(name) for name in paths.joints]
    moved = np.diff(true[:, joints], axis=0) / reacher.space.size_of(clip)
    np.testing.assert_allclose(np.diff(paths.places, axis=0), moved, atol=1e-4)
    made = motion_of_effectors(paths, reacher)
    assert len(made.clip) == len(paths.places)
    assert made.distances.max() < 0.1
    own = joint_positions(made.clip)[:, joints]
    np.testing.assert_allclose(
        np.linalg.norm(own - paths.places, axis=-1).max(axis=0), made.distances, atol=1e-9
    )
    assert np.isfinite(made.clip.rotations).all()


def test_paths_beyond_the_clips_are_named(reacher, walks):
    paths = EffectorPaths.from_clip(walks.clip(0), reacher)
    paths.places[30, 0] += [0.0, 3.0, 0.0]
    findings = motion_of_effectors(paths, reacher).findings
    assert any("m from the floor under the hips" in each for each in findings)
    assert any("m/s at" in each for each in findings)
    paths.known[:] = False
    with pytest.raises(ParameterError, match="the paths state no place of a hand or a foot"):
        motion_of_effectors(paths, reacher)


def test_places_are_read_as_a_curve_and_unknown_outside_of_it(reacher, tmp_path):
    hand = next(iter(effector_joints(reacher.space)))
    table = tmp_path / "punch.csv"
    table.write_text(f"t,joint,x,y,z\n0.5,{hand},0,1,0\n1.0,{hand},0,1.2,0.6\n2.0,{hand},0,1,0\n")
    paths = read_effector_paths(table, reacher)
    fps = reacher.fps
    assert len(paths.places) == round(2.0 * fps) + 1
    assert not paths.known[: round(0.5 * fps)].any()
    assert paths.known[round(0.5 * fps) :].all()
    np.testing.assert_allclose(paths.places[round(fps), 0], [0, 1.2, 0.6], atol=1e-9)
    assert paths.places[..., 1].max() <= 1.2 + 1e-9
    np.testing.assert_allclose(paths.root.positions, 0.0, atol=1e-9)
    way = GroundPath([0.0, 4.0], [[0.0, 0.0], [0.0, 4.0]])
    moving = read_effector_paths(table, reacher, way)
    np.testing.assert_allclose(moving.root.positions[-1], [0, 0, 2.0], atol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,joint,x,y,z\n0,{hand},0,nan,0\n", "is not a time and a place"),
        ("t,joint,x,y,z\n0,{hand},0,1,1e308\n", "is not a time and a place"),
        ("t,joint,x,y,z\n1,{hand},0,1,0\n1,{hand},0,1,0\n", "must rise from row to row"),
    ],
)
def test_bad_tables_are_refused(reacher, tmp_path, text, message):
    hand = next(iter(effector_joints(reacher.space)))
    table = tmp_path / "bad.csv"
    table.write_text(text.format(hand=hand))
    with pytest.raises(FormatError, match=message):
        read_effector_paths(table, reacher)
    table.write_text("t,joint,x,y,z\n0,Head,0,1,0\n")
    with pytest.raises(ParameterError, match="'Head' is not a hand or foot"):
        read_effector_paths(table, reacher)
