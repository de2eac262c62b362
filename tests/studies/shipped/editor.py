"""Training of the shipped editor, on the body of the synthetic person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import corpus_of
from deepphase.edit.config import EditorConfig
from deepphase.edit.editor import MotionEditor
from deepphase.edit.training import train_editor as train
from deepphase.files import temporary_folder
from deepphase.motion.resample import resample
from deepphase.motion.retarget import retarget
from deepphase.synthetic.training_set import corpus
from deepphase.work import Progress

# Seed, minutes, seconds of a clip and variety of the synthetic motion.
_SEED, _MINUTES, _CLIP_S, _VARIETY, _FPS = 11, 20.0, 16.0, 2.0, 60.0


def train_editor(captures: Path, progress: Progress | None = None) -> MotionEditor:
    """An editor of synthetic motion and of CMU's dances, which are put on its body."""
    dances = corpus_of(captures / "cmu_dance", progress=progress)
    motions = corpus(_SEED, _MINUTES, body="biped", clip_seconds=_CLIP_S, variety=_VARIETY)
    clips = [motion.clip for motion in motions]
    body = clips[0]
    for number, clip in enumerate(dances):
        made = retarget(resample(clip, _FPS), body).clip
        # The folder and the name of the file, which are the same everywhere.
        path = "/".join(Path(clip.source.path or clip.name).parts[-2:])
        source = replace(made.source, path=path)
        clips.append(replace(made, source=source, name=f"dance {number}"))
        if progress is not None:
            progress("retargeting", number + 1, len(dances), clip.name)
    store = ClipStore.from_clips(replace(clip, labels={}) for clip in clips)
    config = EditorConfig.load("masked", **{"training.windows": 54_000})
    with temporary_folder() as folder:
        editor = train(store, config, folder=folder, progress=progress, accelerator="cpu")
    assert editor is not None, "only None in further processes of a distributed training"
    return editor
