"""Events of the ball of a run, as texts: kicks, passes, and balls that are put somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError

# Kind of event -> number of values.
_VALUES = {"kick": 1, "pass": 2, "place": 2}
_HINT = "write kick@SECONDS:SPEED, pass@SECONDS:X:Z or place@SECONDS:X:Z, as in kick@5:8"


class KickedBalls(Protocol):
    """Balls that events happen to, as `deepphase.controllers.ball.running_balls.RunningBalls`."""

    def kick(self, character: int, velocity: Array) -> None:
        """Kick a character's ball with its next touch, to (3,) m/s."""

    def pass_to(self, character: int, place: Array) -> None:
        """Kick it to a place (2,)."""

    def place(self, character: int, position: Array) -> None:
        """Put it at rest at a place (2,)."""


@dataclass(frozen=True)
class BallEvent:
    """An event of all balls of a run."""

    time_s: float
    # "kick": the next touch kicks the ball ahead of the body. "pass": the next touch kicks it to a
    # place. "place": the ball lies at a place.
    kind: str
    values: tuple[float, ...]  # m/s of a kick, or x and z in metres

    def apply(self, balls: KickedBalls, angles: Array) -> None:
        """Apply it to the balls of characters with these facings (characters,) in radians."""
        for character, angle in enumerate(angles):
            if self.kind == "kick":
                ahead = np.array([np.sin(angle), 0.0, np.cos(angle)])
                balls.kick(character, self.values[0] * ahead)
            elif self.kind == "pass":
                balls.pass_to(character, np.array(self.values))
            else:
                balls.place(character, np.array(self.values))


def parse_ball_events(text: str | None) -> list[BallEvent]:
    """Events of a text, such as "kick@5:8,pass@10:0:6", in order of time.

    Raises ParameterError if one is not of that form.
    """
    return sorted(
        (_parsed(part.strip()) for part in (text or "").split(",") if part.strip()),
        key=lambda event: event.time_s,
    )


def _parsed(text: str) -> BallEvent:
    kind, _, rest = text.partition("@")
    try:
        time, *values = (float(each) for each in rest.split(":"))
    except ValueError:
        raise ParameterError(f"an event {text!r} of the ball is not possible", hint=_HINT) from None
    finite = np.isfinite([time, *values]).all()
    if kind not in _VALUES or len(values) != _VALUES[kind] or not finite or time < 0:
        raise ParameterError(f"an event {text!r} of the ball is not possible", hint=_HINT)
    return BallEvent(time, kind, tuple(values))


class BallSchedule:
    """Events that are due as the time of a run goes on."""

    def __init__(self, events: Sequence[BallEvent]) -> None:
        self._events, self._next = tuple(events), 0

    def apply(self, time_s: float, balls: KickedBalls, angles: Array) -> None:
        """Apply the events that are due at a time."""
        while self._next < len(self._events) and self._events[self._next].time_s <= time_s:
            self._events[self._next].apply(balls, angles)
            self._next += 1
