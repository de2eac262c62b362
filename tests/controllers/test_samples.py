"""Training pairs against motion by formula: what a frame holds, and that the next one follows."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.data.samples import ControllerSamples, schema_of_store
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.controllers.schema.frame_blocks import FrameBlocks
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from tests.controllers.made_controllers import FREQUENCIES, FormulaPhases, samples_for
from tests.formula_motion import swinging


def block(samples: ControllerSamples, side: str, name: str) -> np.ndarray:
    return getattr(samples, side)[:, getattr(samples.schema, side).slices[name]]


def test_a_straight_walk_by_formula():
    clip, _ = swinging(1.0, 5.0)
    made = samples_for("experts", ClipStore.from_clips([clip]))
    np.testing.assert_allclose(
        block(made, "outputs", "root_velocity"), [[0, 1.2]] * len(made), atol=1e-3
    )
    np.testing.assert_allclose(block(made, "outputs", "root_turn"), 0, atol=1e-3)
    for side in ("inputs", "outputs"):
        offsets = np.array(getattr(made.schema, side)["trajectory_position"].offsets_s)
        ahead = np.stack([0 * offsets, 1.2 * offsets], 1).ravel()
        policy = block(made, side, "trajectory_position")
        np.testing.assert_allclose(policy, np.tile(ahead, (len(made), 1)), atol=1e-3)
        speed = block(made, side, "trajectory_velocity").reshape(-1, 2)
        np.testing.assert_allclose(speed, np.tile([0, 1.2], (len(speed), 1)), atol=1e-3)


def test_only_frames_whose_trajectory_lies_inside_are_pairs(samples, store):
    lengths = samples.run_stops - samples.run_starts
    # A second on either side, and the last frame has no next one.
    np.testing.assert_array_equal(lengths, store.lengths - 121)
    np.testing.assert_array_equal(samples.first_frames, [60, 60])
    assert samples.names == store.names
    assert len(samples) == lengths.sum()
    np.testing.assert_array_equal(samples.run_of([0, lengths[0] - 1, lengths[0]]), [0, 0, 1])
    np.testing.assert_array_equal(
        samples.rows_of_runs(np.array([False, True])), np.arange(lengths[0], len(samples))
    )


def test_outputs_are_the_next_frames_inputs(samples):
    last = samples.run_stops - 1
    inner = np.setdiff1d(np.arange(len(samples)), last)
    for name in ("joint_position", "joint_velocity", "joint_rotation"):
        outputs, inputs = (block(samples, side, name) for side in ("outputs", "inputs"))
        np.testing.assert_array_equal(outputs[inner], inputs[inner + 1])
    # From one clip's last to the next clip's first frame nothing follows.
    boundary = samples.run_stops[0] - 1
    poses = block(samples, "outputs", "joint_position"), block(samples, "inputs", "joint_position")
    assert np.abs(poses[0][boundary] - poses[1][boundary + 1]).max() > 0.01
    later = block(samples, "outputs", "trajectory_position")
    now = block(samples, "inputs", "trajectory_position")[:, 12:]
    np.testing.assert_array_equal(later[inner], now[inner + 1])


def test_root_steps_add_up_to_the_way_that_was_walked(samples, store):
    for run, clip in enumerate(store):
        rows = slice(samples.run_starts[run], samples.run_stops[run])
        blocks = FrameBlocks.from_clip(clip, samples.schema, FormulaPhases())
        root, first = blocks.body.root, samples.first_frames[run]
        velocity = block(samples, "outputs", "root_velocity")[rows].astype(np.float64)
        turns = block(samples, "outputs", "root_turn")[rows, 0].astype(np.float64)
        angle, place = float(root.angles[first]), root.positions[first, [0, 2]].astype(np.float64)
        for (x, z), turn in zip(velocity, turns, strict=True):
            sine, cosine = np.sin(angle), np.cos(angle)
            place = place + np.array([cosine * x + sine * z, cosine * z - sine * x]) / clip.fps
            angle += turn / clip.fps
        last = first + len(turns)
        np.testing.assert_allclose(place, root.positions[last, [0, 2]], atol=1e-3)
        assert angle == pytest.approx(root.angles[last], abs=1e-3)


def test_phases_of_the_gate_and_of_what_is_predicted(samples, store):
    schema = samples.schema
    offsets = np.array(schema.gate["phase_manifold"].offsets_s)
    frames = samples.first_frames[0] + np.arange(samples.run_stops[0])
    amplitudes = np.array([0.5, 2.0])

    def manifold(times):
        angle = 2 * np.pi * times[..., None] * FREQUENCIES
        pair = np.stack([amplitudes * np.sin(angle), amplitudes * np.cos(angle)], -1)
        return pair.reshape(len(times), -1)

    steps = np.round(offsets * 60) / 60
    gate = samples.gate[: samples.run_stops[0]]
    np.testing.assert_allclose(gate, manifold(frames[:, None] / 60 + steps), atol=1e-4)
    later = manifold((frames[:, None] + 1) / 60 + steps[steps >= 0])
    found = block(samples, "outputs", "phase_manifold")[: samples.run_stops[0]]
    np.testing.assert_allclose(found, later, atol=1e-4)
    np.testing.assert_allclose(
        block(samples, "outputs", "phase_frequency"), np.tile(FREQUENCIES, (len(samples), 7))
    )


def test_mirrored_copies_walk_on_the_other_side(store):
    made = samples_for("mann", store, mirror=True)
    assert made.mirrored.tolist() == [False, True, False, True]
    own = slice(made.run_starts[2], made.run_stops[2])
    other = slice(made.run_starts[3], made.run_stops[3])
    turn = block(made, "outputs", "root_turn")
    assert np.abs(turn[own].mean()) > 0.2
    np.testing.assert_allclose(turn[own], -turn[other], atol=1e-3)
    feet = made.gate[own, :6].reshape(-1, 2, 3), made.gate[other, :6].reshape(-1, 2, 3)
    np.testing.assert_allclose(feet[0][:, ::-1] * [-1, 1, 1], feet[1], atol=5e-3)


def test_labels_are_one_hot_and_must_be_known(store):
    clips = [
        replace(clip, labels={"style": style}) for clip, style in zip(store, "ba", strict=True)
    ]
    styled = ClipStore.from_clips(clips)
    config = SchemaConfig(label="style")
    schema = schema_of_store(styled, "goal", config, channels=0, tracks=None)
    assert schema.label_values == ("a", "b")
    made = ControllerSamples.read(styled, schema)
    one_hot = block(made, "inputs", "style").reshape(len(made), 13, 2)
    assert (one_hot[: made.run_stops[0]] == [0, 1]).all()
    assert (one_hot[made.run_starts[1] :] == [1, 0]).all()
    stranger = ClipStore.from_clips([replace(clips[0], labels={"style": "c"})])
    with pytest.raises(ParameterError, match="style is 'c'") as raised:
        ControllerSamples.read(stranger, schema)
    assert raised.value.hint == "the controller has a, b"
    partly = ClipStore.from_clips([clips[0], store.clip(1)])
    with pytest.raises(ParameterError, match="no label 'style'"):
        schema_of_store(partly, "goal", config, channels=0, tracks=None)


def test_tracks_come_at_the_samples_of_the_trajectory(store):
    def tracks(clip):
        return {"time": np.arange(len(clip)) / clip.fps}

    config = SchemaConfig(tracks=("time",))
    schema = schema_of_store(store, "none", config, channels=0, tracks=tracks)
    made = ControllerSamples.read(store, schema, tracks=tracks)
    times = (made.first_frames[0] + np.arange(made.run_stops[0]))[:, None] / 60
    steps = np.array(schema.inputs["time"].offsets_s)
    np.testing.assert_allclose(
        block(made, "inputs", "time")[: made.run_stops[0]], times + steps, atol=1e-5
    )
    with pytest.raises(ParameterError, match="the track 'time' is missing"):
        ControllerSamples.read(store, schema)
