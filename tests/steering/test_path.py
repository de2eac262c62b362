"""Paths: read, made, walked at a speed; wrong files say where."""

import numpy as np
import pytest

from deepphase.errors import FormatError, ParameterError
from deepphase.steering.gamepad import read_gamepad
from deepphase.steering.path import MADE_PATHS, GroundPath, circle, read_path, square, wave


def test_a_file_is_read_with_facing_and_labels(tmp_path):
    file = tmp_path / "way.csv"
    file.write_text("t,x,z,facing,gait\n0,0,0,0,walk\n1,0,2,0.5,run\n\n3,1,2,7,run\n")
    path = read_path(file)
    assert path.name == "way"
    np.testing.assert_allclose(
        path.positions_at(np.array([-1, 0.5, 2, 9])), [[0, 0], [0, 1], [0.5, 2], [1, 2]]
    )
    assert [path.label_at("gait", time) for time in (-1.0, 0.9, 1.0, 8.0)] == [
        "walk",
        "walk",
        "run",
        "run",
    ]
    # From 0.5 to 7 radians the shorter way, 0.22 radians.
    assert path.facings_at(np.array(2.0)) == pytest.approx(0.5 + (7 - 2 * np.pi - 0.5) / 2)
    assert path.length == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("text", "line", "fact"),
    [
        ("t,x,z\n0,0,0\n0,1,1\n", 3, "not after"),
        ("t,x,z\n0,0,0\n1,nan,1\n", 3, "x 'nan'"),
        ("t,x,z\n0,0,0\n1,one,1\n", 3, "x 'one'"),
        ("t,x\n0,0\n1,1\n", 1, "no column 'z'"),
        ("t,x,z,z\n0,0,0,0\n1,1,1,1\n", 1, "repeated"),
        ("t,x,z\n0,0,0\n1,1\n", 3, "2 cells under 3"),
        ("t,x,z\n0,0,0\n", None, "1 row"),
        ("", None, "empty"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path, text, line, fact):
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(FormatError, match=fact) as caught:
        read_path(file)
    assert caught.value.path == file
    assert caught.value.line == line
    assert caught.value.hint


def test_a_missing_or_binary_file_is_named(tmp_path):
    with pytest.raises(FormatError, match="cannot be read"):
        read_path(tmp_path / "none.csv")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="UTF-8"):
        read_path(tmp_path / "b.csv")


def test_a_stick_is_read_and_kept_in_its_circle(tmp_path):
    file = tmp_path / "stick.csv"
    file.write_text("t,move_x,move_z,jump\n0,0,1,0\n1,1,1,1\n2,0.05,0,0\n")
    gamepad = read_gamepad(file)
    moves = gamepad.move_at(np.array([0.0, 1.0, 2.0]))
    np.testing.assert_allclose(np.linalg.norm(moves, axis=1), [1, 1, 0])
    assert gamepad.button_at("jump", 1.5) == "1"
    assert not gamepad.look_at(np.array([0.5])).any()
    file.write_text("t,move_x,move_z\n0,0,1\n1,1.5,0\n")
    with pytest.raises(FormatError, match=r"\[-1, 1\]"):
        read_gamepad(file)


@pytest.mark.parametrize("name", MADE_PATHS)
def test_made_paths_have_their_speed(name):
    path = MADE_PATHS[name](1.4, 3.0, 12.0)
    assert path.duration == pytest.approx(12.0)
    assert path.length == pytest.approx(1.4 * 12.0, rel=2e-3)
    np.testing.assert_allclose(path.positions_at(np.array(0.0)), 0.0, atol=1e-9)
    with pytest.raises(ParameterError, match="speed"):
        MADE_PATHS[name](0.0, 3.0, 12.0)


def test_made_paths_have_their_shape():
    on_circle = circle(1.0, 4.0, 20.0).positions - [2.0, 0.0]
    np.testing.assert_allclose(np.linalg.norm(on_circle, axis=1), 2.0)
    assert np.abs(square(1.0, 2.0, 30.0).positions - 1.0).max() == pytest.approx(1.0)
    crests = wave(1.0, 4.0, 40.0).positions[:, 0]
    assert np.ptp(crests) == pytest.approx(0.35 * 4.0, rel=1e-2)


def test_facing_follows_the_way_and_stays_where_it_rests():
    path = GroundPath(np.array([0.0, 2.0, 4.0, 6.0]), np.array([[0, 0], [2, 0], [2, 0], [2, 2.0]]))
    angles = path.facings_at(np.array([1.0, 2.5, 5.5]))
    np.testing.assert_allclose(angles[[0, 2]], [np.pi / 2, 0.0], atol=1e-6)
    np.testing.assert_allclose(path.velocities_at(np.array(1.0)), [1.0, 0.0], atol=1e-9)
    assert angles[1] >= 0


def pausing(seconds):
    """North for 2 s at 1 m/s, a pause, and back."""
    times = np.cumsum([0.0, 2.0, seconds, 2.0])
    return GroundPath(times, np.array([[0, 0], [0, 2], [0, 2], [0, 0.0]]))


def test_pauses_are_stands_of_a_second_that_end():
    np.testing.assert_allclose(pausing(3.0).pauses, [[2.0, 5.0]], atol=0.2)
    assert pausing(1.0).pauses.shape == (0, 2)
    stands_first = GroundPath(np.array([0.0, 2.0, 4.0]), np.array([[0, 0], [0, 0], [0, 2.0]]))
    np.testing.assert_allclose(stands_first.pauses, [[0.0, 2.0]], atol=0.2)
    stands_last = GroundPath(np.array([0.0, 2.0, 4.0]), np.array([[0, 0], [0, 2.0], [0, 2.0]]))
    assert stands_last.pauses.shape == (0, 2)


def test_the_facing_is_held_until_the_end_of_a_pause():
    path = pausing(3.0)
    begin, end = path.pauses[0]
    np.testing.assert_allclose(path.facings_at(np.linspace(begin, end - 0.31, 9)), 0.0, atol=1e-6)
    assert abs(path.facings_at(np.array(end + 0.1))) == pytest.approx(np.pi)


@pytest.mark.parametrize("degrees", [60, 90, 130, 180])
def test_corners_are_slowed_down_to_the_turns_of_bodies(degrees):
    angle = np.radians(degrees)
    places = np.array([[0, 0], [0, 4], [4 * np.sin(angle), 4 + 4 * np.cos(angle)]])
    path = GroundPath(np.array([1.0, 2.0, 3.0]), places, labels={"gait": ("a", "b", "c")}).at_speed(
        1.25
    )
    slowed = path.slowed_at_corners()
    # The turn takes about its time at 80 degrees a second; from 45 cm/s on bodies turn faster.
    assert 0.2 < slowed.duration - path.duration < degrees / 80.0
    slowest = np.linalg.norm(np.diff(slowed.positions, axis=0), axis=1) / np.diff(slowed.times)
    assert slowest.min() < {60: 0.9, 90: 0.6}.get(degrees, 0.46)
    assert path.distances(slowed.positions).max() < 0.12
    np.testing.assert_allclose(slowed.positions[[0, -1]], places[[0, 2]], atol=1e-9)
    assert slowed.label_at("gait", slowed.duration / 2 + 0.1) == "b"
    assert slowed.given_times is not None
    np.testing.assert_allclose(slowed.given_times[[0, -1]], path.times[[0, -1]])
    times = np.linspace(0.0, slowed.duration, 400)
    assert np.linalg.norm(slowed.velocities_at(times), axis=1).max() < 1.26


@pytest.mark.parametrize(
    ("rows", "fact"), [("0,0,0\n5,1e9,0\n", "from the origin"), ("0,0,0\n1e9,0,5\n", "s long")]
)
def test_a_path_beyond_what_motion_can_hold_is_refused(tmp_path, rows, fact):
    file = tmp_path / "way.csv"
    file.write_text(f"t,x,z\n{rows}")
    with pytest.raises(FormatError, match=fact):
        read_path(file)
