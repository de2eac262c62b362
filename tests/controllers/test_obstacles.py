"""Walls and pits: ways slide or stop, characters do not pass, files say what they mean."""

from __future__ import annotations

import json

import numpy as np
import pytest

from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.runtime.obstacles import Disk, Obstacles, Polygon, Wall, read_obstacles
from deepphase.errors import FormatError, ParameterError
from deepphase.steering.goal_sources import PathGoals
from deepphase.steering.path import GroundPath
from deepphase.steering.run import rollout
from deepphase.synthetic.gait_motion import locomotion
from tests.controllers.replaying import replay_of

AHEAD = Wall((-5.0, 1.0), (5.0, 1.0))
PIT = Polygon.box((0.0, 2.0), (10.0, 2.0))


def way(obstacles: Obstacles, start: complex, *goals: complex) -> np.ndarray:
    return obstacles.kept_off(np.array([start]), np.array([goals]))[0]


def test_ways_that_meet_nothing_stay_as_they_are():
    goals = (0.3j, 0.5 + 0.5j, 0.6j)
    for obstacles in (Obstacles([AHEAD]), Obstacles([], [PIT]), Obstacles()):
        np.testing.assert_allclose(way(obstacles, 0j, *goals), goals)


def test_a_wall_is_slid_along():
    found = way(Obstacles([AHEAD], clearance=0.3), 0j, 0.5 + 0.5j, 1.5 + 1.5j, 3 + 3j)
    np.testing.assert_allclose(found.imag, [0.5, 0.7, 0.7], atol=1e-9)
    # Along the wall the way is as fast as it was wished.
    np.testing.assert_allclose(found.real, [0.5, 1.5, 3.0], atol=1e-9)


def test_a_pit_is_stopped_at_and_left_again():
    found = way(Obstacles([], [PIT], clearance=0.3), 0j, 0.5 + 0.5j, 1.5 + 1.5j, 1.5 + 0.5j)
    assert 0.55 < found[1].imag <= 0.7
    assert abs(found[1].real - found[1].imag) < 1e-9
    assert found[2].imag < found[1].imag


@pytest.mark.parametrize("shape", [AHEAD, Disk((0.0, 2.0), 1.0), PIT])
def test_nothing_is_jumped_over(shape):
    found = way(Obstacles([shape]), 0j, 9j, 9j, 100j)
    assert (found.imag < 1.0).all()
    if not isinstance(shape, Wall):
        assert (way(Obstacles([], [shape]), 0j, 9j, 100j).imag < 1.0).all()


def test_a_corner_holds_and_a_round_wall_is_gone_round():
    corner = Obstacles([AHEAD, Wall((1.0, -5.0), (1.0, 5.0))], clearance=0.3)
    assert way(corner, 0j, 4 + 4j)[0] == pytest.approx(0.7 + 0.7j, abs=1e-6)
    sharp = Obstacles([Wall((0, 1), (-1, -3)), Wall((0, 1), (1, -3))], clearance=0.3)
    assert np.abs(way(sharp, -1j, 5j, 9j) - 1j).min() > 0.3
    found = way(Obstacles([Disk((0.05, 2.0), 0.5)], clearance=0.2), 0j, *(1j * np.arange(1, 8)))
    assert np.abs(found - (0.05 + 2j)).min() == pytest.approx(0.7, abs=0.01)
    assert found[-1].imag > 3.0


def replayed(obstacles, **options):
    clip = locomotion(3, 8.0).clip
    controller, starts, _ = replay_of(clip, "mann", [70, 90])
    positions = np.array([[0.0, 0.0], [0.5, -1.0]])
    character = Characters(controller, starts, positions=positions, obstacles=obstacles, **options)
    path = GroundPath(np.array([0.0, 10.0]), np.array([[0.0, 0.0], [1.0, 15.0]]))
    return rollout(character, PathGoals(path, positions), 5.0)


@pytest.mark.slow
@pytest.mark.parametrize("angle", [0.0, 0.4])
def test_a_character_led_into_a_wall_does_not_cross_it(angle):
    free = replayed(None, angles=np.full(2, angle))
    assert free.positions[..., 1].max() > 3.0
    run = replayed(Obstacles([Wall((-50.0, 1.0), (50.0, 1.0))]), angles=np.full(2, angle))
    assert run.positions[..., 1].max() <= 0.7 + 1e-6
    assert run.trajectory[..., 1].max() <= 0.7 + 1e-6
    along = np.ptp(run.positions[0, 200:, 0])
    assert along > 0.5 if angle else along < 0.5


@pytest.mark.slow
def test_a_character_led_into_a_pit_stops_before_it():
    run = replayed(Obstacles([], [Polygon.box((0.0, 6.0), (100.0, 10.0))]))
    assert 0.5 < run.positions[..., 1].max() <= 0.71
    # What lies ahead gets shorter: the network sees that it is to slow down.
    first, last = (np.abs(run.trajectory[:, i, -1] - run.positions[:, i]).max(1) for i in (0, 200))
    assert (last < 0.5 * first).all()


def test_what_lies_ahead_slows_down_before_a_wall():
    clip = locomotion(3, 8.0).clip
    controller, starts, _ = replay_of(clip, "mann", [90])
    walls = Obstacles([Wall((-5.0, 1.0), (5.0, 1.0))])
    velocities = []
    for obstacles in (None, walls):
        settings = CharacterSettings(foot_ik=False)
        character = Characters(controller, starts, obstacles=obstacles, settings=settings)
        character.step()
        block = controller.schema.inputs.slices["trajectory_velocity"]
        velocities.append(character.network_inputs[0][0, block].reshape(-1, 2)[6:, 1])
    free, held = velocities
    assert free[-1] > 0.8
    assert held[0] == pytest.approx(free[0])
    assert abs(held[-1]) < 0.3


def test_characters_start_outside_of_obstacles():
    square = Polygon(((-1, -1), (1, -1), (1, 1), (-1, 1)))
    for obstacles in (Obstacles([square]), Obstacles([], [square]), Obstacles([Disk((0, 0), 2)])):
        with pytest.raises(ParameterError, match=r"character 1 at \(0, 0\) m is inside a"):
            obstacles.check_free(np.array([[5.0, 5.0], [0.0, 0.0]]))
    with pytest.raises(ParameterError, match=r"within its clearance of 0.3 m"):
        Obstacles([square]).check_free(np.array([[1.2, 0.0]]))
    Obstacles([square]).check_free(np.array([[1.4, 0.0]]))


def test_files_of_both_kinds_say_the_same(tmp_path):
    as_json = {
        "walls": [{"segment": [0, 3, 2, 3]}, {"box": [0, 5, 1, 2, 0.5]}],
        "pits": [{"circle": [4, 0, 1]}, {"polygon": [1, 1, 2, 1, 2, 2]}],
        "clearance": 0.4,
    }
    (tmp_path / "a.json").write_text(json.dumps(as_json))
    (tmp_path / "a.csv").write_text(
        "# kind,shape,numbers\nwall,segment,0,3,2,3,,\n\nwall,box,0,5,1,2,0.5\n"
        "pit,circle,4,0,1\npit, polygon, 1,1,2,1,2,2\nclearance,0.4\n"
    )
    first, second = (read_obstacles(tmp_path / name) for name in ("a.json", "a.csv"))
    assert (
        first.walls
        == second.walls
        == (
            Wall((0, 3), (2, 3)),
            Polygon.box((0, 5), (1, 2), 0.5),
        )
    )
    assert first.pits == second.pits == (Disk((4, 0), 1), Polygon(((1, 1), (2, 1), (2, 2))))
    assert first.clearance == second.clearance == 0.4


def test_a_box_is_turned_as_characters_are():
    """By an angle about Y, from +Z to +X: a long box along z then lies along x."""
    corners = np.array(Polygon.box((0, 0), (1, 4), np.pi / 2).points)
    np.testing.assert_allclose(np.ptp(corners, axis=0), [4, 1], atol=1e-9)
    leaning = np.array(Polygon.box((0, 0), (0.01, 4), 0.3).points)
    tip = leaning[leaning[:, 1].argmax()]
    assert np.arctan2(*tip) == pytest.approx(0.3, abs=0.01)


BAD = {
    "not.json": ("{", "not valid JSON"),
    "list.json": ("[]", "not a mapping"),
    "key.json": ('{"wals": []}', "not a mapping of walls"),
    "none.json": ("{}", "neither a wall nor a pit"),
    "kind.json": (
        '{"walls": [{"sphere": [1, 2, 3]}]}',
        "walls, entry 1: there is no shape 'sphere'",
    ),
    "few.json": ('{"walls": [{"segment": [1, 2, 3]}]}', "a segment with 3 numbers"),
    "odd.json": ('{"pits": [{"polygon": [1, 2, 3, 4, 5, 6, 7]}]}', "a polygon with 7 numbers"),
    "nan.json": ('{"walls": [{"circle": [1, 2, NaN]}]}', "with the number nan"),
    "text.json": ('{"walls": [{"circle": [1, 2, "x"]}]}', "'x' is not a number"),
    "bare.json": ('{"walls": [{"circle": 3}]}', "not a list"),
    "zero.json": ('{"walls": [{"circle": [1, 2, 0]}]}', "radius 0"),
    "pit.json": ('{"pits": [{"segment": [1, 2, 3, 4]}]}', "a pit that is a segment"),
    "clear.json": ('{"walls": [{"circle": [1, 2, 1]}], "clearance": 0}', "clearance of 0"),
    "line.csv": (
        "wall,circle,1,2,1\nhole,circle,1,2,3\n",
        "this line cannot be read: it starts with 'hole'",
    ),
    "cell.csv": ("wall,circle,1,2,one\n", "'one' is not a number"),
    "same.csv": ("wall,segment,1,2,1,2\n", "segment without length"),
    "empty.csv": ("", "neither a wall nor a pit"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_files_are_refused_with_one_sentence(tmp_path, name):
    text, fact = BAD[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=fact) as raised:
        read_obstacles(tmp_path / name)
    assert raised.value.path == tmp_path / name
    if name == "line.csv":
        assert raised.value.line == 2
    with pytest.raises(FormatError, match="cannot be read"):
        read_obstacles(tmp_path / "missing.csv")
