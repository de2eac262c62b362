"""Inverse rig functions: training, their file, what they refuse, and the commands."""

import json

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError, FormatError, ParameterError
from deepphase.formats.array_file import joined_parts
from deepphase.formats.load import load, save
from deepphase.motion.kinematics import joint_positions
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.config import RigConfig
from deepphase.rigs.effectors import inverse_of_effectors, named_effectors
from deepphase.rigs.examples import RigExamples, motion_on_rig
from deepphase.rigs.inverse import METHODS, RigInverse
from deepphase.rigs.keying import clip_of_controls, keyed
from deepphase.rigs.keys import RigKeys
from deepphase.rigs.training import train_rig, with_process
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.laying import lay_on_ground

TINY = {
    "process.examples": 60,
    "network.hidden": 64,
    "network.samples": 500,
    "training.frames": 180,
    "training.epochs": 8.0,
    "training.learning_rate": 3e-3,
}


@pytest.fixture(scope="module")
def store():
    return ClipStore.from_clips(
        [locomotion(seed, 2.0, gait=gait).clip for seed, gait in enumerate(("walk", "walk", "run"))]
    )


@pytest.fixture(scope="module")
def inverse(store, person, tmp_path_factory):
    return train_rig(
        store,
        person,
        RigConfig.load("default", **TINY),
        folder=tmp_path_factory.mktemp("rig"),
        accelerator="cpu",
    )


@pytest.fixture(scope="module")
def poses(person, walk):
    return motion_on_rig(walk, person)


@pytest.mark.slow
def test_refinement_is_more_exact_than_regression(inverse, store, poses, tmp_path):
    positions = poses.positions[:60:4]
    assert inverse.solve(positions).errors.mean() < 2e-3
    assert set(inverse.report["methods"]) == set(METHODS)
    learnt = RigExamples.of_store(store, inverse.rig, 180)
    process = with_process(inverse.rig, learnt, RigConfig.load("default", **TINY))
    for solver in (inverse, process):
        errors = {name: solver.solve(positions, name).errors.mean() for name in METHODS}
        assert errors["computed"] < 0.3 * errors["regression"]
    process.save(tmp_path / "process.rig")
    again = RigInverse.load(tmp_path / "process.rig")
    np.testing.assert_allclose(
        again.solve(positions).values, process.solve(positions).values, atol=1e-3
    )


def test_poses_out_of_reach_are_reported(inverse, poses):
    positions = poses.positions[:30].copy()
    positions[10:20] *= 1.4
    solved = inverse.solve(positions)
    assert not solved.reached[10:20].any()
    assert solved.reached[[*range(10), *range(20, 30)]].all()
    assert np.isfinite(solved.values).all()
    assert (solved.values <= inverse.rig.upper).all()


def test_smoothing_makes_curves_smoother(inverse, poses):
    noisy = poses.positions + np.random.default_rng(0).normal(0, 0.01, poses.positions.shape)
    rough = inverse.solve(noisy, "regression").values
    smooth = inverse.solve(noisy, "regression", smoothing_s=0.05).values
    moving = inverse.used
    jerk = [np.abs(np.diff(each[:, moving], 3, axis=0)).mean() for each in (rough, smooth)]
    assert jerk[1] < 0.3 * jerk[0]


def test_the_file_gives_the_same_controls(inverse, poses, tmp_path):
    path = tmp_path / "hero.rig"
    inverse.save(path)
    again = RigInverse.load(path)
    assert again.rig.names == inverse.rig.names
    assert again.report == json.loads(json.dumps(inverse.report))
    for method in METHODS:
        np.testing.assert_allclose(
            again.solve(poses.positions[:8], method).values,
            inverse.solve(poses.positions[:8], method).values,
            atol=1e-3,
        )
    content = bytearray(path.read_bytes())
    content[-5] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(CheckpointError):
        RigInverse.load(path)


def test_parts_of_a_rig_that_do_not_fit_are_refused(person):
    parts, header = person.parts()
    arrays = joined_parts(parts)
    assert BodyRig.from_parts(arrays, header).names == person.names
    pairs = arrays["rig.pairs"]
    for wrong, words in ((pairs[:-1], "has the shape"), (pairs + len(pairs), "do not exist")):
        with pytest.raises(ValueError, match=words):
            BodyRig.from_parts({**arrays, "rig.pairs": wrong}, header)


def test_what_does_not_fit_is_refused(inverse, poses):
    with pytest.raises(ParameterError, match="no method"):
        inverse.solve(poses.positions, "magic")
    for wrong in (poses.positions[:, :5], np.full_like(poses.positions, np.nan)):
        with pytest.raises(ParameterError, match="positions must be finite"):
            inverse.solve(wrong)


def test_clips_of_other_bodies_are_retargeted(person, store):
    other = store.clip(1)
    skeleton = other.skeleton
    larger = type(skeleton)(
        skeleton.names,
        skeleton.parents,
        1.3 * skeleton.offsets,
        skeleton.end_parents,
        1.3 * skeleton.end_offsets,
    )
    clip = type(other)(larger, other.rotations, 1.3 * other.translations, other.fps)
    motion = motion_on_rig(clip, person)
    made = person.evaluate(keyed(motion, person))
    assert np.linalg.norm(made - motion.positions, axis=-1).max() < 5e-3


def test_clips_of_controls_are_keyed_again(person, poses):
    values = keyed(poses, person)
    clip = clip_of_controls(values, person, poses.placement, poses.fps)
    again = keyed(motion_on_rig(clip, person), person)
    body = [person.index(f"body.{name}") for name in ("ty", "rx", "rz")]
    np.testing.assert_allclose(again[:, body], values[:, body], atol=0.01)


def test_examples_are_split_by_clips(store, person):
    examples = RigExamples.of_store(store, person, frames=100)
    assert 80 <= len(examples) <= 130
    learnt, held_out = examples.split(0.3, 0)
    assert not set(learnt.clips) & set(held_out.clips)
    one = examples.taken(np.flatnonzero(examples.clips == 0))
    first, last = one.split(0.25, 0)
    np.testing.assert_array_equal(last.values, one.values[len(first) :])


@pytest.mark.parametrize(
    "change",
    [
        {"process.examples": 1},
        {"network.hidden": 0},
        {"network.noise": -1.0},
        {"training.held_out": 1.0},
        {"training.learning_rate": 2.0},
        {"training.unknown": 1},
    ],
)
def test_configs_that_make_no_sense_are_refused(change):
    with pytest.raises(ParameterError):
        RigConfig.load("default", **change)


def test_keys_survive_their_file(person, poses, tmp_path):
    values = keyed(poses, person)
    keys = RigKeys.of_rig(person, values, poses.placement, poses.fps)
    path = tmp_path / "keys.json"
    keys.save(path)
    again = RigKeys.load(path)
    np.testing.assert_allclose(
        again.values_of(person), np.clip(values, person.lower, person.upper), atol=1e-6
    )
    np.testing.assert_allclose(again.trajectory().positions, poses.placement.positions, atol=1e-6)
    content = json.loads(path.read_text())
    assert content["controls"]["left_leg.stretch"] == {"unit": "1", "values": [0.0]}
    for change in ({"frames": 3}, {"format": "x"}, {"version": 9}, {"fps": -1}, {"controls": []}):
        path.write_text(json.dumps(content | change))
        with pytest.raises(FormatError, match="not a file of keys"):
            RigKeys.load(path)
    path.write_text("[1")
    with pytest.raises(FormatError):
        RigKeys.load(path)


def test_a_few_joints_are_followed_and_the_others_go_as_learned(inverse, poses, tmp_path):
    rig, targets = inverse.rig, poses.positions[:60:6]
    seven = named_effectors(rig, ["seven"])
    assert [rig.joints[joint] for joint in seven[:2]] == ["Hips", "Head"]
    assert len(seven) == 7
    feet = named_effectors(rig, ["feet"])
    assert set(feet) <= set(seven)
    for joints, near in ((seven, 0.04), (feet, 0.1)):
        some = inverse_of_effectors(inverse, joints)
        made = some.solve(targets, "computed")
        assert made.errors[:, joints].max() < 5e-3
        assert made.errors.mean() < near
    # Other joints are not read.
    others = np.setdiff1d(np.arange(len(rig.joints)), feet)
    moved = targets.copy()
    moved[:, others] += 1.0
    np.testing.assert_array_equal(some.solve(moved, "regression").values, some.regressed(targets))
    with pytest.raises(ParameterError, match="inverse of all joints"):
        some.save(tmp_path / "some.rig")
    with pytest.raises(ParameterError, match="no joint 'wing'"):
        named_effectors(rig, ["wing"])
    with pytest.raises(ParameterError, match="no joint is named"):
        named_effectors(rig, [])


def test_a_dog_has_four_feet_and_a_tail(dog):
    assert len(named_effectors(dog, ["feet"])) == 4
    seven = named_effectors(dog, ["seven"])
    assert len(seven) == 7
    assert seven[-1] == dog.roles.tail[-1]


def test_motion_on_ground_is_that_of_a_raised_character(person, walk, tmp_path):
    slope = Heightmap(0.1 * np.tile(np.arange(200.0) * 0.1, (200, 1)), 0.1, (-10.0, -10.0))
    flat, laid = motion_on_rig(walk, person), motion_on_rig(walk, person, slope)
    heights = laid.placement.positions[:, 1]
    assert np.ptp(heights) > 0.01
    # Hips are where they were in the space of the character.
    np.testing.assert_allclose(laid.positions[:, 0], flat.positions[:, 0], atol=2e-3)
    keys = RigKeys.of_rig(person, keyed(laid, person), laid.placement, laid.fps)
    keys.save(tmp_path / "keys.json")
    again = RigKeys.load(tmp_path / "keys.json")
    np.testing.assert_allclose(again.heights, heights, atol=1e-6)
    made = clip_of_controls(again.values_of(person), person, again.trajectory(), again.fps)
    expected = joint_positions(lay_on_ground(walk, slope).clip)[:, 0]
    np.testing.assert_allclose(joint_positions(made)[:, 0], expected, atol=1e-3)


@pytest.mark.slow
def test_commands(walk, tmp_path, capsys):
    captured, rig = tmp_path / "walk.bvh", tmp_path / "hero.rig"
    save(walk.sliced(0, 60), captured)
    changes = [f"--set={name}={value}" for name, value in (TINY | {"training.epochs": 2.0}).items()]
    assert (
        main(["train", "rig", str(captured), "--poses", str(captured), "-o", str(rig), *changes])
        == 0
    )
    assert "computed" in capsys.readouterr().out
    assert json.loads((tmp_path / "hero.rig.report.json").read_text())["poses"] > 0
    keys, made = tmp_path / "keys.json", tmp_path / "made.bvh"
    page = tmp_path / "made.html"
    assert (
        main(["rig-controls", str(rig), str(captured), "-o", str(keys), "--player", str(page)]) == 0
    )
    assert "left leg" in capsys.readouterr().out
    assert page.stat().st_size > 10_000
    # An edit: the whole body half a metre higher.
    content = json.loads(keys.read_text())
    content["controls"]["body.ty"]["values"] = [0.1]
    keys.write_text(json.dumps(content))
    assert main(["rig-controls", str(rig), str(keys), "-o", str(made)]) == 0
    clip = load(made)
    heights = joint_positions(clip)[:, 0, 1]
    assert np.ptp(heights) < 1e-4
    # Feet that are moved by IK stay where they were.
    feet = [clip.skeleton.names.index(name) for name in ("LeftFoot", "RightFoot")]
    before = [load(captured).skeleton.names.index(name) for name in ("LeftFoot", "RightFoot")]
    low = joint_positions(load(captured))[:, before]
    apart = np.linalg.norm(joint_positions(clip)[:, feet] - low, axis=-1)
    assert np.median(apart) < 0.12
    ground = ["--effectors", "feet,head", "--terrain", "hills", "--player", str(page)]
    assert main(["rig-controls", str(rig), str(captured), "-o", str(keys), *ground]) == 0
    assert "all others" in capsys.readouterr().out
    assert "y" in json.loads(keys.read_text())["placement"]
    assert main(["rig-controls", str(rig), str(keys), "-o", str(made), *ground]) == 2
    assert "these are keys" in capsys.readouterr().err
    assert main(["rig-controls", str(rig), str(captured), "-o", str(tmp_path / "x.txt")]) == 2
