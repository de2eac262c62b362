"""Runs on terrain: recorded motion that is laid on ground, or was made on it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.roles import find_roles
from deepphase.steering.run import Run
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.laying import LaidMotion, ground_measures, lay_on_ground

_IN_CONTACT = 0.5


@dataclass(frozen=True)
class FeetOnGround:
    """Measures of a character's feet on ground, and on the flat floor before, if there was one.

    Each is None without a contact or a second of motion.
    """

    ground: dict[str, float] | None
    floor: dict[str, float] | None


def lay_run(run: Run, ground: Heightmap) -> tuple[Run, list[FeetOnGround]]:
    """The run, made on a flat floor, laid on ground, and measures of each character.

    Root states, goals and contacts do not change. Raises SkeletonError if the body has no feet.
    """
    roles = find_roles(run.spec.skeleton, description=run.spec.body)
    rotations, translations = run.rotations.copy(), run.translations.copy()
    measures: list[FeetOnGround] = []
    for character in range(run.characters):
        lived = run.lived(character)
        if lived < max(2, round(run.fps)):
            measures.append(FeetOnGround(None, None))
            continue
        clip = run.clip(character).sliced(0, lived)
        laid = lay_on_ground(clip, ground, roles=roles)
        rotations[character, :lived] = quaternions.normalized(laid.clip.rotations)
        translations[character, :lived] = laid.clip.translations
        translations[character, lived:, 0, 1] += np.float32(laid.lift[-1])
        floor = Heightmap(np.full((1, 1), laid.floor), 1.0)
        before = ground_measures(replace(laid, clip=clip), floor)
        measures.append(FeetOnGround(ground_measures(laid, ground), before))
    return replace(run, rotations=rotations, translations=translations, unlocked=None), measures


def feet_on_ground(run: Run) -> list[FeetOnGround]:
    """Measures of all characters of a run that was made on ground, at the contacts predicted."""
    spec = run.spec
    if spec.ground is None or spec.soles is None:
        raise ParameterError("the run was made on a flat floor", hint="lay it on ground")
    roles = find_roles(spec.skeleton, description=dict(spec.body))
    every = LegChains.from_skeleton(spec.skeleton, roles).on_floor(spec.skeleton, roles)
    columns = {spec.skeleton.index(name): column for column, name in enumerate(spec.feet)}
    chains = every.ending_in(columns)
    ends = chains.ends(spec.skeleton, roles)
    flags = run.contacts[..., [columns[int(last)] for last in chains.last]] > _IN_CONTACT
    measures = []
    for character in range(run.characters):
        lived, found = run.lived(character), None
        if lived >= max(2, round(run.fps)):
            clip, contacts = run.clip(character).sliced(0, lived), flags[character, :lived].T
            motion = LaidMotion(clip, np.zeros(lived), chains, contacts, spec.soles, 0.0)
            found = ground_measures(motion, spec.ground, ends)
        measures.append(FeetOnGround(found, None))
    return measures
