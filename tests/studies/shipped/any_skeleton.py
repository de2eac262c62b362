"""Training of the shipped phase model for any skeleton, in six minutes of one core."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import corpus_of
from deepphase.files import temporary_folder
from deepphase.motion.clip import Clip
from deepphase.phase.config import PhaseConfig
from deepphase.phase.model import PhaseModel
from deepphase.phase.training.train import train_phase
from deepphase.synthetic.training_set import corpus
from deepphase.work import Progress

# People, and the skeleton of a set that has several.
_PEOPLE = {
    "cmu_dance": None,
    "accad/female1": None,
    "accad/male2": "Hips-22",
    "style100": None,
    "cmu_locomotion_dance": None,
    "cmu_amc": None,
}
# A fox and a horse, whose animations of a cycle are repeated for so many seconds.
_ANIMALS, _CYCLES = ("root-49", "root-56"), re.compile("Run|Walk|Sneak|Trot|Turn|Idle")
_REPEATED_S = 24.0
# Body, minutes, variety and seed of synthetic motion, and seconds of a clip. A body is learnt from
# by the square root of its minutes.
_SYNTHETIC = (
    ("quadruped", 16.0, 2.0, 11),
    ("quadruped", 16.0, 3.0, 12),
    ("quadruped", 12.0, 1.0, 13),
    ("quadruped", 16.0, 4.0, 14),
    ("biped", 6.0, 2.0, 11),
)
_CLIP_S = 16.0
# Differences from `configs/phase/any_skeleton.yaml`.
_CHANGES = {
    "network.channels": 32,
    "network.hidden": 128,
    "training.windows": 180_000,
    "training.learning_rate": 5e-4,
    "training.joint_dropout": 0.1,
    "training.tempo": 0.4,
}


def train_any_skeleton(captures: Path, progress: Progress | None = None) -> PhaseModel:
    """Train on captured people, keyframed animals and synthetic motion."""
    stores = [
        corpus_of(captures / name, skeleton=skeleton, progress=progress)
        for name, skeleton in _PEOPLE.items()
    ]
    for body, minutes, variety, seed in _SYNTHETIC:
        motions = corpus(seed, minutes, body=body, clip_seconds=_CLIP_S, variety=variety)
        stores.append(ClipStore.from_clips(motion.clip for motion in motions))
    for skeleton in _ANIMALS:
        store = corpus_of(captures / "animals" / "mesh2motion", skeleton=skeleton)
        stores.append(ClipStore.from_clips(_repeated(store)))
    config = PhaseConfig.load("any_skeleton", **_CHANGES)
    with temporary_folder() as folder:
        model = train_phase(stores, config, folder=folder, progress=progress, accelerator="cpu")
    assert model is not None, "only None in further processes of a distributed training"
    return model


def _repeated(store: ClipStore) -> Iterator[Clip]:
    """The cycles of a store, end to end."""
    for clip in store:
        if _CYCLES.search(clip.name):
            times = -(-int(_REPEATED_S * clip.fps) // len(clip))
            rotations, translations = (
                np.concatenate([values] * times) for values in (clip.rotations, clip.translations)
            )
            yield replace(clip, rotations=rotations, translations=translations)
