"""Synthetic motion that the small controller of the demo is trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait import Style, gaits_of
from deepphase.synthetic.gait_motion import perform
from deepphase.synthetic.program import Segment

_BODY, _GAITS = "biped", ("walk", "jog", "run", "skip")
_SEED, _CLIPS, _CLIP_S = 11, 12, 12.0
# Maximum turn rate in rad/s, and maximum sideways acceleration in m/s^2.
_MAX_TURN_RATE, _MAX_SIDEWAYS = 2.0, 4.0
# Speeds as multiples of the gait's own, seconds of a segment, and probability of a straight one and
# of a stand: a character that has never seen one cannot stop.
_SPEEDS, _SEGMENT_S, _STRAIGHT, _STAND = (0.7, 1.2), (3.0, 4.0), 0.25, 0.15


def turning_clips(seed: int = _SEED, clips: int = _CLIPS) -> Iterator[Clip]:
    """Clips of each gait, with stands, speeds and turn rates that change every few seconds."""
    body = body_named(_BODY)
    for number, name in enumerate(_GAITS):
        gait = gaits_of(_BODY)[name]
        for index in range(clips):
            generator = np.random.default_rng([seed, number, index])
            program, left = [], _CLIP_S
            while left > 0.0:
                seconds = float(generator.uniform(*_SEGMENT_S))
                # The last segment takes the rest where that is shorter than a segment.
                seconds = left if left - seconds < _SEGMENT_S[0] else seconds
                left -= seconds
                if generator.uniform() < _STAND:
                    program.append(Segment("idle", seconds))
                    continue
                speed = gait.speed * float(generator.uniform(*_SPEEDS))
                turn = float(generator.uniform(-1, 1)) * min(_MAX_TURN_RATE, _MAX_SIDEWAYS / speed)
                if generator.uniform() < _STRAIGHT:
                    turn = 0.0
                program.append(Segment(gait, seconds, speed=speed, turn_rate=turn))
            motion = perform(
                program, int(generator.integers(2**31)), body=body, style=Style.random(generator, 0)
            )
            yield replace(motion.clip, name=f"{name}_{index}", labels={"gait": name})
