"""Controllers with heights of the ground: samples by formula, and characters on ground."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.data.samples import ControllerSamples, schema_of_store
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.schema.config import TRAJECTORY_HEIGHT, SchemaConfig
from deepphase.controllers.schema.frame_blocks import FrameBlocks
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.steering.laid_run import feet_on_ground
from deepphase.steering.run import rollout
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.grounded_clip import ClipGround, ClipGrounds, GroundedClip
from deepphase.terrain.heightmap import Heightmap, made_ground
from deepphase.terrain.laying import median_soles
from tests.controllers.replaying import Replay, as_controller

FIRST = 90
CONFIG = SchemaConfig(heights=True)


@pytest.fixture(scope="module")
def walk():
    return locomotion(3, 5.0, speed=1.2, variety=0.0).clip


@pytest.fixture(scope="module")
def store(walk):
    return ClipStore.from_clips([walk])


@pytest.fixture(scope="module")
def schema(store):
    return schema_of_store(store, "none", CONFIG, channels=0, tracks=None)


def grounded_on(ground, walk):
    return GroundedClip.from_clip(walk, ground, find_roles(walk.skeleton, clip=walk), laid=True)


def replayed(grounded, walk, schema, **options):
    """A character that replays a clip on its ground, from the clip's place."""
    blocks = FrameBlocks.from_clip(walk, schema, grounded=grounded)
    first = np.array([FIRST])
    starts = InitialStates(
        blocks.rows(schema.inputs)[first], blocks.rows(schema.gate)[first], ("walk",), first
    )
    network = Replay(schema.dims, blocks.rows(schema.outputs), first)
    made = as_controller("nn", schema, network, grounded.clip, starts)
    made = replace(made, data={"soles": median_soles([walk], {}).tolist()})
    root = blocks.body.root
    characters = Characters(
        made,
        starts,
        positions=root.positions[first][:, ::2].astype(np.float64),
        angles=root.angles[first].astype(np.float64),
        **options,
    )
    return characters, blocks


def test_heights_are_those_of_the_ground_over_its_level(walk, schema):
    up = Heightmap(np.full((1, 1), 0.7), 1.0)
    lifted = FrameBlocks.from_clip(walk, schema, grounded=grounded_on(up, walk))
    on_floor = FrameBlocks.from_clip(walk, schema)
    # Even ground at another height looks as the floor does.
    for side in ("inputs", "outputs"):
        layout = getattr(schema, side)
        np.testing.assert_allclose(lifted.rows(layout), on_floor.rows(layout), atol=2e-3)
    height = on_floor.rows(schema.inputs)[:, schema.inputs.slices[TRAJECTORY_HEIGHT]]
    assert height.shape == (len(walk), 3 * 13)
    np.testing.assert_allclose(height, 0.0, atol=1e-6)
    slope = Heightmap.centred(np.tile(np.linspace(-2.0, 2.0, 81)[:, None], 81), 0.5, "slope")
    climbing = FrameBlocks.from_clip(walk, schema, grounded=grounded_on(slope, walk))
    rows = climbing.rows(schema.inputs)
    found = rows[:, schema.inputs.slices[TRAJECTORY_HEIGHT]].reshape(len(walk), 13, 3)
    place = rows[:, schema.inputs.slices["trajectory_position"]].reshape(len(walk), 13, 2)
    angles = climbing.body.root.angles[:, None]
    along = place[..., 1] * np.cos(angles) - place[..., 0] * np.sin(angles)
    np.testing.assert_allclose(found[..., 1], 0.1 * along, atol=1e-3)
    # The body keeps its height over the ground.
    hips = rows[:, schema.inputs.slices["joint_position"]][:, 1]
    flat = on_floor.rows(schema.inputs)[:, schema.inputs.slices["joint_position"]][:, 1]
    assert np.abs(hips - flat).mean() < 0.05


@pytest.mark.parametrize("kind", ["stairs", "rocks"])
def test_a_clip_on_ground_is_made_again_of_its_own_outputs(walk, schema, kind):
    ground = made_ground(kind, seed=2, size_m=20.0)
    grounded = grounded_on(ground, walk)
    settings = CharacterSettings(foot_ik=False)
    characters, blocks = replayed(grounded, walk, schema, ground=ground, settings=settings)
    assert np.ptp(grounded.clip.translations[:, 0, 1]) > 0.05
    run = rollout(characters, None, 1.5)
    made, recorded = joint_positions(run.clip(0)), joint_positions(grounded.clip)
    after = slice(FIRST + 1, FIRST + 1 + len(run))
    np.testing.assert_allclose(made, recorded[after], atol=0.01)
    # The network's inputs hold the same heights as in training, less what the future would differ.
    inputs, _ = characters.network_inputs
    block = schema.inputs.slices[TRAJECTORY_HEIGHT]
    past = inputs[0, block].reshape(13, 3)[:7]
    expected = blocks.rows(schema.inputs)[FIRST + len(run) - 1, block].reshape(13, 3)[:7]
    assert np.abs(past - expected).mean() < 0.02


def test_feet_stand_on_ground_that_the_motion_does_not_know(walk, schema):
    """A walk on the floor, whose feet are moved to slopes by inverse kinematics."""
    ground = made_ground("hills", seed=3, size_m=30.0)
    on_floor = GroundedClip.on_floor(walk, find_roles(walk.skeleton, clip=walk))
    characters, _ = replayed(on_floor, walk, schema, ground=ground)
    run = rollout(characters, None, 2.5)
    (found,) = feet_on_ground(run)
    assert found.floor is None
    assert found.ground is not None
    assert found.ground["slope"] > 0.05
    assert found.ground["deep"] < 0.02
    assert found.ground["floating"] < 0.1
    settings = CharacterSettings(foot_ik=False)
    characters, _ = replayed(on_floor, walk, schema, ground=ground, settings=settings)
    (raw,) = feet_on_ground(rollout(characters, None, 2.5))
    assert raw.ground is not None
    assert found.ground["depth"] + found.ground["gap"] < 0.5 * (
        raw.ground["depth"] + raw.ground["gap"]
    )


def test_a_body_stays_whole_at_cliffs_and_walls(walk, schema):
    z = np.arange(81) * 0.25 - 10.0
    on_floor = GroundedClip.on_floor(walk, find_roles(walk.skeleton, clip=walk))
    start = root_trajectory(walk, find_roles(walk.skeleton, clip=walk)).positions[FIRST]
    for height in (-30.0, 30.0):
        cliff = np.where(z[:, None] > start[2] + 0.5, height, 0.0) + np.zeros((1, 81))
        characters, _ = replayed(
            on_floor, walk, schema, ground=Heightmap(cliff, 0.25, (-10.0, -10.0))
        )
        run = rollout(characters, None, 2.5)
        assert run.alive.all()
        places = joint_positions(run.clip(0))
        assert np.isfinite(places).all()
        assert np.ptp(places - places[:, :1], axis=0).max() < 2.5


def test_samples_of_every_ground_and_of_their_mirror_images(walk, store, schema):
    grounds = ClipGrounds(
        [ClipGround(made_ground(kind, size_m=20.0), walk.name, True) for kind in ("hills", "rocks")]
    )
    once = ControllerSamples.read(store, schema)
    read = ControllerSamples.read(store, schema, mirror=True, grounds=grounds)
    assert len(read) == 6 * len(once)
    block = schema.inputs.slices[TRAJECTORY_HEIGHT]
    heights = read.inputs[:, block].reshape(6, len(once), 13, 3)
    # A clip on its floor and on two grounds, then its mirror image: left and right are exchanged.
    np.testing.assert_allclose(heights[0], 0.0, atol=1e-6)
    assert heights[1].any()
    assert heights[2].any()
    np.testing.assert_allclose(heights[4], heights[1][..., ::-1], atol=0.02)
    starts = InitialStates.from_samples(read, np.arange(0, len(read), 50))
    assert not starts.inputs[:, block].any()
