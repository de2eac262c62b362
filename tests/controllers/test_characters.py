"""The runtime against clips that a network knows by heart: everything comes back as it was."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.training.health import RecordedGoals
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms, joint_positions
from deepphase.motion.skeleton import Skeleton
from deepphase.steering.run import rollout
from deepphase.synthetic.gait_motion import locomotion
from tests.controllers.made_controllers import FormulaPhases
from tests.controllers.replaying import replay_of

PLAIN = CharacterSettings(foot_ik=False)
# The past reaches a second back: from then on all of it has been recorded.
BEGIN, RECORDED, STEPS = 90, 62, 140
GATES = ("pfnn", "experts", "mann", "no_phase", "nn")


def phases_for(name: str) -> FormulaPhases | None:
    return FormulaPhases() if name in ("pfnn", "experts", "vinn") else None


def walking(body: str = "biped") -> Clip:
    return locomotion(2, 6.0, turn_rate=0.6, body=body).clip


def under_a_node(clip: Clip) -> Clip:
    """The same motion with two nodes above the hips, as some files have them."""
    old = clip.skeleton
    names = ("Node", "Lift", *old.names)
    parents = np.concatenate([[-1, 0], old.parents + 2])
    offsets = np.concatenate([np.zeros((2, 3)), old.offsets])
    offsets[1] = [0.0, 0.1, 0.0]
    skeleton = Skeleton(names, parents, offsets, old.end_parents + 2, old.end_offsets)
    count = len(clip)
    rotations = np.concatenate(
        [np.tile(quaternions.IDENTITY, (count, 2, 1)), clip.rotations], axis=1
    )
    moved = clip.translations[:, :1] - [0.0, 0.1, 0.0]
    translations = np.concatenate([np.zeros((count, 1, 3)), moved], axis=1)
    return Clip(skeleton, rotations, translations, clip.fps, np.array([0, 2]), name="under")


def begun(clip: Clip, name: str, settings: CharacterSettings = PLAIN, **placed):
    controller, starts, blocks = replay_of(clip, name, [BEGIN], phases_for(name))
    root = blocks.body.root
    if not placed:
        placed = {"positions": root.positions[[BEGIN]][:, ::2], "angles": root.angles[[BEGIN]]}
    return Characters(controller, starts, settings=settings, **placed), blocks


def cycles_apart(first, second):
    apart = np.asarray(first, float) - second
    return np.abs(apart - np.round(apart))


@pytest.mark.parametrize("name", GATES)
def test_inputs_and_gate_are_what_training_saw(name):
    character, blocks = begun(walking(), name)
    schema = character.controller.schema
    inputs, gate = blocks.rows(schema.inputs), blocks.rows(schema.gate)
    positions = schema.inputs.slices["trajectory_position"]
    for step in range(STEPS):
        character.step()
        seen, input_gate = character.network_inputs
        row = BEGIN + step
        if step == 0 or step >= RECORDED:
            np.testing.assert_allclose(seen[0], inputs[row], atol=1e-5)
        # Before that the past has what a cubic makes of the start's samples.
        np.testing.assert_allclose(seen[0, positions], inputs[row, positions], atol=5e-3)
        np.testing.assert_allclose(seen[0], inputs[row], atol=0.1)
        if name == "pfnn":
            assert cycles_apart(input_gate[0], gate[row]).max() < 1e-4
        elif gate.shape[1]:
            np.testing.assert_allclose(input_gate[0], gate[row], atol=2e-4)
    assert not np.allclose(inputs[BEGIN], inputs[BEGIN + 7], atol=0.05)


@pytest.mark.parametrize("clip", [walking(), walking("quadruped"), under_a_node(walking())])
@pytest.mark.parametrize("feedback", ["pose", "prediction"])
def test_a_clip_comes_back(clip, feedback):
    settings = CharacterSettings(foot_ik=False, feedback=feedback)
    character, blocks = begun(clip, "experts", settings)
    run = rollout(character, None, STEPS / 60)
    here = slice(BEGIN + 1, BEGIN + 1 + STEPS)
    root = blocks.body.root
    np.testing.assert_allclose(run.positions[0], root.positions[here][:, ::2], atol=1e-4)
    np.testing.assert_allclose(run.angles[0], root.angles[here], atol=1e-4)
    made = run.clip(0)
    rotations, places = global_transforms(made)
    want_rotations, want_places = global_transforms(clip)
    body = [clip.skeleton.index(name) for name in character.controller.schema.joints]
    np.testing.assert_allclose(places[:, body], want_places[here][:, body], atol=1e-4)
    cosines = np.vecdot(rotations[:, body], want_rotations[here][:, body], dtype=float)
    np.testing.assert_allclose(
        rotations[:, body], np.sign(cosines)[..., None] * want_rotations[here][:, body], atol=1e-4
    )
    np.testing.assert_array_equal(run.contacts[0], blocks.contacts[here])
    assert run.alive.all()
    assert run.limb_errors.max() < 1e-4


def test_a_run_begins_where_and_facing_where_it_is_told():
    clip, place, angle = walking(), np.array([3.0, -2.0]), 2.1
    first, _ = begun(clip, "experts", positions=np.zeros((1, 2)), angles=np.zeros(1))
    second, _ = begun(clip, "experts", positions=place[None], angles=np.array([angle]))
    runs = [rollout(each, None, 1.0) for each in (first, second)]
    turn = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), np.array(angle))
    moved = quaternions.rotate(turn, joint_positions(runs[0].clip()).astype(float))
    moved += np.array([place[0], 0.0, place[1]])
    np.testing.assert_allclose(joint_positions(runs[1].clip()), moved, atol=1e-5)
    np.testing.assert_allclose(runs[1].angles, runs[0].angles + angle, atol=1e-9)
    np.testing.assert_allclose(first.network_inputs[0], second.network_inputs[0], atol=1e-5)


@pytest.mark.parametrize("bias", [0.5, 5.0])
def test_wishing_what_is_predicted_changes_nothing(bias):
    """The clip's own trajectory as the wish: places, facings and velocities fit it at any bias."""
    settings = CharacterSettings(foot_ik=False, position_bias=bias, direction_bias=bias)
    character, blocks = begun(walking(), "no_phase", settings)
    root, schema = blocks.body.root, character.controller.schema
    goal_source = RecordedGoals(
        root.positions[None, BEGIN:, ::2], root.angles[None, BEGIN:], schema.fps
    )
    inputs, gate = blocks.rows(schema.inputs), blocks.rows(schema.gate)
    for step in range(RECORDED + 40):
        character.step(goal_source)
        if step == 0 or step >= RECORDED:
            np.testing.assert_allclose(
                character.network_inputs[0][0], inputs[BEGIN + step], atol=1e-3
            )
        np.testing.assert_allclose(character.network_inputs[1][0], gate[BEGIN + step], atol=1e-3)
