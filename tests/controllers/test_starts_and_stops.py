"""Starts and stops made of clips: continuous, with feet that stand, and of training clips alone."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.samples import schema_of_store
from deepphase.controllers.data.starts_and_stops import starts_and_stops, stitched
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.controllers.schema.frame_blocks import FrameBlocks
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.feature import TRAJECTORY_BLOCKS
from deepphase.features.moment_kinds import IDLE, LOCOMOTION, clip_kinds
from deepphase.motion import quaternions
from deepphase.motion.clip import Source, global_transforms, joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.synthetic.gait_motion import locomotion

REACH_S = 1.0


def clip_of(gait, seed, seconds=5.0, body="biped", **options):
    made = locomotion(seed, seconds, body=body, gait=gait, profile="constant", **options).clip
    return replace(made, name=f"{gait}_{seed}", source=Source(path=f"{gait}_{seed}.bvh"))


def store_of(body="biped", gaits=("walk", "idle")):
    return ClipStore.from_clips(clip_of(gait, seed, body=body) for gait in gaits for seed in (1, 2))


def made_of(store, seconds=20.0, **options):
    frames = round(seconds * store.fps)
    made = starts_and_stops(store, range(len(store)), {}, frames, reach_s=REACH_S, **options)
    return [clip for clip, _ in made]


def turned(clip, angle, shift):
    """The same motion elsewhere on the ground."""
    turn = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), np.array(angle))
    rotations, translations = clip.rotations.copy(), clip.translations.copy()
    rotations[:, 0] = quaternions.multiply(turn, rotations[:, 0])
    translations[:, 0] = quaternions.rotate(turn, translations[:, 0]) + shift
    return replace(clip, rotations=rotations, translations=translations)


def test_a_clip_that_goes_on_as_its_own_rest_is_itself():
    whole = clip_of("walk", 3)
    roles = find_roles(whole.skeleton, clip=whole)
    rest = turned(whole.sliced(119, 240), 1.3, (4.0, 0.0, -2.0))
    made = stitched(whole.sliced(0, 120), rest, roles, roles.left_foot)
    difference = joint_positions(made) - joint_positions(whole.sliced(0, 240))
    assert np.abs(difference).max() < 0.01


def test_a_turn_faces_that_way_in_the_end():
    walk, stand = clip_of("walk", 3), clip_of("idle", 4)
    roles = find_roles(walk.skeleton, clip=walk)
    before = walk.sliced(0, 150)
    ends = [
        root_trajectory(stitched(before, stand, roles, roles.left_foot, turn), roles).angles[-1]
        for turn in (0.0, 1.0)
    ]
    assert ends[1] - ends[0] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("body", "gaits"), [("biped", ("walk", "run")), ("quadruped", ("trot",))])
def test_bodies_stand_travel_and_stand_without_a_jerk(body, gaits):
    store = store_of(body, (*gaits, "idle"))
    made = made_of(store)
    assert sum(len(clip) - 2 * REACH_S * store.fps for clip in made) >= 20.0 * store.fps

    def largest(clip):
        return np.abs(np.diff(joint_positions(clip).astype(np.float64), 2, axis=0)).max()

    usual = max(largest(clip) for clip in store)
    for clip in made:
        kinds = clip_kinds(clip)
        rest = round(REACH_S * clip.fps)
        assert (kinds[: rest // 2] == IDLE).all()
        assert (kinds[-rest // 2 :] == IDLE).all()
        assert (kinds == LOCOMOTION).any()
        assert largest(clip) < 2.0 * usual


def test_the_foot_that_came_down_stays():
    store = store_of()
    roles = find_roles(store.skeleton, clip=store.clip(0))
    for clip in made_of(store):
        still = clip_kinds(clip) == IDLE
        end = len(clip) - int(still[::-1].argmin())
        # From a tenth of a second before the rest to its end, one foot does not slide.
        feet = global_transforms(clip)[1][end - 6 :, list(roles.both("foot"))][..., ::2]
        slid = np.linalg.norm(feet - feet[-1], axis=-1).max(axis=0)
        assert slid.min() < 0.05


def data_with(share, store):
    config = ControllerConfig.load(
        "mann", **{"training.made_stops": share, "training.held_out": 0.3}
    )
    return ControllerData.read(store, config)


def test_made_stops_are_trained_on_and_not_held_out():
    store = store_of(gaits=("walk", "jog", "idle"))
    data, plain = data_with(0.4, store), data_with(0.0, store)
    made = len(data.samples) - len(plain.samples)
    np.testing.assert_array_equal(data.split.held_out, plain.split.held_out)
    assert len(data.split.train) == len(plain.split.train) + made
    assert made / len(data.split.train) == pytest.approx(0.4, abs=0.16)  # by a clip more
    used = set(data.samples.sources[len(plain.samples.sources) :])
    assert used
    assert not used & data.split.sources


def kinds_read(rule, store, **changes):
    config = ControllerConfig.load("mann", **{"training.actions": rule, **changes})
    return {name.rsplit("_", 1)[0] for name in ControllerData.read(store, config).samples.names}


def test_actions_are_left_out_of_clips_that_mostly_travel():
    bow = replace(clip_of("idle", 5), name="bow_5", labels={"kind": "action"})
    walks = [clip_of("walk", 1), clip_of("walk", 2), clip_of("idle", 3)]
    store = ClipStore.from_clips([*walks, bow])
    assert kinds_read("kept", store) == {"walk", "idle", "bow"}
    assert kinds_read("left_out", store) == {"walk", "idle"}
    assert kinds_read("auto", store) == {"walk", "idle"}
    with pytest.raises(ParameterError, match="idle or locomotion") as raised:
        kinds_read("left_out", ClipStore.from_clips([bow]))
    assert "actions=kept" in raised.value.hint
    # Clips that are mostly actions keep them; so do labels, which tell when one is wanted.
    dance = ClipStore.from_clips([walks[0], bow, replace(bow, name="bow_6")])
    assert kinds_read("auto", dance) == {"walk", "bow"}
    labelled = ClipStore.from_clips(
        replace(clip, labels={**clip.labels, "style": clip.name}) for clip in store
    )
    assert kinds_read("auto", labelled, **{"schema.label": "style"}) == {"walk", "idle", "bow"}


@pytest.fixture(scope="module")
def sudden():
    """A clip with a sudden start and stop: the stop, rows with both and without, their schema."""
    store = store_of()
    frames = round(5.0 * store.fps)
    made = starts_and_stops(store, range(len(store)), {}, frames, reach_s=REACH_S, sudden=1.0)
    clip, changes = next(iter(made))
    schema = schema_of_store(store, "none", SchemaConfig(), channels=0, tracks=None)
    plain, shown = (FrameBlocks.from_clip(clip, schema, sudden=each) for each in ((), changes))
    return clip, changes, schema, plain.rows(schema.inputs), shown.rows(schema.inputs)


def places_ahead(rows, schema):
    """(frames, 1 + samples, 2) m relative to the root, from now on."""
    block = rows[:, schema.inputs.slices["trajectory_position"]]
    return block.reshape(len(rows), -1, 2)[:, -len(schema.config.later_s) :]


def test_a_sudden_stop_is_not_seen_before_it_comes(sudden):
    _, (_, stop), schema, plain, shown = sudden
    straight = np.linalg.norm(np.diff(places_ahead(shown, schema)[stop.frame - 1], axis=0), axis=1)
    seen = np.linalg.norm(np.diff(places_ahead(plain, schema)[stop.frame - 1], axis=0), axis=1)
    assert straight.min() > 0.9 * straight.max()
    assert seen.min() < 0.2 * seen.max()


def test_sudden_starts_and_stops_change_the_trajectory_ahead_alone(sudden):
    clip, changes, schema, plain, shown = sudden
    reach = round(REACH_S * clip.fps)
    away = np.ones(len(plain), bool)
    for change in changes:
        away[max(change.frame - reach, 0) : change.frame + reach] = False
    np.testing.assert_array_equal(shown[away], plain[away])
    changed = (shown != plain).any(axis=0)
    slices = schema.inputs.slices
    trajectory = np.zeros(len(changed), bool)
    for name in TRAJECTORY_BLOCKS:
        if name in slices:
            trajectory[slices[name]] = True
    assert not changed[~trajectory].any()
