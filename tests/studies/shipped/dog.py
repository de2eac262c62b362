"""Training of the shipped dog: learned motion matching on synthetic motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.files import temporary_folder
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.learned.training import train_matcher
from deepphase.motion.clip import Clip
from deepphase.phase.config import PhaseConfig
from deepphase.phase.training.train import train_phase
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait import Style, gaits_of
from deepphase.synthetic.gait_motion import perform
from deepphase.synthetic.program import Segment, segment_lengths
from deepphase.work import Progress
from tests.studies.shipped.standing import standing_clips

# Seed and minutes of its motion, seconds of a clip, and clips of rest, of eight seconds.
_SEED, _MINUTES, _CLIP_S, _STANDS = 6, 26.0, 16.0, 12
# Spread of the individuals: one character rather than many.
_VARIETY = 0.25
# Share of segments that go straight on. Faster bodies turn wider: 0.45 g to the side at most.
_STRAIGHT, _SIDEWAYS_M_S2 = 0.3, 4.5
# From each gait to those that may follow; a gait that stands twice is twice as likely.
_NEXT = {
    "idle": ("walk", "walk", "trot"),
    "walk": ("idle", "walk", "walk", "trot"),
    "trot": ("walk", "canter", "trot", "trot", "idle"),
    "canter": ("trot", "gallop", "canter", "walk"),
    "gallop": ("canter", "gallop", "trot"),
}
# Gait -> slowest and fastest speed in m/s, and fastest turn in rad/s.
_RANGES = {
    "walk": (0.35, 1.3, 2.0),
    "trot": (1.25, 2.5, 2.0),
    "canter": (2.4, 3.8, 1.6),
    "gallop": (3.7, 5.4, 1.1),
}
# Between these, half of the segments begin with a quick turn in a slow trot of short steps: rad,
# rad/s and m/s; seconds in which it begins, also from a stand, and in which it ends.
_TURNING, _TURNS = ("idle", "walk", "trot"), 0.5
_ANGLES, _RATES, _SPEEDS = (0.6, 3.5), (2.8, 4.2), (0.3, 0.9)
_BEGINS_S, _STARTS_S, _ENDS_S = 0.65, 0.9, 0.75
_STEPS = replace(gaits_of("quadruped")["trot"], speed=0.8, frequency=2.6, exponent=0.2)
# The segment after it lasts at least so long.
_SHORTEST_S = 2.2


def train_dog(progress: Progress | None = None) -> Matcher:
    """A dog that stands, walks, trots, canters, gallops, and turns on the spot."""
    stands = standing_clips("quadruped", _SEED, [{}] * _STANDS)
    store = ClipStore.from_clips([*_clips(), *stands])
    config = PhaseConfig.load("default", **{"network.channels": 5, "training.windows": 51_200})
    options = {"progress": progress, "accelerator": "cpu"}
    with temporary_folder() as folder:
        phases = train_phase(store, config, folder=folder, **options)
    assert phases is not None, "only None in further processes of a distributed training"
    database = MotionDatabase.build(store, "phase_trajectory", phases, progress=progress)
    return train_matcher(database, progress=progress)


def _clips() -> Iterator[Clip]:
    """A dog that walks, trots, canters, gallops and turns."""
    gaits, body = gaits_of("quadruped"), replace(body_named("quadruped"), longest_sweep=0.25)
    for number in range(round(60.0 * _MINUTES / _CLIP_S)):
        generator = np.random.default_rng([_SEED, number])
        style = Style.random(generator, _VARIETY)
        name, before = str(generator.choice(list(_NEXT))), ""
        program: list[Segment] = []
        for seconds in segment_lengths(generator, _CLIP_S, 3.4, 5.6):
            slowest, fastest, turns = _RANGES.get(name, (0.0, 0.0, 0.0))
            speed = generator.uniform(slowest, fastest)
            turn = generator.uniform(-1.0, 1.0) * min(turns, _SIDEWAYS_M_S2 / max(speed, 0.1))
            if generator.uniform() < _STRAIGHT:
                turn = 0.0
            change_s = None
            if {name, before} <= {*_TURNING} and generator.uniform() < _TURNS:
                program.append(_quick_turn(generator, _STARTS_S if before == "idle" else _BEGINS_S))
                seconds = max(seconds - program[-1].seconds, _SHORTEST_S)
                change_s = None if name == "idle" else _ENDS_S
            program.append(
                Segment(
                    gaits[name],
                    seconds,
                    speed=float(speed),
                    turn_rate=float(turn),
                    change_s=change_s,
                )
            )
            before, name = name, str(generator.choice(_NEXT[name]))
        motion = perform(program, int(generator.integers(2**31)), body=body, style=style)
        # Without labels: pages would offer the gaits of each clip as styles.
        yield replace(motion.clip, name=f"quadruped_{number:03d}", labels={})


def _quick_turn(generator: np.random.Generator, begins_s: float) -> Segment:
    """A turn on the spot, to either side, in the time that it takes to begin or more."""
    angle = float(generator.uniform(*_ANGLES) * generator.choice([-1.0, 1.0]))
    seconds = max(abs(angle) / float(generator.uniform(*_RATES)), begins_s)
    return Segment(
        _STEPS,
        seconds,
        speed=float(generator.uniform(*_SPEEDS)),
        turn_rate=angle / seconds,
        change_s=begins_s,
    )
