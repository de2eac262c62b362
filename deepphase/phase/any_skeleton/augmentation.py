"""Made bodies for training: other proportions and fewer joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.phase.any_skeleton.body_points import CHAINS, POINTS, BodyPlan, parent_points

# Legs of one body differ less in scale than its limbs do: their feet would slide.
_LEG_SPREAD = 0.3
# No body is left with fewer joints.
_FEWEST_JOINTS = 6


@dataclass(frozen=True)
class Augmentation:
    """How strongly bodies are varied.

    Parameters
    ----------
    proportions
        Standard deviation of the logarithm of each limb's scale.
    joint_dropout
        Largest share of the body points that is left out.
    """

    proportions: float = 0.0
    joint_dropout: float = 0.0

    def kept(self, generator: np.random.Generator, index: Array) -> Array:
        """Those of some joints that a training body has."""
        share = generator.uniform(0.0, self.joint_dropout)
        kept = index[generator.uniform(size=len(index)) >= share]
        return kept if len(kept) >= _FEWEST_JOINTS else index

    def scaled(self, generator: np.random.Generator) -> Array:
        """(points, points) float32 map of velocities to those of a body of other proportions.

        With the same rotations, the velocity of a point relative to the one before it is scaled as
        the bones between them. The hips travel with the scale of the legs, so that standing feet
        stand.
        """
        change = np.eye(len(POINTS), dtype=np.float32)
        if not self.proportions:
            return change
        legs = generator.normal()
        scale = {}
        for chain in CHAINS:
            drawn = generator.normal() * (_LEG_SPREAD if "leg" in chain else 1.0)
            scale[chain] = float(np.exp(self.proportions * (legs + drawn)))
        for limb in ("leg", "arm"):
            scale[f"right {limb}"] = scale[f"left {limb}"]
        root = float(np.exp(self.proportions * legs))
        plan = BodyPlan.of_points(np.arange(len(POINTS)))
        for point, parent in enumerate(parent_points().tolist()):
            if parent < 0:
                change[point, point] = root
                continue
            change[point] = change[parent]
            change[point, point] += scale[plan.chains[point]]
            change[point, parent] -= scale[plan.chains[point]]
        return change
