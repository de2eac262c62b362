"""Training of the shipped phase model for any skeleton, in six minutes of one core."""

from __future__ import annotations

from pathlib import Path

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import corpus_of
from deepphase.files import temporary_folder
from deepphase.phase.config import PhaseConfig
from deepphase.phase.model import PhaseModel
from deepphase.phase.training.train import train_phase
from deepphase.progress import Progress
from deepphase.synthetic.bodies import BODY_KINDS
from deepphase.synthetic.training_set import corpus

SEED, MINUTES, CLIP_S, VARIETY = 11, 12.0, 16.0, 2.0
"""Seed, minutes of each body, seconds of a clip and variety of the made motion."""
CHANGES = {
    "training.windows": 240_000,
    "training.joint_dropout": 0.3,
}
"""Differences from `configs/phase/any_skeleton.yaml`."""


def train_any_skeleton(
    captures: Path, progress: Progress | None = None, **changes: object
) -> PhaseModel:
    """Train on CMU's dances and on made motion of a person and a dog.

    `changes`: options of the config, instead of `CHANGES`.
    """
    made = [
        ClipStore.from_clips(
            motion.clip
            for motion in corpus(SEED, MINUTES, body=body, clip_seconds=CLIP_S, variety=VARIETY)
        )
        for body in BODY_KINDS
    ]
    config = PhaseConfig.load("any_skeleton", **(changes or CHANGES))
    with temporary_folder() as folder:
        model = train_phase(
            [corpus_of(captures / "cmu_dance", progress=progress), *made],
            config,
            folder=folder,
            progress=progress,
            accelerator="cpu",
        )
    assert model is not None, "only None in further processes of a distributed training"
    return model
