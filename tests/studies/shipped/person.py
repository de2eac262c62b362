"""Training of the shipped person: learned motion matching on captures of two free sets.

Two people of ACCAD's Open Motion Project and one of 100STYLE, on the body of the first. The folder
has the sets as `accad/female1`, `accad/male2` and `style100`, each of BVH files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import corpus_of
from deepphase.formats.load import load, save
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.config import LearnedConfig
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.learned.training import train_matcher
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample
from deepphase.motion.retargeting.retarget import retarget
from deepphase.phase.config import PhaseConfig
from deepphase.phase.training.train import train_phase
from deepphase.progress import Progress
from deepphase.temporary_files import temporary_folder

_BODY = "accad/female1/Female1_B03_Walk1.bvh"
_FOLDERS = ("accad/female1", "accad/male2", "style100")
# Standing, walking, running, side steps and turns, by the names of the files; without what a stick
# cannot ask for.
_TAKEN = re.compile(r"stand|sway|look|walk|run|sidestep|wait|neutral|_reference", re.I)
_LEFT_OUT = re.compile(r"box|crouch|ready|bow|crawl|hop|leap|jump|skip|_e\d|taunt|swing", re.I)
# Clips that are also slowed, and the factors: the people step aside at 1.4 m/s alone, and go
# backward at 1 m/s.
_SLOWED = {"sidestep": (1.2, 1.6, 2.2), "walkback": (1.5,)}
_CHANGES = {"training.windows": 1_200_000, "training.spacing_s": 0.05, "network.width": 384}


def train_person(folder: Path, progress: Progress | None = None) -> Matcher:
    """A person in every direction, at every speed up to a run, in four styles."""
    store = person_store(folder, progress)
    options = {"progress": progress, "accelerator": "cpu"}
    with temporary_folder() as run:
        phases = train_phase(store, PhaseConfig.load("default"), folder=run, **options)
    assert phases is not None, "only None in further processes of a distributed training"
    database = MotionDatabase.build(store, "phase_trajectory", phases, progress=progress)
    config = LearnedConfig.load("default", **_CHANGES)
    with temporary_folder() as run:
        matcher = train_matcher(database, config, folder=run, **options)
    assert matcher is not None, "only None in further processes of a distributed training"
    return matcher


def person_store(folder: Path, progress: Progress | None = None) -> ClipStore:
    """The clips on one body, and their mirror images, labelled by style."""
    with temporary_folder() as prepared:
        for clip in _clips(folder):
            save(clip, prepared / f"{clip.name}.npz")
        return corpus_of(prepared, mirror=True, labels="none", progress=progress)


def _clips(folder: Path) -> Iterator[Clip]:
    body = load(folder / _BODY)
    for name in _FOLDERS:
        for path in sorted((folder / name).glob("*.bvh")):
            if not _TAKEN.search(path.stem) or _LEFT_OUT.search(path.stem):
                continue
            clip = load(path)
            if name != _FOLDERS[0]:
                clip = retarget(clip, body).clip
            style = path.stem.removesuffix("_reference") if "_reference" in path.stem else "neutral"
            clip = replace(clip, name=path.stem, labels={"style": style})
            yield clip
            kinds = [kind for kind in _SLOWED if kind in path.stem.lower()]
            for factor in (factor for kind in kinds for factor in _SLOWED[kind]):
                slow = replace(clip, fps=clip.fps / factor, name=f"{clip.name}_slow_{factor:g}")
                yield resample(slow, clip.fps)
