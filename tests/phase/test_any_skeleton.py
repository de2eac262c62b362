"""One phase model for several skeletons: body points, bound weights, made bodies, training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError, ParameterError
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.config import NetworkConfig, PhaseConfig
from deepphase.phase.encoding import make_autoencoder
from deepphase.phase.extractor import load_extractor, load_model, shipped_model
from deepphase.phase.health import measured_health
from deepphase.phase.model import PhaseModel
from deepphase.phase.signals import POINTS, BodyPlan, PointVelocities, bound_weights, parent_points
from deepphase.phase.training.bodies import Augmentation
from deepphase.phase.training.train import train_phase
from deepphase.synthetic.bodies import biped, quadruped
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.training_set import corpus


def plan_of(skeleton: Skeleton) -> BodyPlan:
    return BodyPlan.from_skeleton(skeleton, find_roles(skeleton))


def point(name: str) -> int:
    return POINTS.index(name)


def test_joints_with_a_role_are_points_and_others_lie_between():
    skeleton = biped().skeleton
    plan = plan_of(skeleton)
    places = dict(zip(skeleton.names, zip(plan.chains, plan.places, strict=True), strict=True))
    assert places["Hips"] == ("trunk", 0)
    assert places["LeftUpLeg"] == ("left leg", 1)
    assert places["RightToeBase"] == ("right leg", 4)
    assert places["LeftHand"] == ("left arm", 3)
    # A finger is where its hand is; Spine lies between hips and chest by the lengths of the bones.
    assert places["LeftHandMiddle1"] == ("left arm", 3)
    lengths = np.linalg.norm(skeleton.offsets[1:4], axis=1)
    np.testing.assert_allclose(places["Spine"][1], 2 * lengths[0] / lengths.sum(), rtol=1e-5)
    weights = plan.points_from_joints()
    np.testing.assert_array_equal(weights[point("left knee")] > 0, np.arange(25) == 13)
    assert weights[point("tail end")].sum() == 0


@pytest.mark.parametrize("body", [biped(), quadruped()])
def test_rest_pose_survives_the_way_through_points(body):
    """Linear interpolation: straight chains come back exactly, bent ones nearly."""
    skeleton = body.skeleton
    plan = plan_of(skeleton)
    rest = np.zeros((len(skeleton), 3))
    for joint in range(1, len(skeleton)):
        rest[joint] = rest[skeleton.parents[joint]] + skeleton.offsets[joint]
    back = plan.joints_from_points() @ plan.points_from_joints() @ rest
    on_chain = [i for i, n in enumerate(skeleton.names) if "Middle1" not in n and "Base" not in n]
    assert np.linalg.norm(back - rest, axis=1)[on_chain].max() < 0.09
    sums = plan.joints_from_points().sum(1)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-6)


def test_left_out_joints_are_interpolated_from_their_neighbours():
    whole = plan_of(biped().skeleton)
    names = list(biped().skeleton.names)
    kept = np.array([i for i, name in enumerate(names) if name != "LeftLeg"])
    weights = whole.select(kept).points_from_joints()[point("left knee")]
    expected = {"LeftUpLeg": 0.5, "LeftFoot": 0.5}
    found = {names[kept[i]]: float(weights[i]) for i in np.flatnonzero(weights)}
    assert found == pytest.approx(expected)
    # Where the whole lower leg is missing, nothing is known of the foot.
    gone = ("LeftLeg", "LeftFoot", "LeftToeBase")
    kept = np.array([i for i, name in enumerate(names) if name not in gone])
    lone = whole.select(kept).points_from_joints()
    assert lone[point("left foot")].sum() == 0
    assert lone[point("left hip")].sum() == 1


def tiny_network() -> torch.nn.Module:
    torch.manual_seed(1)
    config = NetworkConfig("sine_fit", channels=2, window_s=0.7, kernel_s=0.2, hidden=5)
    return make_autoencoder(3 * len(POINTS), 60.0, config)


def test_bound_weights_interpolate_before_the_encoder_and_after_the_decoder():
    network = tiny_network()
    plan = plan_of(quadruped().skeleton)
    read, write = map(torch.from_numpy, (plan.points_from_joints(), plan.joints_from_points()))
    bound = make_autoencoder(3 * 29, 60.0, network.config)
    bound.load_state_dict(bound_weights(network.state_dict(), read, write))
    joints = torch.randn(network.window, 4, 29, 3)
    points = torch.einsum("pj,tbjc->tbpc", read, joints)
    with torch.no_grad():
        torch.testing.assert_close(
            bound.encoder_in(joints.flatten(2)),
            network.encoder_in(points.flatten(2)),
            atol=1e-5,
            rtol=1e-5,
        )
        hidden = torch.randn(network.window, 4, 5)
        decoded = network.decoder_out(hidden).unflatten(2, (-1, 3))
        expected = torch.einsum("jp,tbpc->tbjc", write, decoded).flatten(2)
        torch.testing.assert_close(bound.decoder_out(hidden), expected, atol=1e-5, rtol=1e-5)


def test_other_proportions_move_as_a_body_of_that_size():
    """Positions of the same rotations on a scaled skeleton, against the scaled positions."""
    generator = np.random.default_rng(0)
    change = Augmentation(proportions=0.3).scaled(generator)
    parents = parent_points()
    # Any map of positions of points: bones are scaled, by one factor for each chain.
    positions = generator.normal(size=(len(POINTS), 3))
    scaled = change @ positions
    for place, parent in enumerate(parents):
        before = positions[place] - (positions[parent] if parent >= 0 else 0.0)
        after = scaled[place] - (scaled[parent] if parent >= 0 else 0.0)
        factor = after / before
        np.testing.assert_allclose(factor, factor[0], rtol=1e-3)
    lengths = [
        np.linalg.norm(scaled[point(f"{side} hand")] - scaled[point(f"{side} elbow")])
        / np.linalg.norm(positions[point(f"{side} hand")] - positions[point(f"{side} elbow")])
        for side in ("left", "right")
    ]
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-3)
    np.testing.assert_array_equal(Augmentation().scaled(generator), np.eye(len(POINTS)))


def test_options_for_several_skeletons_are_refused_for_one():
    with pytest.raises(ParameterError, match="proportions applies to the preset 'any_skel"):
        PhaseConfig.load("default", **{"training.proportions": 0.2})
    with pytest.raises(ParameterError, match=r"joint_dropout must be at least 0 and at most 0\.9"):
        PhaseConfig.load("any_skeleton", **{"training.joint_dropout": 1.0})


def test_stores_and_config_go_together(tmp_path):
    given = stores()
    with pytest.raises(ParameterError, match="2 stores are given, but a model of one"):
        train_phase(given, PhaseConfig.load("default"), folder=tmp_path)
    with pytest.raises(ParameterError, match="at least one store"):
        train_phase([], tiny(), folder=tmp_path, accelerator="cpu")
    with pytest.raises(ParameterError, match="a limit of memory applies"):
        train_phase(given, tiny(), folder=tmp_path, memory=10**9)


def tiny(**changes) -> PhaseConfig:
    options = {
        "network.channels": 3,
        "network.window_s": 1.0,
        "network.kernel_s": 0.3,
        "network.hidden": 8,
        "training.windows": 1_600,
        "training.batch_size": 32,
        "training.learning_rate": 4e-3,
        "training.held_out": 0.2,
    }
    return PhaseConfig.load("any_skeleton", **(options | changes))


def stores() -> list[ClipStore]:
    return [
        ClipStore.from_clips(
            replace(motion.clip, name=f"{body} {number}")
            for number, motion in enumerate(corpus(5, 0.5, body=body, clip_seconds=5.0))
        )
        for body in ("biped", "quadruped")
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> PhaseModel:
    folder = tmp_path_factory.mktemp("any")
    return train_phase(stores(), tiny(), folder=folder, accelerator="cpu", logger=False)


def foreign(seed: int = 3, seconds: float = 6.0, height: float = 1.2) -> tuple[Clip, float]:
    """A walk of a smaller body with other names and fewer joints, and its strides per second."""
    made = locomotion(seed, seconds, body=biped(height))
    clip = made.clip
    words = {"UpLeg": "thigh", "Leg": "shin", "ToeBase": "toes", "Foot": "foot"}
    names = []
    for name in clip.skeleton.names:
        for old, new in words.items():
            if name.endswith(old):
                side = "l_" if name.startswith("Left") else "r_"
                names.append(side + new)
                break
        else:
            names.append(name)
    skeleton = clip.skeleton
    renamed = Skeleton(
        tuple(names),
        skeleton.parents,
        skeleton.offsets,
        skeleton.end_parents,
        skeleton.end_offsets,
    )
    return replace(clip, skeleton=renamed), float(made.frequency.mean())


def explained_variance(model, clip):
    values = model.signals.read(clip)
    return measured_health(model, values, np.array([[0, len(values)]])).explained_variance


@pytest.mark.slow
def test_it_learns_from_several_skeletons(trained):
    assert [each.kind for each in trained.skeletons] == ["biped", "quadruped"]
    assert all(each.health.explained_variance > 0.1 for each in trained.skeletons)
    assert all(each.health.speed_error < 0.15 for each in trained.skeletons)


@pytest.mark.slow
def test_an_unseen_skeleton_is_read_without_training(trained):
    clip, _ = foreign()
    model = trained.bound(clip)
    assert set(model.signals.joints) == set(clip.skeleton.names)
    # Bodies in turn: each is bound to its own joints, and to the weights of the moment.
    other = locomotion(5, 3.0, body="biped", fps=60.0).clip
    for each in (clip, other, clip):
        expected = trained.bound(each).encode(each).parameters.phase
        np.testing.assert_array_equal(trained.encode(each).parameters.phase, expected)
    weights = trained.network.state_dict()["decoder_out.bias"]
    before, first = weights.clone(), trained.sha256
    weights += 1.0
    assert trained._bound_as_last(clip).sha256 == trained.sha256 != first
    weights.copy_(before)
    assert explained_variance(model, clip) > 0.1
    # An untrained one explains nothing.
    network = make_autoencoder(3 * len(POINTS), 60.0, trained.config.network)
    blank = PhaseModel(network, trained.config, PointVelocities())
    assert explained_variance(blank.bound(clip), clip) < 0.05


@pytest.mark.slow
def test_its_file_gives_the_same_phases_and_names_itself(trained, tmp_path):
    trained.save(tmp_path / "any.model")
    read = load_model(tmp_path / "any.model")
    clip, _ = foreign()
    assert isinstance(read.signals, PointVelocities)
    assert read.skeletons == trained.skeletons
    assert read.sha256 == trained.sha256 == read.bound(clip).sha256
    np.testing.assert_array_equal(
        read.encode(clip).parameters.phase, trained.encode(clip).parameters.phase
    )
    with pytest.raises(CheckpointError, match="a model for any skeleton where"):
        load_extractor(tmp_path / "any.model")
    content = bytearray((tmp_path / "any.model").read_bytes())
    content[-40] ^= 0xFF
    (tmp_path / "damaged.model").write_bytes(content)
    with pytest.raises(CheckpointError, match="damaged"):
        load_model(tmp_path / "damaged.model")


@pytest.mark.slow
def test_a_training_begins_with_its_weights(trained, tmp_path):
    clip, _ = foreign(seconds=12.0)
    store = ClipStore.from_clips([clip])
    bound = trained.bound(store)
    config = PhaseConfig(
        bound.config.network,
        replace(bound.config.training, windows=32, learning_rate=1e-9, mirror=0.0),
    )
    options = {"folder": tmp_path / "work", "accelerator": "cpu", "logger": False}
    model = train_phase(store, config, start=bound, **options)
    assert explained_variance(model, clip) == pytest.approx(
        explained_variance(bound, clip), abs=1e-3
    )
    other = replace(config, network=replace(config.network, channels=2))
    with pytest.raises(ParameterError, match="another network"):
        train_phase(store, other, start=bound, **options)


def test_the_shipped_model_reads_a_made_walk():
    """Phase goes forward, at a multiple of the stride's frequency, on an unseen body."""
    clip, stride = foreign(11, 8.0)
    phases = shipped_model().encode(clip)
    inside = phases.parameters[phases.interior]
    strongest = int(inside.amplitude.mean(0).argmax())
    steps = np.diff(np.unwrap(inside.phase[:, strongest], period=1.0))
    assert (steps > 0).mean() > 0.98
    rate = steps.mean() * phases.fps
    multiple = round(rate / stride)
    assert multiple >= 1
    assert rate == pytest.approx(multiple * stride, rel=0.03)
    assert explained_variance(shipped_model().bound(clip), clip) > 0.7
