"""The wished trajectory: springs onto a path, and from a stick."""

import numpy as np
import pytest

from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings, PathGoals, PathSettings, RootStates
from deepphase.steering.path import GroundPath, circle
from deepphase.steering.velocity_goals import GamepadGoals

AHEAD = np.array([0.33, 0.67, 1.0])
STRAIGHT = GroundPath(np.array([0.0, 10.0]), np.array([[0.0, 0.0], [0.0, 10.0]]))


def root_states(x, z, vx, vz, angle=0.0):
    return RootStates(np.array([[x, z]]), np.array([[vx, vz]]), np.array([angle]), np.zeros(1))


def test_on_the_path_the_path_is_wished():
    path = circle(1.0, 4.0, 20.0)
    goal_source = PathGoals(path)
    goal_source.times[:] = 5.0
    now = np.array([5.0])
    on_path = RootStates(
        path.positions_at(now), path.velocities_at(now), path.facings_at(now), np.array([0.5])
    )
    positions, angles = goal_source.trajectory(on_path, np.array([0]), AHEAD)
    np.testing.assert_allclose(positions[0], path.positions_at(5.0 + AHEAD), atol=1e-9)
    np.testing.assert_allclose(angles[0], path.facings_at(5.0 + AHEAD), atol=1e-3)


def test_beside_the_path_half_the_way_back_in_a_halflife():
    goal_source = PathGoals(STRAIGHT)
    goal_source.times[:] = 2.0
    halflife = goal_source.settings.halflife_s
    positions, _ = goal_source.trajectory(
        root_states(0.4, 2.0, 0.0, 1.0), np.array([0]), np.array([halflife])
    )
    np.testing.assert_allclose(positions[0, 0], [0.2, 2.0 + halflife], atol=1e-9)


def test_bodies_beside_a_path_without_facings_face_the_way_back():
    moments = np.array([0.0, 0.35, 0.7, 4.0])
    beside = root_states(0.4, 2.0, 0.0, 1.0)
    faced = GroundPath(STRAIGHT.times, STRAIGHT.positions, np.zeros(2))
    for path, most in ((STRAIGHT, 0.5), (faced, 0.0)):
        goal_source = PathGoals(path)
        goal_source.times[:] = 2.0
        _, angles = goal_source.trajectory(beside, np.array([0]), moments)
        np.testing.assert_allclose(angles[0, [0, 3]], 0.0, atol=1e-3)
        assert (angles[0, 1:3] * [1.0, 2.0] <= -0.8 * most).all()
    # The way back is that of the goals' places.
    near = moments[1] + np.array([-0.01, 0.01])
    goal_source = PathGoals(STRAIGHT)
    goal_source.times[:] = 2.0
    places, _ = goal_source.trajectory(beside, np.array([0]), near)
    _, angles = goal_source.trajectory(beside, np.array([0]), near.mean(keepdims=True))
    step = np.diff(places[0], axis=0)[0]
    assert angles[0, 0] == pytest.approx(np.arctan2(*step), abs=0.03)
    # A path that stands has no way, and who returns to it faces as before.
    rest = PathGoals(GroundPath(STRAIGHT.times, np.zeros((2, 2))))
    _, angles = rest.trajectory(root_states(0.4, 0.0, 0.0, 0.0), np.array([0]), moments)
    np.testing.assert_allclose(angles, 0.0, atol=1e-12)


def test_the_path_waits_for_who_lags_and_not_for_who_leads():
    goal_source = PathGoals(STRAIGHT)
    goal_source.times[:] = 5.0
    goal_source.advance(root_states(0.0, 3.0, 0.0, 1.0), 0.1)
    assert goal_source.times[0] == 5.0
    goal_source.advance(root_states(0.0, 7.0, 0.0, 1.0), 0.1)
    assert goal_source.times[0] == pytest.approx(5.1)


def distances(path, lead_s, seconds):
    """Metres at every frame from the path's place to a runner that answers its goals slowly."""
    goal_source = PathGoals(path, settings=PathSettings(lead_s=lead_s))
    way = path.velocities_at(np.zeros(1))
    place, velocity, away = np.zeros((1, 2)), way, []
    for _ in range(round(seconds * 60.0)):
        states = RootStates(place, velocity, np.zeros(1), np.zeros(1))
        goal_source.advance(states, 1.0 / 60.0)
        positions, _ = goal_source.trajectory(states, np.array([0]), AHEAD)
        wanted = (positions[:, 1] - place) / AHEAD[1]
        velocity = velocity + (0.9 * wanted - velocity) / 60.0 / 0.3
        place = place + velocity / 60.0
        away.append(np.linalg.norm(place - goal_source.target()[0]))
    return np.array(away)


def test_goals_lead_a_runner_that_lags():
    path = circle(1.2, 5.0, 30.0)
    path = GroundPath(path.times, path.positions - path.positions[0])
    without, led = (distances(path, lead_s, 20.0)[300:] for lead_s in (np.inf, 0.5))
    assert led.mean() < 0.5 * without.mean()
    assert led.max() < without.max()


PAUSE = GroundPath(
    np.array([0.0, 2.0, 5.0, 7.0]), np.array([[0.0, 0.0], [0.0, 2.0], [0.0, 2.0], [2.0, 2.0]])
)


def in_pause(time, z, vz):
    """Goals of a second of a body at (0, z) with a velocity."""
    goal_source = PathGoals(PAUSE)
    goal_source.times[:] = time
    places, facings = goal_source.trajectory(root_states(0.0, z, 0.0, vz), np.array([0]), AHEAD)
    return places[0], facings[0]


@pytest.mark.parametrize("time", [2.5, 4.4])
def test_the_goal_stands_in_a_pause_until_it_ends(time):
    places, facings = in_pause(time, 2.0, 0.0)
    np.testing.assert_allclose(places, np.tile([0.0, 2.0], (3, 1)), atol=1e-3)
    np.testing.assert_allclose(facings, 0.0, atol=1e-3)
    places, facings = in_pause(4.7, 2.0, 0.0)
    assert places[-1, 0] > 0.5
    assert facings[-1] > 1.0


def test_who_has_passed_a_pause_stops_and_who_has_not_goes_on():
    passed, _ = in_pause(3.0, 2.4, 0.0)
    np.testing.assert_allclose(passed, np.tile([0.0, 2.4], (3, 1)), atol=1e-3)
    coming, _ = in_pause(3.0, 1.6, 0.8)
    np.testing.assert_allclose(coming[-1], [0.0, 2.0], atol=0.15)
    far, _ = in_pause(3.0, 4.0, 0.0)
    assert far[-1, 1] < 3.0
    # It comes back once the path goes on.
    goal_source = PathGoals(PAUSE)
    goal_source.times[:] = 6.0
    places, _ = goal_source.trajectory(root_states(1.0, 2.4, 1.0, 0.0), np.array([0]), AHEAD)
    assert places[0, -1, 1] < 2.1


def test_labels_of_the_path_are_wished_in_their_time():
    path = GroundPath(
        np.array([0.0, 1.0, 2.0]), np.zeros((3, 2)), labels={"gait": ("walk", "", "run")}
    )
    goal_source = PathGoals(path, np.zeros((3, 2)))
    goal_source.times[:] = [0.5, 1.5, 2.5]
    assert goal_source.labels() == [{"gait": "walk"}, {}, {"gait": "run"}]


def gamepad(*moves):
    moves = np.array(moves, float)
    return Gamepad(np.arange(len(moves)), moves, np.zeros_like(moves))


def test_a_stick_is_answered_with_its_speed_and_facing():
    goal_source = GamepadGoals(
        gamepad([1, 0], [1, 0]), root_states(0, 0, 0, 0), GamepadSettings(top_speed=2)
    )
    state = root_states(0.0, 0.0, 0.0, 0.0)
    for _ in range(300):
        goal_source.advance(state, 1 / 60)
    positions, angles = goal_source.trajectory(state, np.array([0]), AHEAD)
    np.testing.assert_allclose(positions[0], np.outer(2 * AHEAD, [1, 0]), atol=1e-3)
    np.testing.assert_allclose(angles[0], np.pi / 2, atol=1e-3)
    # On its leash: the wished place does not run away.
    place, _ = goal_source.target()
    assert np.linalg.norm(place[0]) == pytest.approx(goal_source.settings.leash_m)


def test_an_abrupt_stick_asks_for_a_search_once():
    thrown = Gamepad(
        np.array([0, 1, 1.01, 3.0]), np.array([[0, 1], [0, 1], [1, 0], [1, 0.0]]), np.zeros((4, 2))
    )
    goal_source = GamepadGoals(thrown, root_states(0, 0, 0, 0))
    state = root_states(0, 0, 0, 0)
    changed = [bool(goal_source.advance(state, 0.1)[0]) for _ in range(20)]
    assert sum(changed) == 1
    assert 9 <= changed.index(True) <= 11


def test_the_command_of_a_path_is_that_of_its_line_at_each_clock():
    corner = GroundPath(np.array([0.0, 5.0, 10.0]), np.array([[0.0, 0.0], [0.0, 5.0], [10.0, 5.0]]))
    goal_source = PathGoals(corner, np.zeros((2, 2)))
    goal_source.times[:] = [4.98, 5.02]
    velocities, facings = goal_source.command()
    np.testing.assert_allclose(velocities, [[0.0, 1.0], [2.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(facings, [0.0, np.pi / 2], atol=1e-9)
    goal_source.times[:] = 12.0
    velocities, facings = goal_source.command()
    np.testing.assert_array_equal(velocities, 0.0)
    np.testing.assert_allclose(facings, np.pi / 2, atol=1e-3)
