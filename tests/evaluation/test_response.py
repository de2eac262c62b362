"""Response times on motion that answers its goal after a known time."""

import numpy as np
import pytest

from deepphase.evaluation.measurement import CHANGES, Responses, goal_changes, kind_of_change

FPS, SPEED, STANDING = 60.0, 1.2, 0.35
# 90 % of a Gaussian step with a standard deviation of 0.12 s, and of a turn round: from -1 to 0.9.
STEP_S, ROUND_S = 0.154, 0.197
TURNS = {
    "start": (None, 0.0),
    "stop": (0.0, None),
    "turn_90": (0.0, 90.0),
    "turn_180": (0.0, 180.0),
}


def command(*parts, seconds=3.0):
    """(frames, 2) m/s and (frames,) rad: directions in degrees, None to stand, each for a time."""
    velocities, facings, facing = [], [], 0.0
    for direction in parts:
        facing = facing if direction is None else np.radians(direction)
        speed = 0.0 if direction is None else SPEED
        frames = round(seconds * FPS)
        velocities += [(speed * np.sin(facing), speed * np.cos(facing))] * frames
        facings += [facing] * frames
    return np.array(velocities), np.array(facings)


def delayed(values, seconds):
    frames = round(seconds * FPS)
    return np.concatenate([np.repeat(values[:1], frames, axis=0), values[: len(values) - frames]])


def lagged(values, tau):
    """A first-order lag."""
    out = np.array(values)
    for index in range(1, len(out)):
        out[index] += (out[index - 1] - values[index]) * np.exp(-1 / (tau * FPS))
    return out


def responses(goal, velocities, angles):
    found = Responses()
    changes = goal_changes(*goal, FPS, STANDING)
    places = np.cumsum(0.5 * (velocities + delayed(velocities, 1 / FPS)), axis=0) / FPS
    found.add(changes, places, angles, FPS)
    return changes, found


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("delay", [0.0, 0.4, 1.0])
def test_a_delay_is_found(kind, delay):
    goal = command(*TURNS[kind])
    changes, found = responses(goal, *(delayed(each, delay) for each in goal))
    assert [each.kind for each in changes] == [kind]
    own = ROUND_S if kind == "turn_180" else STEP_S
    assert found.velocity == {kind: [pytest.approx(delay + own, abs=2 / FPS)]}
    turns = {kind: [pytest.approx(delay, abs=1 / FPS)]} if "turn" in kind else {}
    assert found.heading == turns


@pytest.mark.parametrize("tau", [0.3, 0.6])
@pytest.mark.parametrize(
    ("kind", "share"), [("start", 0.1), ("stop", 0.1), ("turn_90", 0.1), ("turn_180", 0.05)]
)
def test_a_lag_is_found(kind, share, tau):
    goal = command(*TURNS[kind], seconds=4.0)
    _, found = responses(goal, *(lagged(each, tau) for each in goal))
    # The smoothing of an exponential makes it later by variance / (2 tau).
    expected = -tau * np.log(share) + 0.12**2 / (2 * tau)
    assert found.velocity[kind] == [pytest.approx(expected, abs=2 / FPS)]
    if "turn" in kind:
        assert found.heading[kind] == [pytest.approx(tau * np.log(10.0), abs=2 / FPS)]


def test_what_never_comes_is_infinite_and_not_0():
    goal = command(0.0, 90.0, None)
    straight = np.tile([0.0, SPEED], (len(goal[0]), 1))
    _, found = responses(goal, straight, np.zeros(len(straight)))
    assert found.velocity == {"turn_90": [np.inf], "stop": [np.inf]}
    assert found.heading == {"turn_90": [np.inf]}


def test_what_is_no_change_is_not_measured():
    steady, facings = command(0.0, 0.0)
    assert goal_changes(steady, facings, FPS, STANDING) == []
    # A slow curve, a turn by 40 degrees, and goals that change before anyone can respond.
    angles = np.linspace(0.0, np.pi, 300)
    curve = SPEED * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    assert goal_changes(curve, angles, FPS, STANDING) == []
    assert goal_changes(*command(0.0, 40.0), FPS, STANDING) == []
    assert goal_changes(*command(0.0, 90.0, seconds=1.0), FPS, STANDING) == []
    assert kind_of_change(np.zeros(2), np.full(2, 0.1), STANDING) is None
