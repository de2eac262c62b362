"""Players that stand: moments of rest, chained, entered after a stop and left at any moment."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.features.moment_kinds import IDLE, LOCOMOTION
from deepphase.matching.player.settings import MomentFilter, PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.rest import CONSTANTS, RestChain, RestMoments
from deepphase.steering.run import rollout, start_under_gamepad
from deepphase.synthetic.gait_motion import locomotion
from tests.matching.test_player import opened, walking_store
from tests.studies.rest_measures import RestReference, rest_of_run

FPS = 60.0


def standing_walks():
    """Walks of one body, and six short clips in which it stands, each a little otherwise."""
    walks = [locomotion(3, 4.0, speed=1.3, turn_rate=rate).clip for rate in (-0.8, 0.0, 0.8)]
    rests = [locomotion(number, 3.0, gait="idle", variety=1.0).clip for number in range(6)]
    clips = [replace(clip, name=f"clip{index}") for index, clip in enumerate([*walks, *rests])]
    database, playback, searcher = opened(ClipStore.from_clips(clips))
    walking = database.clip_of(np.arange(len(database))) < len(walks)
    kinds = np.where(walking, LOCOMOTION, IDLE).astype(np.uint8)
    return replace(database, kinds=kinds), playback, searcher


def released(seconds, rest_s):
    """A stick that is held to the front for some seconds and released."""
    times = [0.0, seconds, seconds + 0.01, seconds + rest_s]
    move = [[0.0, 0.8]] * 2 + [[0.0, 0.0]] * 2
    return Gamepad(times, move, np.zeros((4, 2)))


@pytest.fixture(scope="module")
def standing():
    return standing_walks()


@pytest.fixture(scope="module")
def walks():
    return opened(walking_store((-0.8, 0.0, 0.8), seconds=4.0))


def run_of(standing, stick, seconds, characters=3):
    settings = PlayerSettings(moments=MomentFilter())
    source = PlayerSource(*standing, settings=settings)
    player, goals = start_under_gamepad(source, stick, characters=characters)
    return player, rollout(player, goals, seconds)


def test_a_released_stick_ends_in_rest_that_goes_on(standing):
    database = standing[0]
    player, run = run_of(standing, released(2.0, 16.0), 18.0)
    rows = run.tracks["row"][:, round(3.2 * FPS) :]
    assert (database.kinds[rows] == IDLE).all()
    clips = [
        database.clip(index)
        for index in range(len(database.clip_names))
        if database.kinds[database.range_starts[index]] == IDLE
    ]
    reference = RestReference.of_clips(
        [replace(clip, labels={"kind": "idle"}) for clip in clips], player.spec
    )
    measures = rest_of_run(run, reference, 3.2)
    assert measures.dead == 0.0
    assert measures.distance < 1.5
    # No row is played again within ten seconds.
    for each in rows:
        for lag in (60, 300, 540):
            assert (each[:-lag] != each[lag:]).all()


def test_rest_is_left_at_any_moment(standing):
    player, _ = run_of(standing, released(1.0, 1.0), 2.0)
    for rest_s in (3.1, 3.7, 4.4):
        stick = Gamepad(
            [0.0, rest_s, rest_s + 0.01, 20.0], [[0, 0]] * 2 + [[0, 0.8]] * 2, np.zeros((4, 2))
        )
        player, run = run_of(standing, stick, rest_s + 1.5)
        assert not player._rest.resting.any()
        speeds = np.linalg.norm(run.positions[:, -1] - run.positions[:, -16], axis=1) * 4.0
        assert (speeds > 0.6).all()


def chain_of(poses, styles):
    """A chain of stretches of a second whose poses are constant: one number each."""
    rest = np.ones(61 * len(poses), bool)

    def poses_of(rows):
        return np.array(poses)[rows // 61][:, None, None] * np.array([1.0, 0.0, 0.0])

    stops = 61 * np.arange(1, len(poses) + 1)
    moments = RestMoments.from_rows(rest, stops, styles, poses_of, FPS)
    assert len(moments) == len(poses)
    return RestChain(moments, 1, FPS)


def test_the_nearest_moment_of_the_style_follows_that_was_not_played():
    chain = chain_of([0.0, 0.02, 0.04, 0.06], ["sad", "sad", "proud", "sad"])
    row, order = np.array([-1]), []
    for _ in range(4):
        pose = np.full((1, 1, 3), [0.0, 0.0, 0.0])
        row = chain.choose(np.array([0]), row, pose, ["sad"])
        order.append(int(row[0]) // 61)
        for _ in range(60):
            chain.advance()
            row = row + 1
    assert order == [0, 1, 3, 2]
    assert chain.ending(row - 1).all()
    for _ in range(round(CONSTANTS.again_s * FPS)):
        chain.advance()
    assert chain.choose(np.array([0]), row, np.zeros((1, 1, 3)), ["sad"])[0] // 61 in (0, 1)


def test_where_no_body_rests_the_quietest_pose_is_held_and_breathes(walks):
    stick = released(1.5, 12.0)
    player, run = run_of(walks, stick, 13.5)
    moments = player._rest.moments
    assert moments.held
    assert 1 <= len(moments) <= 8
    still = slice(round(3.5 * FPS), None)
    assert (np.diff(run.tracks["row"][:, still], axis=1) == 0).all()
    assert np.linalg.norm(np.diff(run.positions[:, still], axis=1), axis=-1).max() * FPS < 0.02
    turns = 2.0 * np.degrees(np.arccos(np.abs(
        (run.rotations[:, still][:, 60:].astype(float) * run.rotations[:, still][:, :-60]).sum(-1)
    ).clip(0, 1)))  # fmt: skip
    assert 0.1 < turns[..., player.playback.trunk].mean() < 3.0
