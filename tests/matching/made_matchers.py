"""Small databases with rest and labels, and matchers of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.matcher import Layer, Matcher
from deepphase.matching.learned.training import train_matcher
from deepphase.synthetic.gait_motion import locomotion
from tests.matching.test_player import LAYOUT, SPEED

# Few, so that poses of rows are soft, and tests are fast.
SPACING_S = 0.1


def styled_database() -> MotionDatabase:
    """Rest, and walks that turn, whose style says to which side."""
    clips = [replace(locomotion(3, 3.0, gait="idle", variety=0.0).clip, labels={"style": "left"})]
    for number, rate in enumerate((-0.8, -0.4, 0.4, 0.8)):
        clip = locomotion(3, 4.0, speed=SPEED, turn_rate=rate, variety=0.0).clip
        side = "left" if rate > 0 else "right"
        clips.append(replace(clip, name=f"walk{number}", labels={"style": side}))
    return MotionDatabase.build(ClipStore.from_clips(clips), LAYOUT)


def small_matcher(database: MotionDatabase) -> Matcher:
    """A matcher of few latents."""
    return train_matcher(database, latents=6, spacing_s=SPACING_S)


def deeper(matcher: Matcher) -> Matcher:
    """The same decompressor in two layers: a smooth ReLU of x less one of -x is x."""
    ((weight, bias),) = matcher.decompressor
    both = np.concatenate([np.eye(len(weight)), -np.eye(len(weight))], axis=1, dtype=np.float32)
    first = Layer(both, np.zeros(both.shape[1], np.float32))
    return replace(matcher, decompressor=(first, Layer(np.concatenate([weight, -weight]), bias)))
