"""Training of the phase model for any skeleton that is shipped.

`python -m tests.studies.shipped_model CMU_DANCE` trains it again, in about two minutes on one
processor core, and writes it over the shipped file. CMU_DANCE is a folder with the BVH files of the
CMU motion capture database that are named in the file's provenance (salsa and Indian dance), or
a store of them; the other motion is made. Both may be used freely.
"""

from __future__ import annotations

import sys
from pathlib import Path

from deepphase.apps.terminal import note, progress
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import corpus_of
from deepphase.errors import ParameterError
from deepphase.phase.config import PhaseConfig
from deepphase.phase.extractor import SHIPPED
from deepphase.phase.model import PhaseModel
from deepphase.phase.training.train import train_phase
from deepphase.progress import Progress
from deepphase.synthetic.bodies import BODY_KINDS
from deepphase.synthetic.training_set import corpus
from deepphase.temporary_files import temporary_folder

SEED, MINUTES, CLIP_S, VARIETY = 11, 12.0, 16.0, 2.0
"""Seed, minutes of each body, seconds of a clip and variety of the made motion."""
CHANGES = {
    "training.windows": 160_000,
    "training.joint_dropout": 0.3,
}
"""Differences from `configs/phase/any_skeleton.yaml`."""


def train_shipped_model(
    captured: ClipStore, progress: Progress | None = None, **changes: object
) -> PhaseModel:
    """Train on captured clips and on made motion of a person and a dog.

    Parameters
    ----------
    changes
        Options of the config, instead of `CHANGES`.
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
            [captured, *made], config, folder=folder, progress=progress, accelerator="cpu"
        )
    assert model is not None, "only None in further processes of a distributed training"
    return model


def main(words: list[str]) -> None:
    """Write the shipped model."""
    if len(words) != 1:
        raise ParameterError("give the folder or store of the CMU dances")
    with progress() as on_progress:
        captured = corpus_of(Path(words[0]), progress=on_progress)
        model = train_shipped_model(captured, on_progress)
    model.save(SHIPPED)
    note(f"{SHIPPED}: {SHIPPED.stat().st_size / 1e3:.0f} kB")
    for skeleton in model.skeletons:
        note(skeleton.words())


if __name__ == "__main__":
    main(sys.argv[1:])
