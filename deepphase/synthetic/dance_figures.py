"""The figures of a dance: where the feet go on which beat, and what body and arms do meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deepphase.synthetic.waves import Wave

LEFT, RIGHT = 0, 1


@dataclass(frozen=True)
class Step:
    """A foot that lands on a beat."""

    beat: int
    foot: int
    side: float
    ahead: float
    weight: float = 0.75


@dataclass(frozen=True)
class Figure:
    """A pattern of steps."""

    name: str
    beats_per_bar: int
    bars: int
    steps: tuple[Step, ...]
    turn: float = 0.0
    bounce: float = 0.022
    waves: Mapping[str, Wave] = field(default_factory=dict)


@dataclass(frozen=True)
class ArmPattern:
    """What both arms do over a bar."""

    name: str
    lag: float
    waves: Mapping[str, Wave]
    pump: float = 0.0


def _march(beats_per_bar: int) -> tuple[Step, ...]:
    feet = [(LEFT, 0.11), (RIGHT, -0.11)]
    count = beats_per_bar if beats_per_bar % 2 == 0 else 2 * beats_per_bar
    return tuple(Step(beat, *feet[beat % 2], 0.0) for beat in range(count))


FIGURES = (
    Figure(
        "step_touch",
        4,
        1,
        (
            Step(0, LEFT, 0.34, 0.0),
            Step(1, RIGHT, 0.12, 0.03, 0.2),
            Step(2, RIGHT, -0.34, 0.0),
            Step(3, LEFT, -0.12, 0.03, 0.2),
        ),
        waves={
            "list": Wave(first=0.06, first_peak=0.12),
            "spine_list": Wave(first=0.09, first_peak=0.62),
            "spine_turn": Wave(first=0.16, first_peak=0.12),
            "head_turn": Wave(first=0.15, first_peak=0.12),
        },
    ),
    Figure(
        "rock",
        4,
        1,
        (
            Step(0, LEFT, 0.12, 0.3),
            Step(1, RIGHT, -0.12, 0.0),
            Step(2, LEFT, 0.12, -0.26),
            Step(3, RIGHT, -0.12, 0.0),
        ),
        bounce=0.028,
        waves={
            "turn": Wave(first=0.18, first_peak=0.5),
            "spine_turn": Wave(first=0.3, first_peak=0.0),
            "spine_tilt": Wave(0.03, first=0.08, first_peak=0.5),
            "head_turn": Wave(first=0.12, first_peak=0.5),
        },
    ),
    Figure(
        "grapevine",
        4,
        2,
        (
            Step(0, LEFT, 0.36, 0.0),
            Step(1, RIGHT, 0.24, -0.2),
            Step(2, LEFT, 0.66, 0.0),
            Step(3, RIGHT, 0.46, 0.03, 0.2),
            Step(4, RIGHT, 0.24, 0.0),
            Step(5, LEFT, 0.36, -0.2),
            Step(6, RIGHT, -0.1, 0.0),
            Step(7, LEFT, 0.1, 0.03, 0.2),
        ),
        waves={
            "turn": Wave(second=0.12, second_peak=0.4),
            "spine_turn": Wave(second=0.16, second_peak=0.15),
            "spine_list": Wave(first=0.05, first_peak=0.6),
        },
    ),
    Figure(
        "quarter_turns",
        4,
        1,
        _march(4),
        turn=1.5708,
        bounce=0.03,
        waves={
            "list": Wave(second=0.06, second_peak=0.1),
            "spine_list": Wave(second=0.07, second_peak=0.35),
            "head_turn": Wave(0.2),
        },
    ),
    Figure(
        "hip_sway",
        4,
        2,
        (Step(0, LEFT, 0.22, 0.0, 0.62), Step(4, RIGHT, -0.22, 0.0, 0.62)),
        bounce=0.035,
        waves={
            "up": Wave(-0.035),
            "side": Wave(second=0.045, second_peak=0.0),
            "list": Wave(second=0.13, second_peak=0.0),
            "spine_list": Wave(second=0.16, second_peak=0.25),
            "turn": Wave(first=0.15, first_peak=0.25),
            "spine_turn": Wave(first=0.22, first_peak=0.75),
            "head_tilt": Wave(0.05, second=0.08, second_peak=0.0),
        },
    ),
    Figure(
        "waltz_box",
        3,
        2,
        (
            Step(0, LEFT, 0.1, 0.34),
            Step(1, RIGHT, -0.34, 0.34),
            Step(2, LEFT, -0.14, 0.34),
            Step(3, RIGHT, -0.34, 0.0),
            Step(4, LEFT, 0.1, 0.0),
            Step(5, RIGHT, -0.14, 0.0),
        ),
        bounce=0.0,
        waves={
            "up": Wave(-0.02, first=0.025, first_peak=0.5),
            "spine_list": Wave(first=0.08, first_peak=0.4),
            "spine_turn": Wave(first=0.1, first_peak=0.2),
        },
    ),
    Figure(
        "balance",
        3,
        2,
        (
            Step(0, LEFT, 0.32, 0.0),
            Step(1, RIGHT, 0.1, 0.0, 0.25),
            Step(3, RIGHT, -0.32, 0.0),
            Step(4, LEFT, -0.1, 0.0, 0.25),
        ),
        bounce=0.01,
        waves={"up": Wave(-0.02, first=0.02, first_peak=0.4)},
    ),
    Figure(
        "waltz_turn",
        3,
        2,
        _march(3),
        turn=3.14159,
        bounce=0.0,
        waves={"up": Wave(-0.02, first=0.022, first_peak=0.5), "head_turn": Wave(0.2)},
    ),
)

ARM_PATTERNS = (
    ArmPattern(
        "swing",
        0.5,
        {
            "arm_swing": Wave(0.2, first=0.6, first_peak=0.5),
            "arm_raise": Wave(0.2),
            "elbow": Wave(1.0, first=0.25, first_peak=0.5),
            "arm_twist": Wave(0.1),
        },
    ),
    ArmPattern(
        "wings",
        0.0,
        {
            "arm_swing": Wave(0.1),
            "arm_raise": Wave(0.9, first=0.65, first_peak=0.5),
            "elbow": Wave(0.5, first=0.3, first_peak=0.0),
            "arm_twist": Wave(-0.3),
        },
    ),
    ArmPattern(
        "overhead",
        0.5,
        {
            "arm_swing": Wave(0.25, second=0.1, second_peak=0.1),
            "arm_raise": Wave(1.3, first=0.9, first_peak=0.25),
            "elbow": Wave(0.7, first=0.3, first_peak=0.75),
            "arm_twist": Wave(-0.7),
        },
    ),
    ArmPattern(
        "pump",
        0.5,
        {
            "arm_swing": Wave(0.5, first=0.25, first_peak=0.25),
            "arm_raise": Wave(0.35),
            "elbow": Wave(1.4),
            "arm_twist": Wave(0.3),
        },
        pump=0.35,
    ),
    ArmPattern(
        "frame",
        0.0,
        {
            "arm_swing": Wave(0.35),
            "arm_raise": Wave(1.05, first=0.1, first_peak=0.4),
            "elbow": Wave(1.0, first=0.12, first_peak=0.2),
            "arm_twist": Wave(0.2),
        },
    ),
)
