"""Small databases with rest and labels, and matchers of them, trained a little or not at all."""

from __future__ import annotations

from dataclasses import replace

import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.data import LearnedData
from deepphase.matching.learned.matcher import LearnedConfig, Matcher
from deepphase.matching.learned.module import LearnedModule
from deepphase.matching.learned.training import new_matcher
from deepphase.synthetic.gait_motion import locomotion
from tests.matching.test_player import LAYOUT, SPEED

# Random networks as torch makes them give nearly the same for all rows.
_LARGER = 2.0
CONFIG = {
    "network.width": 48,
    "network.compressor_width": 64,
    "network.latents": 6,
    "training.windows": 512,
}


def styled_database() -> MotionDatabase:
    """Rest, and walks that turn, whose style says to which side."""
    clips = [replace(locomotion(3, 3.0, gait="idle", variety=0.0).clip, labels={"style": "left"})]
    for number, rate in enumerate((-0.8, -0.4, 0.4, 0.8)):
        clip = locomotion(3, 4.0, speed=SPEED, turn_rate=rate, variety=0.0).clip
        side = "left" if rate > 0 else "right"
        clips.append(replace(clip, name=f"walk{number}", labels={"style": side}))
    return MotionDatabase.build(ClipStore.from_clips(clips), LAYOUT)


def config(**changes: object) -> LearnedConfig:
    """A config of small networks."""
    return LearnedConfig.load("default", **(CONFIG | changes))


def untrained(database: MotionDatabase) -> tuple[LearnedModule, Matcher]:
    """A module with random weights, and the matcher that it makes, whose poses differ by row."""
    torch.manual_seed(0)
    module = LearnedModule(LearnedData(database, config()))
    with torch.no_grad():
        for weights in module.network.parameters():
            weights *= _LARGER
    return module, new_matcher(module, {})
