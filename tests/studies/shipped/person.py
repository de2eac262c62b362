"""Training of the shipped person: learned motion matching on captures of two free sets.

Two people of ACCAD's Open Motion Project and one of 100STYLE, on the body of the first. The folder
has the sets as `accad/female1`, `accad/male2` and `style100`, each of BVH files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.ndimage import maximum_filter1d

from deepphase.arrays import Array, true_runs
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import corpus_of
from deepphase.features.layout import FeatureLayout
from deepphase.files import temporary_folder
from deepphase.formats.load import load, save
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.learned.training import train_matcher
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.resample import resample
from deepphase.motion.retarget import retarget
from deepphase.motion.roles import find_roles
from deepphase.phase.config import PhaseConfig
from deepphase.phase.training.train import train_phase
from deepphase.work import Progress

_BODY = "accad/female1/Female1_B03_Walk1.bvh"
_FOLDERS = ("accad/female1", "accad/male2", "style100")
# Standing, walking, running, side steps and turns, by the names of the files; without what a stick
# cannot ask for.
_TAKEN = re.compile(r"stand|sway|look|walk|run|sidestep|wait|neutral|_reference", re.I)
_LEFT_OUT = re.compile(r"box|crouch|ready|bow|crawl|hop|leap|jump|skip|_e\d|taunt|swing", re.I)
# Clips that are also slowed, and the factors: the people step aside at 1.4 m/s alone, and go
# backward at 1 m/s.
_SLOWED = {"sidestep": (1.2, 1.6, 2.2), "walkback": (1.5,)}
# Weight of the way ahead beside the phases. At 1 a body that is asked to run walks on, since phases
# of runs are far from those of walks; at 1.8 jumps to runs pop.
_AHEAD = 1.4
# A T-pose: hands at most so far below the shoulders, and at least so far from each other; seconds
# around it until the arms hang, and seconds of a piece that is kept.
_T_POSE_BELOW_M, _T_POSE_APART_M, _T_POSE_AROUND_S, _SHORTEST_S = 0.25, 0.9, 0.8, 2.0


def train_person(folder: Path, progress: Progress | None = None) -> Matcher:
    """A person in every direction, at every speed up to a run, in four styles."""
    store = person_store(folder, progress)
    options = {"progress": progress, "accelerator": "cpu"}
    with temporary_folder() as run:
        phases = train_phase(store, PhaseConfig.load("default"), folder=run, **options)
    assert phases is not None, "only None in further processes of a distributed training"
    weights = {"trajectory_position": _AHEAD, "trajectory_direction": _AHEAD}
    layout = FeatureLayout(
        *(
            replace(feature, weight=weights.get(feature.name, feature.weight))
            for feature in FeatureLayout.load("phase_trajectory")
        )
    )
    database = MotionDatabase.build(store, layout, phases, progress=progress)
    return train_matcher(database, progress=progress)


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
            clip = replace(levelled(clip), name=path.stem, labels={"style": style})
            kinds = [kind for kind in _SLOWED if kind in path.stem.lower()]
            factors = [factor for kind in kinds for factor in _SLOWED[kind]]
            for piece in _without_t_poses(clip):
                yield piece
                for factor in factors:
                    name = f"{piece.name}_slow_{factor:g}"
                    yield resample(replace(piece, fps=piece.fps / factor, name=name), piece.fps)


def levelled(clip: Clip) -> Clip:
    """The clip with its floor at height 0: that of one person lies at 5 cm."""
    translations = clip.translations.copy()
    translations[:, 0, 1] -= foot_contacts(clip, find_roles(clip.skeleton, clip=clip)).floor
    return replace(clip, translations=translations)


def t_poses(clip: Clip) -> Array:
    """(frames,) bool: the arms are held out to both sides."""
    roles = find_roles(clip.skeleton, clip=clip)
    positions = joint_positions(clip)
    hands = positions[:, [roles.left_hand, roles.right_hand]]
    shoulders = positions[:, [roles.left_shoulder, roles.right_shoulder]]
    raised = (hands - shoulders)[..., 1].min(axis=1) > -_T_POSE_BELOW_M
    apart = np.linalg.norm(np.diff(hands[..., ::2], axis=1)[:, 0], axis=-1) > _T_POSE_APART_M
    return raised & apart


def _without_t_poses(clip: Clip) -> Iterator[Clip]:
    """The pieces of a clip between the T-poses that 100STYLE's captures have in them."""
    around = 2 * round(_T_POSE_AROUND_S * clip.fps) + 1
    kept = ~maximum_filter1d(t_poses(clip), around)
    pieces = [run for run in true_runs(kept) if run[1] - run[0] > _SHORTEST_S * clip.fps]
    for number, (start, stop) in enumerate(pieces):
        name = f"{clip.name}_{number + 1}" if len(pieces) > 1 else clip.name
        yield replace(clip.sliced(start, stop), name=name)
