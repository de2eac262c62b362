"""Synthetic motion that the shipped characters learn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait import Style, gaits_of
from deepphase.synthetic.gait_motion import perform
from deepphase.synthetic.program import Segment, segment_lengths

CLIP_S = 16.0
# Spread of the individuals: one character rather than many.
_VARIETY = 0.25
# Share of segments that go straight on, and of stands among those that go in any direction.
_STRAIGHT, _STAND = 0.3, 0.12
# Faster bodies turn wider: 0.45 g to the side at most, in m/s^2.
_SIDEWAYS = 4.5
# Seconds of segments, at least and at most.
_PERSON_S, _DIRECTION_S, _DOG_S = (2.6, 5.0), (2.4, 4.0), (3.4, 5.6)

_PERSON, _DOG = gaits_of("biped"), gaits_of("quadruped")
# From each gait to those that may follow; a gait that stands twice is twice as likely.
_PERSON_NEXT = {
    "idle": (
        "walk",
        "walk",
        "jog",
        "run",
        "side_step",
        "side_step_right",
        "backward_walk",
        "backward_walk",
        "turn",
    ),
    "walk": ("idle", "walk", "walk", "jog", "run", "side_step", "side_step_right", "backward_walk"),
    "backward_walk": (
        "idle",
        "walk",
        "backward_walk",
        "backward_walk",
        "side_step",
        "side_step_right",
    ),
    "side_step": ("idle", "walk", "side_step", "side_step_right", "backward_walk"),
    "side_step_right": ("idle", "walk", "side_step", "side_step_right", "backward_walk"),
    "jog": ("walk", "run", "jog", "idle"),
    "run": ("jog", "run", "run", "walk", "idle"),
    "turn": ("idle", "walk"),
}
_SKIP_NEXT = {"idle": ("skip",), "skip": ("skip", "skip", "idle")}
_DOG_NEXT = {
    "idle": ("walk", "walk", "trot"),
    "walk": ("idle", "walk", "walk", "trot"),
    "trot": ("walk", "canter", "trot", "trot", "idle"),
    "canter": ("trot", "gallop", "canter", "walk"),
    "gallop": ("canter", "gallop", "trot"),
}
# Gait -> slowest and fastest speed, in multiples of its own or, of a dog, in m/s; and fastest turn
# in rad/s.
_PERSON_RANGES = {
    "backward_walk": (0.3, 1.45, 1.0),
    "side_step": (0.4, 1.7, 0.7),
    "side_step_right": (0.4, 1.7, 0.7),
}
_USUAL_RANGE = (0.75, 1.12, 1.8)
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
    body = body_named("biped")
    for number in range(round(60.0 * minutes / CLIP_S - 0.5)):
        generator = np.random.default_rng([seed, number])
        style = "skip" if number % 7 == 6 else "normal"
        following = _SKIP_NEXT if style == "skip" else _PERSON_NEXT
        name = str(generator.choice(list(following)))
        program: list[Segment] = []
        if number % 7 in (1, 3, 5):
            program = _directions(generator)
        else:
            for seconds in segment_lengths(generator, CLIP_S, *_PERSON_S):
                program.append(_person_segment(generator, name, seconds))
                name = str(generator.choice(following[name]))
        motion = perform(
            program,
            int(generator.integers(2**31)),
            body=body,
            style=Style.random(generator, _VARIETY),
        )
        yield replace(motion.clip, name=f"{style}_{number:03d}", labels={"style": style})


def _person_segment(generator: np.random.Generator, name: str, seconds: float) -> Segment:
    """A gait at another speed, and perhaps in a bend."""
    gait, straight = _PERSON[name], generator.uniform() < _STRAIGHT
    speed, turn = gait.speed, 0.0
    if name == "walk":
        # Slow walks in half of them, and usual ones.
        slowest, fastest = (0.25, 1.25) if generator.uniform() < 0.5 else (0.8, 1.2)
        speed *= generator.uniform(slowest, fastest)
        turn = generator.uniform(-1.6, 1.6)
    elif name == "turn":
        turn, straight = generator.choice([-1, 1]) * generator.uniform(0.6, 2.2), False
    elif name in _PERSON_RANGES:
        slowest, fastest, turns = _PERSON_RANGES[name]
        speed *= generator.uniform(slowest, fastest)
        turn = generator.uniform(-turns, turns)
    elif gait.moves:
        slowest, fastest, turns = _USUAL_RANGE
        speed *= generator.uniform(slowest, fastest)
        turn = generator.uniform(-1.0, 1.0) * min(turns, _SIDEWAYS / speed)
    turn = 0.0 if straight else float(turn)
    return Segment(gait, seconds, speed=float(speed), turn_rate=turn)


def dog_clips(seed: int, minutes: float) -> Iterator[Clip]:
    """A dog that walks, trots, canters, gallops and turns."""
    body = body_named("quadruped")
    for number in range(round(60.0 * minutes / CLIP_S)):
        generator = np.random.default_rng([seed, number])
        style = Style.random(generator, _VARIETY)
        name = str(generator.choice(list(_DOG_NEXT)))
        program: list[Segment] = []
        for seconds in segment_lengths(generator, CLIP_S, *_DOG_S):
            slowest, fastest, turns = _DOG_RANGES.get(name, (0.0, 0.0, 0.0))
            speed = generator.uniform(slowest, fastest)
            turn = generator.uniform(-1.0, 1.0) * min(turns, _SIDEWAYS / max(speed, 0.1))
            if generator.uniform() < _STRAIGHT:
                turn = 0.0
            gait = _DOG[name]
            program.append(Segment(gait, seconds, speed=float(speed), turn_rate=float(turn)))
            name = str(generator.choice(_DOG_NEXT[name]))
        motion = perform(program, int(generator.integers(2**31)), body=body, style=style)
        yield replace(motion.clip, name=f"quadruped_{number:03d}")


def _directions(generator: np.random.Generator) -> list[Segment]:
    """Travel in a direction of the world that changes now and then, with facings of its own.

    In bends the facing follows the path; here it does not, and is learnt to be corrected alone.
    """
    program: list[Segment] = []
    travel, facing = 0.0, generator.uniform(-180.0, 180.0)
    for seconds in segment_lengths(generator, CLIP_S, *_DIRECTION_S):
        if generator.uniform() < _STAND:
            program.append(Segment("idle", seconds))
            continue
        if generator.uniform() < 0.45:
            travel = generator.uniform(-180.0, 180.0)
        # Degrees a second.
        moves = generator.uniform() < 0.6
        rate = generator.uniform(-60.0, 60.0) / seconds if moves else 0.0
        relative = (travel - facing - 0.5 * rate * seconds + 180.0) % 360.0 - 180.0
        gait = _PERSON[_gait_of_direction(relative)]
        side = np.radians(relative)
        gait = replace(gait, heading=(float(np.sin(side)), float(np.cos(side))))
        speed = float(min(generator.uniform(0.35, 1.4), 1.7 * gait.speed))
        program.append(Segment(gait, seconds, speed=speed, turn_rate=float(np.radians(rate))))
        facing += rate * seconds
    return program


def _gait_of_direction(degrees: float) -> str:
    """The gait that travels in a direction, degrees from the facing to the left."""
    if abs(degrees) <= 55.0:
        return "walk"
    if abs(degrees) >= 125.0:
        return "backward_walk"
    return "side_step" if degrees > 0.0 else "side_step_right"
