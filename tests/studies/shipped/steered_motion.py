"""Synthetic motion that the shipped characters learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait import Gait, Style, gaits_of
from deepphase.synthetic.gait_motion import perform
from deepphase.synthetic.program import Segment

CLIP_S = 16.0
# Spread of the individuals: one character rather than many.
_VARIETY = 0.25
# Share of segments that go straight on, and of stands among those that go in any direction.
_STRAIGHT, _STAND = 0.3, 0.12

_PERSON, _DOG = gaits_of("biped"), gaits_of("quadruped")
# From each gait to those that may follow; a gait that stands twice is twice as likely.
_PERSON_NEXT = {
    "idle": ("walk", "walk", "jog", "run", "side_step", "side_step_right", "turn")
    + ("backward_walk",) * 2,
    "walk": ("idle", "walk", "walk", "jog", "run", "side_step", "side_step_right", "backward_walk"),
    "backward_walk": ("idle", "walk", "side_step", "side_step_right") + ("backward_walk",) * 2,
    "side_step": ("idle", "walk", "side_step", "side_step_right", "backward_walk"),
    "side_step_right": ("idle", "walk", "side_step", "side_step_right", "backward_walk"),
    "jog": ("walk", "run", "jog", "idle"),
    "run": ("jog", "run", "run", "walk", "idle"),
    "turn": ("idle", "walk"),
}
_SKIP_NEXT = {"idle": ("skip",), "skip": ("skip", "skip", "idle")}
_BALL_NEXT = {
    "idle": ("walk", "jog"),
    "walk": ("walk", "walk", "jog", "idle"),
    "jog": ("jog", "walk", "jog"),
}
_DOG_NEXT = {
    "idle": ("walk", "walk", "trot"),
    "walk": ("idle", "walk", "walk", "trot"),
    "trot": ("walk", "canter", "trot", "trot", "idle"),
    "canter": ("trot", "gallop", "canter", "walk"),
    "gallop": ("canter", "gallop", "trot"),
}
# Gait -> slowest and fastest speed in m/s, and fastest turn in rad/s.
_RANGES = {
    "walk": (0.35, 1.6, 1.6),
    "backward_walk": (0.27, 1.3, 1.0),
    "side_step": (0.24, 1.0, 0.7),
    "side_step_right": (0.24, 1.0, 0.7),
    "turn": (0.0, 0.0, 2.2),
    "jog": (1.7, 2.6, 1.8),
    "run": (2.7, 4.0, 1.6),
    "skip": (0.8, 2.1, 1.8),
}
_DOG_RANGES = {
    "walk": (0.35, 1.3, 2.0),
    "trot": (1.25, 2.5, 2.0),
    "canter": (2.4, 3.8, 1.6),
    "gallop": (3.7, 5.4, 1.1),
}


def person_clips(seed: int, minutes: float) -> Iterator[Clip]:
    """A person in every direction and gait, labelled `style=normal`, and skips, `style=skip`.

    Three clips in seven travel in directions of the world, with facings that turn meanwhile.
    """

    def program(number: int, generator: np.random.Generator) -> list[Segment]:
        if number % 7 == 6:
            return _gaits(generator, _PERSON, _SKIP_NEXT, _RANGES)
        if number % 7 in (1, 3, 5):
            return _directions(generator)
        return _gaits(generator, _PERSON, _PERSON_NEXT, _RANGES)

    for number, clip in enumerate(_clips("biped", seed, minutes, program)):
        yield replace(clip, labels={"style": "skip" if number % 7 == 6 else "normal"})


def ball_clips(seed: int, minutes: float) -> Iterator[Clip]:
    """A person who walks, jogs and turns, for a ball to be fitted to."""
    return _clips(
        "biped", seed, minutes, lambda _, generator: _gaits(generator, _PERSON, _BALL_NEXT, _RANGES)
    )


def dog_clips(seed: int, minutes: float) -> Iterator[Clip]:
    """A dog that walks, trots, canters, gallops and turns."""
    return _clips(
        "quadruped",
        seed,
        minutes,
        lambda _, generator: _gaits(generator, _DOG, _DOG_NEXT, _DOG_RANGES),
    )


def _clips(
    kind: str,
    seed: int,
    minutes: float,
    program: Callable[[int, np.random.Generator], Sequence[Segment]],
) -> Iterator[Clip]:
    body = body_named(kind)
    for number in range(round(60.0 * minutes / CLIP_S)):
        generator = np.random.default_rng([seed, number])
        style = Style.random(generator, _VARIETY)
        segments = program(number, generator)
        motion = perform(segments, int(generator.integers(2**31)), body=body, style=style)
        yield replace(motion.clip, name=f"{kind}_{number:03d}")


def _lengths(generator: np.random.Generator, shortest: float) -> Iterator[float]:
    """Seconds of the segments of one clip."""
    left = CLIP_S
    while left > 0.0:
        seconds = float(generator.uniform(shortest, shortest + 2.2))
        seconds = left if left - seconds < shortest else seconds
        left -= seconds
        yield seconds


def _gaits(
    generator: np.random.Generator,
    gaits: dict[str, Gait],
    following: dict[str, tuple[str, ...]],
    ranges: dict[str, tuple[float, float, float]],
) -> list[Segment]:
    """A walk through the gaits, with other speeds and turns in every segment."""
    program: list[Segment] = []
    name = str(generator.choice(list(following)))
    for seconds in _lengths(generator, 3.4):
        slowest, fastest, turns = ranges.get(name, (0.0, 0.0, 0.0))
        speed = generator.uniform(slowest, fastest)
        # Faster bodies turn wider: 0.45 g to the side at most.
        turn = generator.uniform(-1.0, 1.0) * min(turns, 4.5 / max(speed, 0.1))
        if generator.uniform() < _STRAIGHT and name != "turn":
            turn = 0.0
        program.append(Segment(gaits[name], seconds, speed=float(speed), turn_rate=float(turn)))
        name = str(generator.choice(following[name]))
    return program


def _directions(generator: np.random.Generator) -> list[Segment]:
    """Travel in a direction of the world that changes now and then, with facings of its own.

    In bends the facing follows the path; here it does not, and is learnt to be corrected alone.
    """
    program: list[Segment] = []
    travel, facing = 0.0, generator.uniform(-180.0, 180.0)
    for seconds in _lengths(generator, 2.4):
        if generator.uniform() < _STAND:
            program.append(Segment("idle", seconds))
            continue
        if generator.uniform() < 0.45:
            travel = generator.uniform(-180.0, 180.0)
        turn = generator.uniform(-60.0, 60.0) if generator.uniform() < 0.6 else 0.0
        relative = (travel - facing - 0.5 * turn + 180.0) % 360.0 - 180.0
        gait = _PERSON[_gait_of_direction(relative)]
        side = np.radians(relative)
        gait = replace(gait, heading=(float(np.sin(side)), float(np.cos(side))))
        speed = min(generator.uniform(0.35, 1.4), 1.7 * gait.speed)
        program.append(
            Segment(gait, seconds, speed=speed, turn_rate=float(np.radians(turn) / seconds))
        )
        facing += turn
    return program


def _gait_of_direction(degrees: float) -> str:
    """The gait that travels in a direction, degrees from the facing to the left."""
    if abs(degrees) <= 55.0:
        return "walk"
    if abs(degrees) >= 125.0:
        return "backward_walk"
    return "side_step" if degrees > 0.0 else "side_step_right"
