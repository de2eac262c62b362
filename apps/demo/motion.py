"""The made motion of `deepphase demo`, and its truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from deepphase.synthetic.gait import gaits_of
from deepphase.synthetic.locomotion import SyntheticMotion, locomotion
from deepphase.synthetic.training_set import corpus

TRAINING, HELD_OUT, TRUTH = "clips/training", "clips/held_out", "truth"
STORE, MODEL, PHASES, REPORT = "clips.store", "phases.model", "phases", "report"
PAGE, PLAYER, PICTURES = "index.html", "player.html", "pictures"


_BODY = "biped"
# Of the seeds, so that no motion that is held out is one of those that are learnt from.
_HELD_OUT = 1 << 32
# The clip that is held out for each changing speed is of this gait.
_CHANGING = "walk"


@dataclass(frozen=True)
class DemoSize:
    """How much of everything.

    Parameters
    ----------
    minutes, clip_s
        Motion to learn from, and the length of its clips.
    held_out_s
        Length of each held-out clip.
    windows, batch_size
        Of the training.
    pictures
        Whether the figures are written as files, too: a browser draws them, which takes a while.
    """

    minutes: float
    clip_s: float
    held_out_s: float
    windows: int
    batch_size: int
    pictures: bool


FULL = DemoSize(6.0, 10.0, 12.0, 102_400, 256, True)
# Ten clips are the fewest that have all gaits among them.
SMALLEST = DemoSize(1.0, 6.0, 5.0, 6_400, 64, False)


def training_motions(size: DemoSize, seed: int) -> list[SyntheticMotion]:
    """Motions of all gaits and medleys of them, at constant and at changing speeds."""
    return list(corpus(seed, size.minutes, body=_BODY, clip_seconds=size.clip_s))


def held_out_motions(size: DemoSize, seed: int) -> Iterator[SyntheticMotion]:
    """Each gait at a constant speed by another individual; a walk that drifts, one that ramps."""
    generator = np.random.default_rng([seed, _HELD_OUT])
    wanted = [(gait.name, "constant") for gait in gaits_of(_BODY).values() if gait.moves]
    for gait, profile in [*wanted, (_CHANGING, "drift"), (_CHANGING, "ramp")]:
        made = locomotion(
            int(generator.integers(2**31)),
            size.held_out_s,
            body=_BODY,
            gait=gait,
            profile=profile,
        )
        name = gait if profile == "constant" else f"{gait}_{profile}"
        yield replace(made, clip=replace(made.clip, name=name))
