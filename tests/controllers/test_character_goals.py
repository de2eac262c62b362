"""Characters that are led: blending, labels, tracks, feet, and what they answer to nonsense."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.data.samples import ControllerSamples, schema_of_store
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import NETWORKS, make_network
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.motion.clip import joint_positions
from deepphase.steering.goal_sources import PathGoals
from deepphase.steering.path import GroundPath, circle
from deepphase.steering.run import rollout
from deepphase.synthetic.gait_motion import locomotion
from tests.controllers.made_controllers import FormulaPhases, config_with, samples_for
from tests.controllers.replaying import replay_of, unchanged


def untrained(name: str, store: ClipStore) -> tuple[Controller, ControllerSamples]:
    samples = samples_for(name, store)
    small = config_with(name, experts=4, gating_hidden=8, hidden=16, samples=12)
    torch.manual_seed(0)
    network = make_network(name, samples.schema.dims, small)
    running = NormalisedController(
        network, *samples.normalisations(), carried=samples.schema.carried
    )
    if network.is_fitted:
        inputs, gate = running.normalised(
            torch.from_numpy(samples.inputs), torch.from_numpy(samples.gate)
        )
        outputs = torch.from_numpy(samples.outputs)
        network.fit(inputs, gate, running.target(outputs, torch.from_numpy(samples.inputs)))
    starts = InitialStates.from_samples(samples, np.array([3, 40, 90]))
    config = ControllerConfig.load(name)
    skeleton = store.clip(0).skeleton
    return Controller(config, samples.schema, running, skeleton, starts), samples


def led(count: int) -> PathGoals:
    return PathGoals(circle(1.3, 5.0, 10.0), np.zeros((count, 2)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_runs_and_a_batch_is_its_characters(store, name):
    controller, _ = untrained(name, store)
    places = np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 4.0]])
    angles = np.array([0.0, 1.0, -2.0])

    def run(which):
        character = Characters(
            controller,
            controller.starts.select(which),
            positions=places[which],
            angles=angles[which],
        )
        return rollout(character, led(len(which)), 0.4)

    whole = run(np.arange(3))
    assert whole.alive.all()
    assert np.isfinite(whole.rotations).all()
    experts = {"experts": 4, "mann": 4, "lmp": 4, "no_phase": 4, "pfnn": 4, "vinn": 4}
    assert (None if whole.gating is None else whole.gating.shape[2]) == experts.get(name)
    assert whole.clip(1).skeleton is controller.skeleton
    if name == "vinn":
        return  # one stream of noise for all
    for index in range(3):
        single = run(np.array([index]))
        for block in ("positions", "angles", "translations", "contacts", "trajectory"):
            one, other = getattr(single, block)[0], getattr(whole, block)[index]
            np.testing.assert_allclose(one, other, atol=2e-3, err_msg=block)


@pytest.mark.parametrize("which", ["position_bias", "direction_bias"])
def test_the_larger_the_bias_the_nearer_the_wish(which):
    clip = locomotion(2, 6.0).clip
    path = GroundPath(np.array([0.0, 10.0]), np.array([[0.0, 0.0], [12.0, 0.0]]))
    errors = []
    for bias in (0.5, 2.0, 5.0):
        controller, starts, _ = replay_of(clip, "mann", [90])
        character = Characters(controller, starts, settings=CharacterSettings(**{which: bias}))
        frame = character.step(PathGoals(path))
        if which == "position_bias":
            errors.append(np.abs(frame.trajectory - frame.desired).mean())
            # Velocities go with the places: from the prediction to the wish.
            inputs = character.network_inputs[0][
                0, controller.schema.inputs.slices["trajectory_velocity"]
            ]
            velocities = inputs.reshape(-1, 2)[7:]
            middle = np.diff(frame.trajectory[0], axis=0) * 6
            between = 0.5 * (velocities[1:] + velocities[:-1])
            assert np.abs(between - middle).max() < 0.35
            assert np.abs(velocities[-1] - middle[-1]).max() < 0.25
        else:
            errors.append(np.abs(np.pi / 2 - frame.trajectory_angles).mean())
    assert errors[0] > 1.2 * errors[1] > 1.2 * errors[2]


def test_feet_in_contact_are_held_where_they_stand():
    """A body slid 20 cm/s to the side under its own steps."""
    clip = locomotion(2, 6.0).clip
    slide = {}
    for held in (False, True):
        controller, starts, _ = replay_of(clip, "mann", [90])
        rows = controller.network.network.rows
        rows[:, controller.schema.outputs.slices["root_velocity"].start] += 0.2
        run = rollout(
            Characters(controller, starts, settings=CharacterSettings(foot_ik=held)), None, 2.0
        )
        made = run.clip(0)
        toes = [made.skeleton.index(name) for name in ("LeftToeBase", "RightToeBase")]
        speed = np.linalg.norm(np.diff(joint_positions(made)[:, toes], axis=0)[..., ::2], axis=-1)
        contact = run.contacts[0, 1:] > 0.5
        standing = contact & (speed < np.median(speed[contact]))
        slide[held] = 60 * speed[standing].mean()
    assert slide[True] < 0.5 * slide[False]


def styled(store: ClipStore) -> tuple[Controller, InitialStates]:
    clips = [replace(clip, labels={"style": s}) for clip, s in zip(store, "ab", strict=True)]
    made = ClipStore.from_clips(clips)
    config = SchemaConfig(label="style")
    schema = schema_of_store(made, "goal", config, channels=0, tracks=None)
    samples = ControllerSamples.read(made, schema)
    kind = NETWORKS["no_phase"]
    network = kind.network(schema.dims, kind.make_config(experts=2, gating_hidden=4, hidden=8))
    dims = schema.dims
    running = NormalisedController(
        network, unchanged(dims.inputs), unchanged(dims.gate), unchanged(dims.outputs)
    )
    starts = InitialStates.from_samples(samples, np.array([5]))
    config = ControllerConfig.load("no_phase")
    return Controller(config, schema, running, clips[0].skeleton, starts), starts


def one_hot_of(character: Characters) -> np.ndarray:
    block = character.controller.schema.inputs.slices["style"]
    return character.network_inputs[0][0, block].reshape(13, 2)


def test_a_body_beside_its_path_is_brought_to_it():
    clip = locomotion(2, 6.0).clip
    path = GroundPath(np.array([0.0, 10.0]), np.array([[0.5, 0.0], [0.5, 12.0]]))
    apart = []
    for share in (0.0, 0.2):
        controller, starts, _ = replay_of(clip, "mann", [90])
        settings = CharacterSettings(adjust_share=share)
        run = rollout(Characters(controller, starts, settings=settings), PathGoals(path), 1.0)
        apart.append(float(np.linalg.norm(run.positions[0, -1] - run.desired_positions[0, -1])))
    assert apart[1] < 0.2 * apart[0]


def test_labels_change_as_wished_and_the_past_stays(store):
    controller, starts = styled(store)
    at_once = CharacterSettings(label_halflife_s=0.0, foot_ik=False)
    character = Characters(controller, starts, settings=at_once)
    character.step()
    np.testing.assert_array_equal(one_hot_of(character), np.tile([1, 0], (13, 1)))
    path = GroundPath(
        np.array([0.0, 5.0]), np.array([[0.0, 0], [0, 5]]), labels={"style": ("b", "b")}
    )
    goal_source = PathGoals(path)
    for _ in range(12):
        character.step(goal_source)
    now = one_hot_of(character)
    np.testing.assert_array_equal(now[6:], np.tile([0, 1], (7, 1)))
    np.testing.assert_array_equal(now[:5], np.tile([1, 0], (5, 1)))
    np.testing.assert_array_equal(now[5], [0, 1])
    smooth = Characters(
        controller, starts, settings=CharacterSettings(label_halflife_s=0.1), labels={"style": "b"}
    )
    for _ in range(6):
        smooth.step()
    np.testing.assert_allclose(one_hot_of(smooth)[6:], 0.5, atol=1e-6)


def test_tracks_are_given_at_every_step(store):
    def tracks(clip):
        return {"beat": np.arange(len(clip)) / clip.fps}

    schema = schema_of_store(
        store, "none", SchemaConfig(tracks=("beat",)), channels=0, tracks=tracks
    )
    samples = ControllerSamples.read(store, schema, tracks=tracks)
    kind = NETWORKS["nn"]
    running = NormalisedController(
        kind.network(schema.dims, kind.make_config(hidden=8)), *samples.normalisations()
    )
    starts = InitialStates.from_samples(samples, np.array([5]))
    controller = Controller(
        ControllerConfig.load("nn"), schema, running, store.clip(0).skeleton, starts
    )
    character = Characters(controller, starts)
    wanted = np.arange(13.0).reshape(1, 13, 1)
    character.step(tracks={"beat": wanted})
    np.testing.assert_array_equal(
        character.network_inputs[0][0, schema.inputs.slices["beat"]], wanted.ravel()
    )
    for bad in (None, {}, {"beat": wanted[:, :5]}, {"beat": wanted * np.nan}):
        with pytest.raises(ParameterError, match="the track 'beat'"):
            character.step(tracks=bad)


@pytest.mark.parametrize("value", [np.nan, np.inf, 2e3])
def test_who_leaves_all_bounds_stands_still_and_is_told(value):
    clip = locomotion(1, 5.0).clip
    controller, starts, _ = replay_of(clip, "experts", [90, 100], FormulaPhases())
    network = controller.network.network
    # The second character's clip breaks at its thirtieth frame.
    network.rows = torch.cat([network.rows, network.rows])
    network.first[1] += len(clip)
    network.rows[len(clip) + 100 + 30, 4] = value
    run = rollout(Characters(controller, starts), None, 1.0)
    assert run.alive[0].all()
    np.testing.assert_array_equal(run.alive[1], np.arange(60) < 29)
    for name in ("rotations", "translations", "positions", "trajectory"):
        assert np.isfinite(getattr(run, name)).all()
    np.testing.assert_array_equal(run.positions[1, 29:], np.tile(run.positions[1, 28], (31, 1)))
    np.testing.assert_allclose(run.survived_s, [1.0, 29 / 60])
    assert any("diverged at frame 29" in note for note in run.clip(1).source.notes)
