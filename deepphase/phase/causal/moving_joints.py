"""Joints of a clip as a causal encoder is trained on them, and varied copies of their motion.

A network that knows only the movements of its clips is lost when a body moves otherwise. Copies
with another tempo, livelier or calmer limbs and mirrored sides are other movements, whose phases
of whole windows the phase model gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.clip import Clip
from deepphase.motion.root_trajectory import RootTrajectory, velocities_in_root_space
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signals import JointVelocities
from deepphase.phase.streamed_body import StreamedBody

# Lowest and highest tempo of a copy, and the standard deviations of the logarithms by which its
# limbs, single joints and the whole body are livelier.
_TEMPO = (0.75, 1.3)
_LIMB, _JOINT, _BODY = 0.3, 0.1, 0.1
_LIMBS = ("left_hip", "right_hip", "left_shoulder", "right_shoulder")


@dataclass(frozen=True, eq=False)
class MovingJoints:
    """Joints in the world, and the body's facing.

    Parameters
    ----------
    velocities
        (frames, joints, 3) m/s since the frame before; 0 in the first.
    facing
        (frames, 3) vectors of the facing, as a stream has them.
    angles
        (frames,) radians: the facing as the phase model reads it.
    """

    velocities: Array
    facing: Array
    angles: Array

    @classmethod
    def of_clip(cls, clip: Clip, signals: JointVelocities) -> MovingJoints:
        """The joints that a phase model reads. Raises SkeletonError where one is missing."""
        body = StreamedBody(clip.skeleton.names, signals)
        _, root, positions = signals.places(clip)
        places = positions[:, body.order]
        velocities = np.zeros_like(places, np.float32)
        velocities[1:] = np.diff(places, axis=0) * signals.fps
        facing = body.facing(positions)
        return cls(velocities, facing.astype(np.float32), root.angles.astype(np.float32))

    def __len__(self) -> int:
        return len(self.velocities)

    def __getitem__(self, frames: slice) -> MovingJoints:
        return MovingJoints(self.velocities[frames], self.facing[frames], self.angles[frames])

    def varied(
        self, random: np.random.Generator, limbs: Array, signals: JointVelocities
    ) -> MovingJoints:
        """Another motion: with another tempo, livelier or calmer limbs, and sides exchanged or not.

        Parameters
        ----------
        limbs
            (joints,) index of the limb of each; see `limbs_of`.
        """
        tempo = random.uniform(*_TEMPO)
        times = np.arange(0.0, len(self) - 1, tempo)
        velocities, facing, angles = (
            _at(each, times).astype(np.float32)
            for each in (self.velocities, self.facing, self.angles)
        )
        gains = np.exp(random.normal(0.0, _LIMB, limbs.max() + 1))[limbs]
        gains *= np.exp(random.normal(0.0, _JOINT, len(limbs)))
        trunk = velocities[:, :1] * np.exp(random.normal(0.0, _BODY))
        varied = tempo * (trunk + gains[:, None] * (velocities - velocities[:, :1]))
        varied[:1] = 0.0
        if signals.partners and random.uniform() < 0.5:
            mirror = np.array([-1.0, 1.0, 1.0], np.float32)
            varied, facing = varied[:, list(signals.partners)] * mirror, facing * mirror
            angles = -angles
        return MovingJoints(varied.astype(np.float32), facing, angles)

    def phases(self, model: PhaseModel[JointVelocities]) -> PhaseParameters:
        """Phases of the model."""
        # Central differences, as the model's signals are.
        central = self.velocities.copy()
        central[1:-1] += self.velocities[2:]
        central[1:-1] *= 0.5
        central[0] = self.velocities[min(1, len(self) - 1)]
        root = RootTrajectory.of_ground(np.zeros((len(self), 2)), self.angles)
        turned = velocities_in_root_space(central, root).reshape(len(self), -1)
        return model.encode_signals(turned.astype(np.float32)).parameters

    def facing_of_now(self, frames: int) -> Array:
        """(frames,) radians of the facing, averaged over the last frames up to each."""
        sums = np.cumsum(self.facing, axis=0, dtype=np.float64)
        # Sums over the last frames have the direction of their means.
        sums[frames:] -= sums[:-frames].copy()
        return np.arctan2(sums[:, 0], sums[:, 2]).astype(np.float32)


def limbs_of(clip: Clip, signals: JointVelocities) -> Array:
    """(joints,) index of the limb that each joint of the signals is of; 0 is the trunk."""
    names, parents = clip.skeleton.names, clip.skeleton.parents
    roots = {signals.body[role]: 1 + i for i, role in enumerate(_LIMBS) if role in signals.body}
    limbs = np.zeros(len(names), np.int64)
    for joint, name in enumerate(names):
        limbs[joint] = roots.get(name, limbs[parents[joint]] if parents[joint] >= 0 else 0)
    return limbs[[names.index(joint) for joint in signals.joints]]


def _at(values: Array, times: Array) -> Array:
    """Values (frames, ...) between frames."""
    before = np.minimum(times.astype(np.int64), len(values) - 2)
    share = (times - before).reshape(-1, *[1] * (values.ndim - 1))
    return values[before] * (1.0 - share) + values[before + 1] * share
