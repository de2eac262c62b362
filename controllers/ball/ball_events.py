"""Events of the ball of a run, as texts: kicks, passes, and balls that are put somewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.errors import ParameterError

# Kind of event -> number of values.
_VALUES = {"kick": 1, "pass": 2, "place": 2}
_HINT = "write kick@SECONDS:SPEED, pass@SECONDS:X:Z or place@SECONDS:X:Z, as in kick@5:8"


@dataclass(frozen=True)
class BallEvent:
    """An event of all balls of a run: a kick ahead or a pass by the next touch, or a new place."""

    time_s: float
    kind: str  # "kick", "pass" or "place"
    values: tuple[float, ...]  # m/s of a kick, or x and z in metres


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
