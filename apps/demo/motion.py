"""Synthetic motion of `deepphase demo`, and the names of the files in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from deepphase.synthetic.gait import gaits_of
from deepphase.synthetic.gait_motion import SyntheticMotion, locomotion
from deepphase.synthetic.training_set import corpus

TRAINING, HELD_OUT, TRUTH = "clips/training", "clips/held_out", "truth"
STORE, MODEL, PHASES, REPORT = "clips.store", "phases.model", "phases", "phases.model.report"
EVALUATION = "evaluation"
PAGE, LIVE = "index.html", "live.html"

_BODY = "biped"
# Second part of the seed of held-out motion, which separates it from the seeds of training motion.
_HELD_OUT_SEED = 1 << 32
# Gait of the held-out clips whose speed changes.
_CHANGING_GAIT = "walk"


@dataclass(frozen=True)
class DemoSize:
    """Size of a demo.

    Parameters
    ----------
    minutes, clip_s
        Total length of the training motion in minutes, and length of its clips in seconds.
    held_out_s
        Length of each held-out clip in seconds.
    windows, batch_size
        Total number of training windows, and number of windows in a batch.
    """

    minutes: float
    clip_s: float
    held_out_s: float
    windows: int
    batch_size: int


FULL = DemoSize(6.0, 10.0, 12.0, 102_400, 256)
# One minute in clips of 6 s makes ten clips, the smallest number that includes all gaits.
SMALLEST = DemoSize(1.0, 6.0, 5.0, 6_400, 64)


def training_motions(size: DemoSize, seed: int) -> list[SyntheticMotion]:
    """Motions of all gaits, and medleys of them, at constant and at changing speeds."""
    return list(corpus(seed, size.minutes, body=_BODY, clip_seconds=size.clip_s))


def held_out_motions(size: DemoSize, seed: int) -> Iterator[SyntheticMotion]:
    """Motions in styles that the training motion does not contain.

    Each gait at a constant speed, and a walk whose speed drifts and one whose speed ramps.
    """
    generator = np.random.default_rng([seed, _HELD_OUT_SEED])
    programs = [(gait.name, "constant") for gait in gaits_of(_BODY).values() if gait.moves]
    for gait, profile in [*programs, (_CHANGING_GAIT, "drift"), (_CHANGING_GAIT, "ramp")]:
        motion = locomotion(
            int(generator.integers(2**31)),
            size.held_out_s,
            body=_BODY,
            gait=gait,
            profile=profile,
        )
        name = gait if profile == "constant" else f"{gait}_{profile}"
        yield replace(motion, clip=replace(motion.clip, name=name))
