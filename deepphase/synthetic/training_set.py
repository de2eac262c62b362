"""Many different motions, as a corpus to learn from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deepphase.errors import ParameterError
from deepphase.synthetic.bodies import Body, body_named
from deepphase.synthetic.gait import Gait, Style, gaits_of
from deepphase.synthetic.gait_motion import SyntheticMotion, perform
from deepphase.synthetic.program import PROFILES, Segment, Tempo, segment_lengths

# One motion of so many is a medley: gaits, turns and rests in one clip.
_MEDLEY_EVERY = 4
_SEGMENT_S = (4.5, 8.0)
# What is left over of the minutes after the last motion: less than a frame.
_LEAST_S = 0.5 / 60.0
_SPEED_RANGE = (0.8, 1.2)
_DRIFT_EXTENTS, _DRIFT_PERIODS_S = (0.1, 0.2), (5.0, 10.0)
_RAMP_EXTENTS = (0.2, 0.3)


def corpus(
    seed: int,
    minutes: float,
    *,
    body: str | Body = "biped",
    clip_seconds: float = 20.0,
    variety: float = 1.0,
) -> Iterator[SyntheticMotion]:
    """Motions of all gaits by ever new individuals, so many minutes together, of one skeleton.

    Every fourth is a medley of gaits with starts, stops and turns; the last is cut so that the sum
    is right. A motion is the same whatever `minutes` are. ParameterError for an unknown body or a
    number out of range.
    """
    body = body_named(body)
    if not (np.isfinite(minutes) and minutes > 0 and clip_seconds >= 2):
        raise ParameterError("a corpus needs minutes above 0, of clips of 2 s at least")
    return _motions(seed, minutes, body, clip_seconds, variety)


def _motions(
    seed: int, minutes: float, body: Body, clip_seconds: float, variety: float
) -> Iterator[SyntheticMotion]:
    left, number = 60.0 * minutes, 0
    gaits = [gait for gait in gaits_of(body.kind).values() if gait.moves]
    while left > _LEAST_S:
        generator = np.random.default_rng([seed, number])
        style = Style.random(generator, variety)
        seconds = max(min(clip_seconds, left), 1.0)
        if number % _MEDLEY_EVERY == _MEDLEY_EVERY - 1:
            kind, program = "medley", _medley(generator, seconds, body)
        else:
            gait = gaits[(number - number // _MEDLEY_EVERY) % len(gaits)]
            kind, program = gait.name, [_segment(generator, gait, seconds, body)]
        yield perform(
            program,
            int(generator.integers(2**31)),
            body=body,
            style=style,
            name=f"{body.kind}_{number:04d}_{kind}",
        )
        left -= seconds
        number += 1


def _medley(generator: np.random.Generator, seconds: float, body: Body) -> list[Segment]:
    """A random walk through the gaits that fills so many seconds."""
    gaits, segments = gaits_of(body.kind), []
    name = str(generator.choice(list(gaits)[:3]))
    for length in segment_lengths(generator, seconds, *_SEGMENT_S):
        segments.append(_segment(generator, gaits[name], length, body))
        name = str(generator.choice(gaits[name].next))
    return segments


def _segment(generator: np.random.Generator, gait: Gait, seconds: float, body: Body) -> Segment:
    speed = gait.speed * float(generator.uniform(*_SPEED_RANGE))
    turn_rate = 0.0
    if gait.name == "turn":
        turn_rate = float(generator.choice([-1, 1]) * generator.uniform(0.6, 1.4))
    elif gait.moves and generator.uniform() < 0.6:
        # Faster bodies turn wider: no more than 0.3 g to the side.
        turn_rate = float(generator.uniform(-1, 1) * min(1.0, 3.0 / max(speed, 0.5)))
    oscillators = {}
    if body.kind == "biped":
        for arm in body.oscillators:
            if generator.uniform() < 0.12:
                oscillators[arm] = float(generator.uniform(0.8, 2.6))
    profile = str(generator.choice(PROFILES))
    extent = float(generator.uniform(*(_RAMP_EXTENTS if profile == "ramp" else _DRIFT_EXTENTS)))
    tempo = Tempo(profile, extent, float(generator.uniform(*_DRIFT_PERIODS_S)))
    return Segment(
        gait, seconds, speed=speed, turn_rate=turn_rate, tempo=tempo, oscillators=oscillators
    )
