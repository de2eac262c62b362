"""Captured clips made wrong in one respect: what the judge must tell apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles

_FROZEN_S = 0.75
_LOWER_M = 0.04


def frozen(clip: Clip) -> Clip:
    """The clip whose pose stands still for .75 s at a time while its hips travel on."""
    step = max(1, round(_FROZEN_S * clip.fps))
    held = np.arange(len(clip)) // step * step
    rotations = clip.rotations[held].copy()
    hips = find_roles(clip.skeleton, clip=clip).hips
    rotations[:, : hips + 1] = clip.rotations[:, : hips + 1]
    return replace(clip, rotations=rotations)


def lowered(clip: Clip) -> Clip:
    """The clip 4 cm too low."""
    translations = clip.translations.copy()
    hips = find_roles(clip.skeleton, clip=clip).hips
    column = np.flatnonzero(np.asarray(clip.translated_joints) <= hips)[-1]
    translations[:, column, 1] -= _LOWER_M
    return replace(clip, translations=translations)


def stiff_toes(clip: Clip) -> Clip:
    """The clip with feet and toes held at their first pose."""
    roles = find_roles(clip.skeleton, clip=clip)
    rotations = clip.rotations.copy()
    for part in ("foot", "toe"):
        for joint in roles.both(part) or ():
            rotations[:, joint] = rotations[:1, joint]
    return replace(clip, rotations=rotations)


FALSIFIED: Mapping[str, Callable[[Clip], Clip]] = {
    "frozen": frozen,
    "4 cm too low": lowered,
    "stiff toes": stiff_toes,
}
