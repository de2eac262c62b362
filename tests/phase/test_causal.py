"""Causal encoders: current phases out of the past alone, against those of whole windows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.apps.demo import PHASES
from deepphase.apps.live.asset import live_asset
from deepphase.corpus.clip_store import ClipStore
from deepphase.cycles import wrapped
from deepphase.errors import CheckpointError, ParameterError
from deepphase.motion.kinematics import joint_positions
from deepphase.phase.causal.data import CausalData, CausalTraining
from deepphase.phase.causal.encoder import parameters_of
from deepphase.phase.causal.network import LAGS_S, CausalForm, CausalNetwork
from deepphase.phase.causal.training import train_causal
from deepphase.phase.model import PhaseModel
from deepphase.phase.streaming import StreamingEncoder
from deepphase.synthetic.gait_motion import locomotion
from tests.live.node import ask_node, needs_node

TRAINING = CausalTraining(frames=40_000)
FORM = CausalForm(hidden=48, averages=12)


@pytest.fixture(scope="module")
def store():
    clips = [
        replace(locomotion(seed, 12, gait=gait, profile="drift").clip, name=f"{gait}{seed}")
        for seed in range(4)
        for gait in ("walk", "jog")
    ]
    return ClipStore.from_clips(clips)


@pytest.fixture(scope="module")
def plain():
    return PhaseModel.load(PHASES)


@pytest.fixture(scope="module")
def model(store, plain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("causal")
    return train_causal(store, plain, TRAINING, form=FORM, folder=folder)


@pytest.fixture(scope="module")
def walk():
    return locomotion(7, 6, profile="drift").clip


def test_phases_of_now_are_nearer_to_those_of_whole_windows(model, plain, walk):
    whole, places = plain.encode(walk).parameters, joint_positions(walk)
    errors = {}
    for chosen in (False, True):
        encoder = StreamingEncoder(model, walk.skeleton.names, causal=chosen)
        assert encoder.causal == chosen
        found = [encoder.push(frame) for frame in places]
        measured = range(150, len(places) - 60)
        apart = np.stack([found[i].manifold() - whole[i].manifold() for i in measured])
        errors[chosen] = float(np.square(apart).sum())
    assert errors[True] < 0.7 * errors[False]
    reported, advanced = model.causal.errors[0.0], model.causal.advanced_errors[0.0]
    assert reported.phase < advanced.phase


def test_a_stream_in_numpy_is_the_network_in_torch(model, store, walk):
    network = model.causal.network
    data = CausalData(store, model, network, TRAINING)
    clip = store.clip(0)
    # A frame that the training saw, with a past shorter than the window, and one with all of it.
    for frame in (110, 300):
        batch = data.frames(torch.tensor([frame]))
        with torch.inference_mode():
            values = network(batch.velocities, batch.angle)[0].numpy()
        for place, lag in enumerate(LAGS_S):
            encoder = StreamingEncoder(model, clip.skeleton.names, lag_s=lag)
            for positions in joint_positions(clip)[: frame + 1]:
                found = encoder.push(positions)
            expected = parameters_of(values[place], network.unit.numpy())
            np.testing.assert_allclose(found.manifold(), expected.manifold(), atol=2e-4)
            np.testing.assert_allclose(found.frequency, expected.frequency, rtol=1e-3)


def test_answers_begin_after_a_third_of_a_second(model, walk):
    encoder, places = StreamingEncoder(model, walk.skeleton.names), joint_positions(walk)
    found = [encoder.push(frame) for frame in places[:40]]
    assert [each is None for each in found] == [True] * 19 + [False] * 21
    encoder.reset()
    again = [encoder.push(frame) for frame in places[:40]]
    np.testing.assert_array_equal(again[-1].manifold(), found[-1].manifold())


def test_a_lag_between_two_moments_turns_phases_back(model, walk):
    places = joint_positions(walk)[:200]
    known, between = (
        StreamingEncoder(model, walk.skeleton.names, lag_s=lag) for lag in (0.1, 0.15)
    )
    for frame in places:
        later, earlier = known.push(frame), between.push(frame)
    expected = wrapped(later.phase - later.frequency * 3 / 60)
    np.testing.assert_allclose(wrapped(earlier.phase - expected), 0, atol=1e-5)


def test_phases_do_not_depend_on_how_long_it_runs(model, walk):
    places = joint_positions(walk)
    fresh, long = (StreamingEncoder(model, walk.skeleton.names) for _ in range(2))
    for frame in [*places, *places]:
        long.push(frame)
    for frame in places:
        found, expected = long.push(frame), fresh.push(frame)
    np.testing.assert_array_equal(found.manifold(), expected.manifold())


def test_turning_and_moving_the_world_changes_nothing(model, walk):
    names, places = walk.skeleton.names, joint_positions(walk)[:150]
    turned = places[..., [2, 1, 0]] * (1, 1, -1) + (3, 0, -5)
    one, other = StreamingEncoder(model, names), StreamingEncoder(model, names)
    for before, after in zip(places, turned, strict=True):
        found, expected = other.push(after), one.push(before)
    np.testing.assert_allclose(found.manifold(), expected.manifold(), atol=1e-4)


def test_it_is_part_of_the_model_file(model, plain, walk, tmp_path):
    model.save(tmp_path / "with.model")
    read = PhaseModel.load(tmp_path / "with.model")
    assert read.sha256 == plain.sha256
    assert read.causal.words() == model.causal.words()
    frames = joint_positions(walk)[:60]
    one, other = (StreamingEncoder(each, walk.skeleton.names) for each in (model, read))
    for frame in frames:
        found, expected = one.push(frame), other.push(frame)
    np.testing.assert_array_equal(found.manifold(), expected.manifold())
    with pytest.raises(ParameterError, match="no causal encoder"):
        StreamingEncoder(plain, walk.skeleton.names, causal=True)
    broken = replace(model, causal=replace(model.causal, errors={}))
    broken.save(tmp_path / "broken.model")
    with pytest.raises(CheckpointError, match="do not fit"):
        PhaseModel.load(tmp_path / "broken.model")


def test_clips_that_are_too_short_are_refused(plain, tmp_path):
    short = ClipStore.from_clips([locomotion(1, 2.2).clip])
    with pytest.raises(ParameterError, match="no clip is long enough"):
        train_causal(short, plain, TRAINING, form=FORM, folder=tmp_path)


def test_averages_of_the_past_cover_all_frames():
    network = CausalNetwork(2, 3, 60.0, FORM)
    np.testing.assert_allclose(network.basis.sum(1).numpy(), 1.0, rtol=1e-5)
    assert (network.basis.sum(0) > 0).all()
    # The finest averages are of the newest frames.
    centres = (network.basis * torch.arange(network.window)).sum(1)
    assert (centres.diff() < 0).all()


@needs_node
def test_a_stream_in_javascript_is_that_in_python(model, walk, tmp_path):
    places = joint_positions(walk)[:140]
    for lag in (0.0, 0.15):
        encoder = StreamingEncoder(model, walk.skeleton.names, lag_s=lag)
        ours = [encoder.push(frame) for frame in places]
        theirs = ask_node(
            tmp_path,
            live_asset(model),
            "stream",
            places=places,
            names=walk.skeleton.names,
            lag=lag,
        )
        assert [each is None for each in theirs] == [each is None for each in ours]
        for own, other in zip(ours[-100::9], theirs[-100::9], strict=True):
            apart = wrapped(own.phase - np.array(other["phase"]))
            np.testing.assert_allclose(apart, 0, atol=1e-4)
            for name in ("frequency", "amplitude", "offset"):
                np.testing.assert_allclose(other[name], getattr(own, name), atol=1e-4)
