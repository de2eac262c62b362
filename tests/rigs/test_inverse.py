"""Inverse rigs: regression, refinement, and their file."""

import json

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError, ParameterError
from deepphase.formats.array_file import joined_parts
from deepphase.formats.load import load, save
from deepphase.motion.clip import joint_positions
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.config import RigConfig
from deepphase.rigs.inverse import (
    METHODS,
    RigInverse,
    inverse_of_effectors,
    named_effectors,
    refined,
)
from deepphase.rigs.keying import keyed
from deepphase.rigs.regression import MultiquadricProcess, chosen_width, kernel
from deepphase.rigs.training import RigExamples, sampled_controls, train_rig, with_process
from deepphase.synthetic.gait_motion import locomotion

TINY = {
    "training.examples": 60,
    "training.hidden": 64,
    "training.samples": 500,
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
    config, folder = RigConfig.load("default", **TINY), tmp_path_factory.mktemp("rig")
    return train_rig(store, person, config, folder=folder, accelerator="cpu")


@pytest.mark.slow
def test_refinement_is_more_exact_than_regression(inverse, store, poses):
    positions = poses.positions[:60:4]
    assert inverse.solve(positions).errors.mean() < 2e-3
    assert set(inverse.report["methods"]) == set(METHODS)
    learnt = RigExamples.from_store(store, inverse.rig, 180)
    process = with_process(inverse.rig, learnt, RigConfig.load("default", **TINY))
    for solver in (inverse, process):
        errors = {name: solver.solve(positions, name).errors.mean() for name in METHODS}
        assert errors["computed"] < 0.3 * errors["regression"]


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
    rough, smooth = (
        inverse.solve(noisy, "regression", smoothing_s=deviation).values[:, inverse.used]
        for deviation in (0.0, 0.05)
    )
    jerk = [np.abs(np.diff(values, 3, axis=0)).mean() for values in (rough, smooth)]
    assert jerk[1] < 0.3 * jerk[0]


def test_the_file_gives_the_same_controls(inverse, poses, tmp_path):
    path = tmp_path / "hero.rig"
    inverse.save(path)
    again = RigInverse.load(path)
    assert again.rig.names == inverse.rig.names
    assert again.report == json.loads(json.dumps(inverse.report))
    for method in METHODS:
        values = inverse.solve(poses.positions[:8], method).values
        np.testing.assert_allclose(
            again.solve(poses.positions[:8], method).values, values, atol=1e-3
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
    for wrong, words in ((pairs[:-1], "has the shape"), (pairs + len(pairs), "does not exist")):
        with pytest.raises(ValueError, match=words):
            BodyRig.from_parts({**arrays, "rig.pairs": wrong}, header)


def test_what_does_not_fit_is_refused(inverse, poses):
    with pytest.raises(ParameterError, match="no method"):
        inverse.solve(poses.positions, "magic")
    for wrong in (poses.positions[:, :5], np.full_like(poses.positions, np.nan)):
        with pytest.raises(ParameterError, match="positions must be finite"):
            inverse.solve(wrong)


def test_examples_are_split_by_clips(store, person):
    examples = RigExamples.from_store(store, person, frames=100)
    assert 80 <= len(examples) <= 130
    learnt, held_out = examples.split(0)
    assert not set(learnt.clips) & set(held_out.clips)
    one = examples.rows(np.flatnonzero(examples.clips == 0))
    first, last = one.split(0)
    np.testing.assert_array_equal(last.values, one.values[len(first) :])
    assert len(last)


def test_a_few_joints_are_followed_and_the_others_go_as_learned(inverse, poses, tmp_path):
    rig, targets = inverse.rig, poses.positions[:60:6]
    seven, feet = (named_effectors(rig, [name]) for name in ("seven", "feet"))
    assert [rig.joints[joint] for joint in seven[:2]] == ["Hips", "Head"]
    assert len(seven) == 7
    assert set(feet) <= set(seven)
    for joints, near in ((seven, 0.04), (feet, 0.1)):
        some = inverse_of_effectors(inverse, joints)
        solved = some.solve(targets, "computed")
        assert solved.errors[:, joints].max() < 5e-3
        assert solved.errors.mean() < near
    # Other joints are not read.
    moved = targets.copy()
    moved[:, np.setdiff1d(np.arange(len(rig.joints)), feet)] += 1.0
    np.testing.assert_array_equal(some.solve(moved, "regression").values, some.regressed(targets))
    with pytest.raises(ParameterError, match="inverse of all joints"):
        some.save(tmp_path / "some.rig")
    with pytest.raises(ParameterError, match="no joint 'wing'"):
        named_effectors(rig, ["wing"])
    with pytest.raises(ParameterError, match="no joint is named"):
        named_effectors(rig, [])


def test_a_dog_has_four_feet_and_a_tail(rigs):
    dog = rigs["dog"]
    assert len(named_effectors(dog, ["feet"])) == 4
    seven = named_effectors(dog, ["seven"])
    assert seven[-1] == dog.roles.tail[-1]
    assert named_effectors(dog, ["tail", "left_hand"]).tolist() == [seven[-1], dog.roles.left_hand]


@pytest.mark.slow
def test_commands(walk, tmp_path, capsys):
    captured, rig = tmp_path / "walk.bvh", str(tmp_path / "hero.rig")
    save(walk.sliced(0, 60), captured)
    changes = [f"--set={name}={value}" for name, value in (TINY | {"training.epochs": 2.0}).items()]
    learn = ["train", "rig", str(captured), "--poses", str(captured), "-o", rig]
    assert main([*learn, *changes]) == 0
    assert "computed" in capsys.readouterr().out
    assert json.loads((tmp_path / "hero.rig.report.json").read_text())["poses"] > 0
    keys, moved, page = (tmp_path / name for name in ("keys.json", "moved.bvh", "moved.html"))

    def controls(source, output, *options):
        return main(["rig-controls", rig, str(source), "-o", str(output), "--force", *options])

    assert controls(captured, keys, "--player", str(page)) == 0
    assert "left leg" in capsys.readouterr().out
    assert page.stat().st_size > 10_000
    # An edit: the body at one height.
    content = json.loads(keys.read_text())
    content["controls"]["body.ty"]["values"] = [0.1]
    keys.write_text(json.dumps(content))
    assert controls(keys, moved) == 0
    clip, before = load(moved), load(captured)
    assert np.ptp(joint_positions(clip)[:, 0, 1]) < 1e-4
    # Feet that are moved by IK stay where they were.
    places = [
        joint_positions(of)[:, [of.skeleton.index(name) for name in ("LeftFoot", "RightFoot")]]
        for of in (clip, before)
    ]
    assert np.median(np.linalg.norm(places[0] - places[1], axis=-1)) < 0.12
    few = ["--effectors", "feet,head", "--player", str(page)]
    assert controls(captured, keys, *few) == 0
    assert "all others" in capsys.readouterr().out
    assert controls(keys, moved, *few) == 2
    assert "these are keys" in capsys.readouterr().err
    assert controls(captured, tmp_path / "x.txt") == 2


def wave(count, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1, 1, (count, 3))
    return inputs, np.column_stack([np.sin(3 * inputs[:, 0]), inputs[:, 1] * inputs[:, 2]])


def test_the_kernel_is_the_multiquadric():
    first, second = np.array([[0.0, 0], [3, 4]]), np.array([[0.0, 0]])
    np.testing.assert_allclose(kernel(first, second, 0.1)[:, 0], [0.1, np.hypot(5, 0.1)])


def test_the_process_goes_through_its_examples():
    inputs, outputs = wave(150)
    process = MultiquadricProcess.fit(inputs, outputs, 0.1)
    np.testing.assert_allclose(process.predict(inputs), outputs, atol=1e-3)
    others, truth = wave(200, seed=1)
    assert np.abs(process.predict(others) - truth).mean() < 0.05


def test_the_width_is_chosen_by_held_out_halves():
    inputs, outputs = wave(200)
    chosen = chosen_width(inputs, outputs)
    others, truth = wave(300, seed=1)

    def error(width):
        made = MultiquadricProcess.fit(inputs, outputs, width)
        return np.mean((made.predict(others) - truth) ** 2)

    assert error(chosen) < error(1e-4)
    assert error(chosen) < error(1e2)


def test_samples_lie_around_examples_along_their_principal_components():
    rng = np.random.default_rng(0)
    main = rng.standard_normal(300)
    values = np.column_stack([main, main + 0.05 * rng.standard_normal(300)])
    made = sampled_controls(values, 4000, seed=3)
    assert made.shape == (4000, 2)
    assert np.std(made[:, 0] - made[:, 1]) < 0.2
    # Examples and half of their deviation.
    np.testing.assert_allclose(made.std(axis=0), np.sqrt(1.25) * values.std(axis=0), rtol=0.05)
    assert sampled_controls(values, 0, seed=3).shape == (0, 2)


def test_refinement_reaches_what_can_be_reached_within_the_limits(person, poses):
    truth = np.clip(keyed(poses, person)[:20:5], person.lower, person.upper)
    columns = np.flatnonzero([name.startswith("Left") for name in person.names])
    scale = np.full(len(columns), 0.3)
    start = truth.copy()
    start[:, columns] += 0.1 * np.random.default_rng(0).standard_normal((len(truth), len(columns)))
    target = person.evaluate(truth)
    values, positions = refined(person, start, target, columns=columns, scale=scale, damping=0.01)
    assert np.linalg.norm(positions - target, axis=-1).max() < 2e-3
    np.testing.assert_allclose(person.evaluate(values), positions)
    others = np.setdiff1d(np.arange(len(person.names)), columns)
    np.testing.assert_array_equal(values[:, others], start[:, others])
    # Joints without weight are free, and controls that reach nothing stay within their limits.
    hand, far = person.joints.index("LeftHand"), target + np.array([9.0, 0.0, 0.0])
    far[:, hand] = target[:, hand]
    weights = (np.arange(len(person.joints)) == hand).astype(float)
    values, positions = refined(
        person, start, far, columns=columns, scale=scale, damping=0.01, weights=weights
    )
    assert np.linalg.norm((positions - far)[:, hand], axis=-1).max() < 2e-3
    values, _ = refined(person, start, far, columns=columns, scale=scale, damping=0.01)
    assert ((values >= person.lower) & (values <= person.upper)).all()
