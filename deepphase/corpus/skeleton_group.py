"""Skeleton groups: hierarchy, names and translated joints that several clips share."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.skeleton import Skeleton


def hierarchy(skeleton: Skeleton) -> frozenset[tuple[str, str | None]]:
    """Pairs of joint and parent names: equal for skeletons of one group, in any order."""
    return frozenset(
        (name, None if parent < 0 else skeleton.names[parent])
        for name, parent in zip(skeleton.names, skeleton.parents.tolist(), strict=True)
    )


def default_group_name(skeleton: Skeleton) -> str:
    """Root name and number of joints, such as "Hips-22", usable on a command line."""
    root = re.sub(r"\W+", "_", skeleton.names[0]).strip("_") or "skeleton"
    return f"{root}-{len(skeleton)}"


def unique_clip_names(names: Iterable[str]) -> tuple[str, ...]:
    """Unique names; repeated ones are numbered from the second on: walk, walk-2, walk-3."""
    given = list(names)
    plain = set(given)
    taken: set[str] = set()
    counts: dict[str, int] = {}
    result = []
    for name in given:
        unique = name
        while unique in taken or (unique != name and unique in plain):
            counts[name] = counts.get(name, 1) + 1
            unique = f"{name}-{counts[name]}"
        taken.add(unique)
        result.append(unique)
    return tuple(result)


def shared_skeletons(skeletons: Iterable[Skeleton]) -> tuple[Skeleton, ...]:
    """The skeletons, equal ones as one object. All have the same names in the same order."""
    known: dict[bytes, Skeleton] = {}
    return tuple(
        known.setdefault(
            b"|".join(
                array.tobytes()
                for array in (skeleton.offsets, skeleton.end_parents, skeleton.end_offsets)
            ),
            skeleton,
        )
        for skeleton in skeletons
    )


def translated_by_any(translated_joints: Iterable[Array]) -> Array:
    """(joints,) rising indices that occur in any of the arrays."""
    return np.unique(np.concatenate(list(translated_joints)))


def spread_translations(
    translations: Array, translated_joints: Array, wanted: Array, skeleton: Skeleton
) -> Array:
    """(frames, wanted, 3) translations; joints that the clip does not translate are at rest."""
    if len(wanted) == len(translated_joints):
        return translations
    spread = np.empty((len(translations), len(wanted), 3), translations.dtype)
    spread[:] = skeleton.offsets[wanted]
    spread[:, np.searchsorted(wanted, translated_joints)] = translations
    return spread
