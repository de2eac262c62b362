"""Files that come with the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deepphase.apps.dances import DanceSource
from deepphase.evaluation.dance import bar_shares, body_of_clip, measure_dance
from deepphase.matching.learned.matcher import Matcher
from deepphase.music.features import features_of
from deepphase.shipped import MAX_BYTES, SHIPPED
from deepphase.steering.dance import DanceRequest
from deepphase.steering.goal_sources import RootStates
from deepphase.steering.run import rollout
from deepphase.steering.velocity_goals import VelocityGoals
from deepphase.synthetic.song import make_song

_CARD = Path(__file__).parent.parent / "docs" / "models.md"
# Character -> speeds in m/s, and directions of travel from the facing in degrees, which it has.
_TRAVEL = {
    "person": [(1.2, 0), (0.8, 45), (0.8, 90), (0.8, 180), (0.8, -90), (1.2, -135), (2.2, 0)],
    "dog": [(0.8, 0), (1.2, 0), (4.2, 0)],
}


def test_they_are_all_there_described_and_small():
    folder = next(iter(SHIPPED.values())).path.parent
    names = {path.name for path in folder.iterdir() if path.suffix not in (".py", "")}
    assert names == {each.path.name for each in SHIPPED.values()}
    card = _CARD.read_text("utf-8")
    assert all(f"`{each.path.name}`" in card for each in SHIPPED.values())
    assert sum((folder / name).stat().st_size for name in names) < MAX_BYTES


@pytest.mark.parametrize("name", _TRAVEL)
def test_characters_travel_as_they_are_steered(name):
    """At the speed and in the direction that is asked for, facing ahead."""
    speeds, degrees = np.array(_TRAVEL[name], np.float64).T
    ways = np.stack([np.sin(np.radians(degrees)), np.cos(np.radians(degrees))], axis=1)
    start = RootStates.at_rest(np.zeros((len(speeds), 2)))
    goals = VelocityGoals(start)
    labels = {"style": "neutral"} if name == "person" else {}
    characters = Matcher.load(SHIPPED[name].path).source(labels=labels).start(goals, start)
    goals.set(speeds[:, None] * ways, np.zeros(len(speeds)))
    rollout(characters, goals, 4.0)
    run = rollout(characters, goals, 4.0)
    moved = (run.positions[:, -1] - run.positions[:, 0]) / 4.0
    assert np.linalg.norm(moved, axis=1) == pytest.approx(speeds, rel=0.4)
    assert ((moved * ways).sum(axis=1) > 0.9 * np.linalg.norm(moved, axis=1)).all()


@pytest.mark.parametrize("name", _TRAVEL)
def test_characters_turn_round_within_1_2_seconds(name):
    start = RootStates.at_rest(np.zeros((1, 2)))
    goals = VelocityGoals(start)
    characters = Matcher.load(SHIPPED[name].path).source().start(goals, start)
    for way, seconds in ((1.25, 3.0), (-1.25, 1.2)):
        goals.set(np.array([[0.0, way]]))
        run = rollout(characters, goals, seconds)
    speeds = np.diff(run.positions[0, -7:, 1]) * run.fps
    assert speeds.mean() < 0.9 * -1.25
    assert np.cos(run.angles[0, -1]) < -0.9


def test_arms_of_the_person_hang():
    """Captures of 100STYLE have T-poses amid them, which are left out."""
    matcher = Matcher.load(SHIPPED["person"].path)
    motion, rows = matcher.motion, np.arange(0, len(matcher.kept), 11)
    places = motion.positions(motion.rotations[rows], motion.translations[rows])
    joint = matcher.body.skeleton.names.index
    hands = places[:, [joint("LeftHand"), joint("RightHand")]]
    arms = places[:, [joint("LeftArm"), joint("RightArm")]]
    raised = (hands - arms)[..., 1].min(axis=1) > -0.25
    assert np.linalg.norm(hands[raised, 0] - hands[raised, 1], axis=1).max(initial=0.0) < 0.9


@pytest.mark.parametrize(
    ("bpm", "beats_per_bar"), [(72.0, 4), (80.0, 4), (88.0, 3), (110.0, 4), (128.0, 4)]
)
def test_the_dancer_keeps_the_tempo_of_any_song(bpm, beats_per_bar):
    song = make_song(3, 24.0, tempo_bpm=bpm, beats_per_bar=beats_per_bar)
    features = features_of(song.samples)
    result = DanceSource.shipped().dance(features, DanceRequest(2.0, 20.0))
    assert len(result.clip) == 1200
    assert all(len(values) == 1200 for values in (result.root, result.phases.phase, result.alive))
    values = measure_dance(result.clip, features, 2.0)
    assert values["by_motion"] > 1.4 * values["by_motion_chance"]
    assert values["by_steps"] > 1.5 * values["by_steps_chance"]
    assert 0.3 < values["speed"] < 1.1
    if bpm == 80.0:
        height, fps = body_of_clip(result.clip)[0]["root"][:, 1], result.clip.fps
        share, other_tempi = bar_shares(height, fps, features, 2.0, parts=(1, 2))
        assert share > max(3.0 * other_tempi, 0.19)
