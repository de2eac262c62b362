"""Gaits of a database or a controller against captured clips that are equally fast.

python -m tests.studies.gaits SOURCE STORE [--speeds 0.5,1,2,3] [--characters 4] [--seed 0]

SOURCE is a motion database (.db) or a controller, and STORE has the captured clips. Bodies go ahead
at each speed under a stick, in a circle, and stop and go. A row has the speed, strides a second and
lag of the fore feet (cycles after the hind foot of the same side), each with the clips' at that
speed in brackets; gaits; the speed of head, trunk and tail below 8 Hz, sliding of feet with and
without foot lock, and jerk as shares of the clips' at equal speeds; and centimetres by which a foot
is below the clips' lowest place.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.corpus.store import open_store
from deepphase.evaluation.motion_measures import MeasuredMotion
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.run import Run, RunnerSource, rollout, start_under_gamepad
from tests.studies.gait_measures import Footfalls, GaitReference
from tests.studies.standing import matching_source

_SECONDS, _STARTING_S = 12.0, 2.5
# Radians a second of the circle, and m/s of it and of stop and go.
_TURN_RATE, _COURSE_M_S = 0.6, 1.0
# Clips within this share of a run's speed are equally fast.
_EQUAL = 0.15


def ahead(turn_rate: float = 0.0, held_s: float = 2.0 * _SECONDS) -> Gamepad:
    """A stick that is held and released so long, again and again, and turns at a rate in rad/s."""
    times = np.linspace(0.0, _SECONDS, round(_SECONDS * 20))
    angles, held = turn_rate * times, times % (2.0 * held_s) < held_s
    move = np.stack([np.sin(angles) * held, np.cos(angles) * held], 1)
    return Gamepad(times, move, np.zeros((len(times), 2)))


@dataclass(frozen=True)
class Row:
    """Measures of a run, means over its characters; None where nothing compares."""

    speed: float
    frequency: tuple[float, float]
    fore_lag: tuple[float, float]
    gaits: str
    lively: dict[str, float | None]
    sliding: float | None
    unlocked: float | None
    jerk: float | None
    depth_cm: float

    def text(self, name: str) -> str:
        """One line of the table."""
        pairs = [f"{own:.2f} ({data:.2f})" for own, data in (self.frequency, self.fore_lag)]
        shares = [*self.lively.values(), self.sliding, self.unlocked, self.jerk]
        numbers = ["-" if each is None else f"{each:.2f}" for each in shares]
        cells = (name, f"{self.speed:.2f}", *pairs, self.gaits, *numbers, f"{self.depth_cm:.0f}")
        return f"| {' | '.join(cells)} |"


def measured(run: Run, reference: GaitReference, clips: Footfalls) -> Row:
    """Measures of a run from `_STARTING_S` on."""
    first = round(_STARTING_S * run.fps)
    free = run.without_foot_lock()
    motions, lively, sliding, unlocked, jerks, depths = ([] for _ in range(6))
    for character in range(run.characters):
        clip = run.clip(character).sliced(first, len(run))
        motion = MeasuredMotion(clip, run.spec)
        contacts = run.contacts[character, first:] > 0.5
        motions.append(motion)
        lively.append(reference.liveliness(clip, run.spec))
        sliding.append(reference.sliding(motion, contacts))
        jerks.append(reference.ratio(motion, "jerk"))
        depths.append(reference.depths(clip, run.spec).max())
        if free is not None:
            bare = MeasuredMotion(free.clip(character).sliced(first, len(run)), run.spec)
            unlocked.append(reference.sliding(bare, contacts))
    own = Footfalls.of_motions(motions)
    speed = float(np.mean([motion.speeds.mean() for motion in motions]))
    data = clips.between((1 - _EQUAL) * speed, (1 + _EQUAL) * speed)
    shares = sorted(own.gait_shares().items(), key=lambda each: -each[1])
    return Row(
        speed,
        (_median(own.frequencies), _median(data.frequencies)),
        (own.mean_fore_lag, data.mean_fore_lag),
        ", ".join(f"{name} {share:.0%}" for name, share in shares),
        {part: _mean([each[part] for each in lively]) for part in lively[0]},
        _mean(sliding),
        _mean(unlocked),
        _mean(jerks),
        100.0 * float(max(depths)),
    )


def _median(values: Array) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _mean(values: list[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return float(np.mean(known)) if known else None


def main() -> None:
    """Print a row for each course."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--speeds", default="0.5,1,2,3")
    parser.add_argument("--characters", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    source: RunnerSource
    if options.source.suffix == ".db":
        source = matching_source(options.source, options.seed)[0]
    else:
        source = CharacterSource(Controller.load(options.source), seed=options.seed)
    courses = [(f"{speed} m/s", ahead(), float(speed)) for speed in options.speeds.split(",")]
    courses.append(("circle", ahead(_TURN_RATE), _COURSE_M_S))
    courses.append(("stop and go", ahead(held_s=2.0), _COURSE_M_S))
    reference = None
    for name, stick, speed in courses:
        settings = GamepadSettings(top_speed=speed)
        runner, goals = start_under_gamepad(
            source, stick, characters=options.characters, settings=settings
        )
        if reference is None:
            reference = GaitReference.of_clips(open_store(options.store), runner.spec)
            lively = [part for part in reference.means if part in ("head", "trunk", "tail")]
            names = ("course", "m/s", "strides /s", "fore lag", "gaits", *lively)
            print("|", " | ".join((*names, "sliding", "without lock", "jerk", "cm below")), "|")
        row = measured(rollout(runner, goals, _SECONDS), reference, reference.footfalls)
        print(row.text(name), flush=True)


if __name__ == "__main__":
    main()
