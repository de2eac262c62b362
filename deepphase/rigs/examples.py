"""Examples of a rig: poses with the controls that give them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.retargeting.retarget import retarget
from deepphase.progress import Progress
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.keying import BodyMotion, keyed
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.laying import lay_on_ground

# Lengths of joints that differ by more than this share are those of another body.
_OTHER_BODY = 0.02


@dataclass(frozen=True, eq=False)
class RigExamples:
    """Controls of clips, with the positions that the rig gives for them.

    Parameters
    ----------
    values
        (frames, controls)
    positions
        (frames, joints, 3) metres.
    clips
        (frames,) number of each frame's clip.
    """

    values: Array
    positions: Array
    clips: Array

    def __len__(self) -> int:
        return len(self.values)

    def taken(self, rows: Array) -> RigExamples:
        """Some of the frames."""
        return RigExamples(self.values[rows], self.positions[rows], self.clips[rows])

    @classmethod
    def of_store(
        cls,
        store: ClipStore,
        rig: BodyRig,
        frames: int = 0,
        progress: Progress | None = None,
    ) -> RigExamples:
        """Examples of all clips, keyed by rule.

        `frames` poses are taken, evenly; 0 takes all. ParameterError if they are fewer than ten.
        """
        every = 1 if not frames else max(1, int(np.sum(store.lengths)) // frames)
        motions, rows = [], []
        for index in range(len(store)):
            motions.append(motion_on_rig(store.clip(index), rig))
            rows.append(np.arange(every // 2, len(motions[-1].turns), every))
            if progress is not None:
                progress("reading clips", index + 1, len(store), store.names[index])
        clips = np.repeat(np.arange(len(rows)), list(map(len, rows)))
        if len(clips) < 10:
            raise ParameterError(
                f"{len(clips)} poses are too few for a rig", hint="give more clips"
            )
        # Keyed as a whole, since angles are continuous over time.
        keys = [keyed(motion, rig)[own] for motion, own in zip(motions, rows, strict=True)]
        values = np.clip(np.concatenate(keys), rig.lower, rig.upper)
        return cls(values, rig.evaluate(values), clips)

    def split(self, share: float, seed: int) -> tuple[RigExamples, RigExamples]:
        """Examples to learn, and those of held-out clips; of one clip, its last frames."""
        names = np.unique(self.clips)
        if len(names) == 1:
            first = max(1, round((1.0 - share) * len(self)))
            return self.taken(np.arange(first)), self.taken(np.arange(first, len(self)))
        order = np.random.default_rng(seed).permutation(names)
        held = order[: max(1, round(share * len(names)))]
        out = np.isin(self.clips, held)
        return self.taken(np.flatnonzero(~out)), self.taken(np.flatnonzero(out))


def motion_on_rig(clip: Clip, rig: BodyRig, ground: Heightmap | None = None) -> BodyMotion:
    """The motion of a clip on the body of a rig; clips of other bodies are retargeted.

    Parameters
    ----------
    ground
        Ground that the motion is laid on; the placement of the character then has heights.

    Raises
    ------
    SkeletonError
        If it is another kind of body, or has no feet to stand on the ground.
    """
    fitting = _rig_of_clip(clip, rig)
    if fitting is None:
        clip, fitting = retarget(clip, rig.skeleton).clip, rig.for_own_rest()
    if ground is None:
        return BodyMotion.of_clip(clip, fitting)
    laid = lay_on_ground(clip, ground)
    return BodyMotion.of_clip(laid.clip, fitting).on_ground(laid.lift)


def _rig_of_clip(clip: Clip, rig: BodyRig) -> BodyRig | None:
    """The rig with the rest pose of a clip; None if the clip has another body."""
    if not set(rig.skeleton.names) <= set(clip.skeleton.names):
        return None
    rows = [clip.skeleton.index(name) for name in rig.skeleton.names]
    given, own = clip.skeleton.offsets[rows[1:]], rig.skeleton.offsets[1:]
    size = np.linalg.norm(own, axis=1)
    if np.abs(np.linalg.norm(given, axis=1) - size).sum() > _OTHER_BODY * size.sum():
        return None
    # Clips that controls gave are at rest as the rig is, and not as the clip that the rig was made
    # of.
    turned = quaternions.rotate(rig.rest_turns[rig.skeleton.parents[1:]], given)
    rested = np.abs(given - own).sum() < np.abs(turned - own).sum()
    return rig.for_own_rest() if rested else rig
