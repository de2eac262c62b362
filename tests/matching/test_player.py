"""Players of synthetic walking: along paths, under a gamepad, within the clips' ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.evaluation.measurement import ObservedRun, values_by_name
from deepphase.evaluation.run_measures import measure
from deepphase.features.layout import Feature, FeatureLayout
from deepphase.features.moment_kinds import KINDS
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.settings import MomentFilter, PlayerSettings, moments_line
from deepphase.matching.player.source import PlayerSource, database_measures
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion.clip import joint_positions
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.path import MADE_PATHS, made_path
from deepphase.steering.run import rollout, start_on_path, start_under_gamepad
from deepphase.synthetic.gait_motion import locomotion
from tests.steering.absurd_goals import AbsurdGoals, every_kind

SPEED = 1.3
AHEAD = (0.33, 0.67, 1.0)
LAYOUT = FeatureLayout(
    Feature("foot_position", kind="joint_position", joints=("feet",)),
    Feature("foot_velocity", kind="joint_velocity", joints=("feet",)),
    Feature("trajectory_position", offsets_s=AHEAD),
    Feature("trajectory_direction", offsets_s=AHEAD),
)


def walking_store(turn_rates, seconds=6.0):
    clips = []
    for number, rate in enumerate(turn_rates):
        clip = locomotion(3, seconds, speed=SPEED, turn_rate=rate, variety=0.0).clip
        side = "left" if rate > 0 else "right" if rate < 0 else "straight"
        clips.append(replace(clip, name=f"walk{number}", labels={"way": side}))
    return ClipStore.from_clips(clips)


def opened(store):
    database = MotionDatabase.build(store, LAYOUT)
    return database, Playback.from_database(database), open_searcher(database, "exact")


@pytest.fixture(scope="module")
def walks():
    return opened(walking_store((-1.2, -0.8, -0.4, 0.0, 0.4, 0.8, 1.2)))


@pytest.fixture(scope="module")
def rested():
    clips = [locomotion(3, 4.0, gait="idle", variety=0.0).clip]
    clips += [locomotion(3, 4.0, speed=SPEED, turn_rate=rate).clip for rate in (-0.8, 0.0, 0.8)]
    return opened(ClipStore.from_clips(clips))


def steps_of(rows, jumped):
    """Rows rise by one but at jumps."""
    return np.diff(rows)[~jumped[1:]]


def test_playback_puts_clips_back_together(walks):
    database, play, _ = walks
    clip = database.clip(2)
    here = slice(int(database.range_starts[2]), int(database.range_stops[2]))
    positions = joint_positions(
        replace(
            clip,
            rotations=play.rotations[np.arange(here.start, here.stop)],
            translations=play.translations[here],
            translated_joints=play.translated_joints,
        )
    )
    root, angle = database.root_positions[here], database.root_angles[here]
    captured = joint_positions(clip) - root[:, None]
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    x = cosine * captured[..., 0] - sine * captured[..., 2]
    np.testing.assert_allclose(positions[..., 0], x, atol=1e-4)
    heights = positions[..., 1] - captured[..., 1]
    np.testing.assert_allclose(heights, heights[0, 0], atol=1e-4)
    assert play.travelling_speed == pytest.approx(SPEED, rel=0.1)


def test_rotations_are_gathered_from_every_store_of_a_database(walks):
    store = walking_store((-0.5, 0.5), seconds=3.0)
    more = walking_store((0.9, 0.1), seconds=3.0)
    more = replace(more, names=("late", "later"))
    database = MotionDatabase.build([store.selected(["walk1"]), more], LAYOUT)
    play = Playback.from_database(database)
    assert len(play.rotations) == len(database)
    others = [joint for joint in range(len(play.skeleton)) if joint not in (0, play.carrier)]
    rows = np.array([[0, 50], [200, 500]])
    gathered = play.rotations[rows]
    assert gathered.shape == (2, 2, len(play.skeleton), 4)
    for row, found in zip(rows.ravel(), gathered.reshape(4, -1, 4), strict=True):
        clip = database.clip(int(database.clip_of(row)))
        kept = clip.rotations[int(database.frame_of(row)), others]
        np.testing.assert_array_equal(found[others], kept)


@pytest.mark.parametrize("name", MADE_PATHS)
def test_walking_follows_a_path_with_feet_that_stay(walks, name):
    database, play, _ = walks
    path = MADE_PATHS[name](SPEED, {"wave": 8.0, "square": 5.0, "circle": 4.0}[name], 6.0)
    source = PlayerSource(*walks)
    run = rollout(*start_on_path(source, path), 6.0)
    data = database_measures(database, play)
    measured = values_by_name(measure(run, data))
    assert measured["rotation_ratio"] == pytest.approx(1.0, abs=0.15)
    assert measured["unlocked_contact_speed"] > measured["contact_speed"]
    assert measured["runaways"] == 0.0
    assert measured["path_error"] < 0.15
    assert measured["contact_speed"] < 15.0
    observed = ObservedRun(run, data)
    accelerations = observed.every(lambda motion: motion.accelerations)
    assert accelerations[observed.blended].max() < 1.2 * data["usual_acceleration"]
    # All the way: it has not stayed behind.
    assert np.linalg.norm(run.positions - run.desired_positions, axis=-1).max() < 0.8
    travelled = np.linalg.norm(np.diff(run.positions[0], axis=0), axis=1).sum()
    assert travelled == pytest.approx(SPEED * 6, rel=0.15)
    clip = run.clip()
    assert clip.fps == 60.0
    assert len(clip) == 360
    columns = source.columns(run, 0)
    clip_of_row = database.clip_of(run.tracks["row"][0])
    assert columns["clip"] == [database.clip_names[each] for each in clip_of_row]
    starts = database.range_starts[clip_of_row]
    np.testing.assert_array_equal(columns["frame"], run.tracks["row"][0] - starts)
    # Poses on both sides of a jump are near each other, and there is no distance without one.
    apart = run.tracks["jump_distance"]
    assert (apart[run.jumped] > 0).all()
    assert not apart[~run.jumped].any()
    assert measured["alignment"] < 0.3


def test_nothing_crosses_a_clips_end(walks):
    database, _, _ = walks
    path = MADE_PATHS["square"](SPEED, 3.0, 8.0)
    player, goal_source = start_on_path(PlayerSource(*walks, seed=2), path, characters=4)
    run = rollout(player, goal_source, 5.0)
    assert run.jumped.any()
    clips = database.clip_of(run.tracks["row"].ravel()).reshape(run.tracks["row"].shape)
    for rows, jumped, of_clip in zip(run.tracks["row"], run.jumped, clips, strict=True):
        assert (steps_of(rows, jumped) == 1).all()
        assert (np.diff(of_clip)[~jumped[1:]] == 0).all()


def test_one_clip_is_played_again_and_again_without_a_pop():
    opened_one = opened(walking_store((0.0,), seconds=4.0))
    database = opened_one[0]
    path = MADE_PATHS["wave"](SPEED, 100.0, 8.0)
    player, goal_source = start_on_path(PlayerSource(*opened_one), path)
    run = rollout(player, goal_source, 8.0)
    assert (run.tracks["row"] >= 0).all()
    assert (run.tracks["row"] < len(database)).all()
    assert 2 <= run.jumped.sum() < 20
    assert (steps_of(run.tracks["row"][0], run.jumped[0]) == 1).all()
    positions = joint_positions(run.clip())
    captured = joint_positions(database.clip(0))
    fastest = np.linalg.norm(np.diff(captured, axis=0), axis=-1).max()
    assert np.linalg.norm(np.diff(positions, axis=0), axis=-1).max() < 1.3 * fastest


def test_many_characters_play_as_each_would_alone(walks):
    path = MADE_PATHS["circle"](SPEED, 4.0, 3.0)
    many, goal_source = start_on_path(PlayerSource(*walks, seed=1), path, characters=5)
    start = many.rows.copy()
    together = rollout(many, goal_source, 3.0)
    alone_player, alone_follower = start_on_path(PlayerSource(*walks), path)
    alone = rollout(alone_player, alone_follower, 3.0)
    assert start[0] == together.tracks["row"][0, 0] - 1
    np.testing.assert_array_equal(together.tracks["row"][0], alone.tracks["row"][0])
    np.testing.assert_allclose(together.rotations[0], alone.rotations[0], atol=1e-5)
    np.testing.assert_allclose(together.translations[0], alone.translations[0], atol=1e-5)


def test_a_held_foot_stays_to_millimetres(walks):
    _, play, _ = walks
    path = MADE_PATHS["circle"](SPEED, 4.0, 8.0)
    speeds = {}
    for locks in (False, True):
        settings = PlayerSettings(foot_lock=locks)
        player, goal_source = start_on_path(PlayerSource(*walks, settings=settings), path)
        run = rollout(player, goal_source, 4.0)
        tips = joint_positions(run.clip())[:, play.limbs.tips][..., ::2]
        contacts = play.contacts[run.tracks["row"][0]]
        # The second half of every stance: the blending in is over.
        settled = np.array([contacts[max(i - 15, 0) : i + 1].all(0) for i in range(len(run))])
        moved = np.linalg.norm(np.diff(tips, axis=0), axis=-1)[settled[1:]]
        speeds[locks] = np.median(moved)
    assert speeds[True] < 0.001
    assert speeds[True] < 0.5 * speeds[False]


def test_only_clips_with_the_labels_are_played(walks):
    database, _, _ = walks
    path = MADE_PATHS["circle"](SPEED, 4.0, 4.0)
    player, goal_source = start_on_path(
        PlayerSource(*walks, labels={"way": ["left", "straight"]}), path, characters=3
    )
    run = rollout(player, goal_source, 4.0)
    policy = [database.labels[clip]["way"] for clip in database.clip_of(run.tracks["row"].ravel())]
    assert set(policy) <= {"left", "straight"}
    with pytest.raises(ParameterError, match="way"):
        start_on_path(PlayerSource(*walks, labels={"way": ["up"]}), path)


@pytest.mark.parametrize("index", ["exact", "IVF4,Flat"])
def test_actions_are_played_only_where_they_are_included(walks, index):
    database, play, _ = walks
    # Every second clip is an action. The path turns both ways.
    kinds = np.ones(len(database), np.uint8)
    actions = database.clip_of(np.arange(len(database))) % 2 == 1
    kinds[actions] = KINDS.index("action")
    tagged = replace(database, kinds=kinds)
    searcher = open_searcher(tagged, index)
    path = MADE_PATHS["wave"](SPEED, 4.0, 4.0)

    def played(moments):
        settings = PlayerSettings(moments=moments)
        source = PlayerSource(tagged, play, searcher, settings=settings)
        player, goal_source = start_on_path(source, path, characters=3)
        rows = rollout(player, goal_source, 4.0).tracks["row"].ravel()
        return {tagged.clip_names[clip] for clip in tagged.clip_of(rows)}

    assert played(MomentFilter()) <= {"walk0", "walk2", "walk4", "walk6"}
    assert played(None) & {"walk1", "walk3", "walk5"}
    straight = MomentFilter(("action",), {"way": "straight"})
    assert played(straight) <= {"walk1", "walk3", "walk5"}
    with pytest.raises(ParameterError, match="no moment of this database is of a kind"):
        played(MomentFilter(("idle",)))
    share = moments_line(tagged, ~actions)
    assert share.startswith("57% of the frames")
    assert "action 43%" in share


def test_a_player_leaves_before_an_action_begins(walks):
    database, play, searcher = walks
    frames = database.frame_of(np.arange(len(database)))
    # The last two seconds of every clip are an action.
    kinds = np.where(frames < 240, 1, KINDS.index("action")).astype(np.uint8)
    source = PlayerSource(
        replace(database, kinds=kinds),
        play,
        searcher,
        settings=PlayerSettings(moments=MomentFilter()),
    )
    player, goal_source = start_on_path(source, MADE_PATHS["wave"](SPEED, 4.0, 6.0), characters=3)
    run = rollout(player, goal_source, 6.0)
    rows = run.tracks["row"]
    assert (kinds[rows] == KINDS.index("action")).mean() < 0.01
    assert run.jumped.sum() > 3
    columns = source.columns(run, 0)
    assert columns["kind"] == [KINDS[kind] for kind in kinds[rows[0]]]


def test_a_gamepad_starts_walks_and_stops(rested):
    _, play, _ = rested
    moves = np.array([[0, 0], [0, 0], [0, 1], [0, 1], [0, 0], [0, 0.0]])
    gamepad = Gamepad(np.array([0, 1, 1.05, 4, 4.05, 8.0]), moves, np.zeros_like(moves))
    player, goal_source = start_under_gamepad(PlayerSource(*rested), gamepad, characters=2)
    run = rollout(player, goal_source, 8.0)
    speed = np.linalg.norm(np.diff(run.positions, axis=1), axis=-1)[0] * 60
    assert speed[30:55].max() < 0.3
    assert speed[150:230].mean() > 0.7 * play.travelling_speed
    assert speed[-30:].max() < 0.3
    # Thrown at 1 s: on the way within half a second.
    assert run.jumped[0, 60:90].any()


def test_players_come_back_from_absurd_goals_and_count_them(walks):
    database, play, searcher = walks
    source = PlayerSource(database, play, searcher)
    sizes, frames = every_kind()
    player, goals = start_on_path(source, made_path("wave", SPEED, 10.0), characters=len(sizes))
    run = rollout(player, AbsurdGoals(goals, sizes, frames), 5.0)
    speeds = np.linalg.norm(np.diff(run.positions, axis=1), axis=-1) * run.fps
    assert run.alive.all()
    assert speeds.max() < 1.5 * SPEED
    assert run.limited[frames == 60].any(axis=1).all()
    assert not run.limited[:, -30:].any()
    player, goals = start_on_path(source, made_path("wave", SPEED, 10.0))
    with pytest.raises(
        ParameterError, match="feature 'trajectory_position' must have finite values"
    ):
        rollout(player, AbsurdGoals(goals, [np.nan], [30], begin=0), 1.0)
