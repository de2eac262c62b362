"""Arrays of a skeleton group: ranges, offsets and end sites of its clips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton


def group_arrays(clips: Sequence[Clip], lengths: Sequence[int]) -> dict[str, Array]:
    """The arrays of a group but its frames, by their names in a store.

    `lengths` are the frames of each clip, of which `clips` may have the first alone.
    """
    skeletons = [clip.skeleton for clip in clips]
    stops = np.cumsum(lengths)
    return {
        "translated_joints": np.unique(np.concatenate([clip.translated_joints for clip in clips])),
        "range_starts": stops - lengths,
        "range_stops": stops,
        "offsets": np.stack([skeleton.offsets for skeleton in skeletons]),
        "end_starts": np.cumsum([0, *(len(skeleton.end_parents) for skeleton in skeletons)]),
        "end_parents": np.concatenate([skeleton.end_parents for skeleton in skeletons]),
        "end_offsets": np.concatenate([skeleton.end_offsets for skeleton in skeletons]),
    }


def spread_translations(clip: Clip, translations: Array, wanted: Array) -> Array:
    """(frames, wanted, 3) translations; joints that the clip does not translate are at rest."""
    if len(wanted) == len(clip.translated_joints):
        return translations
    spread = np.empty((len(translations), len(wanted), 3), translations.dtype)
    spread[:] = clip.skeleton.offsets[wanted]
    spread[:, np.searchsorted(wanted, clip.translated_joints)] = translations
    return spread


def unique_clip_names(names: Iterable[str]) -> tuple[str, ...]:
    """Unique names; repeated ones are numbered from the second on: walk, walk-2, walk-3."""
    plain = list(names)
    used: set[str] = set()
    counts: dict[str, int] = {}
    result = []
    for name in plain:
        unique = name
        while unique in used or (unique != name and unique in plain):
            counts[name] = counts.get(name, 1) + 1
            unique = f"{name}-{counts[name]}"
        used.add(unique)
        result.append(unique)
    return tuple(result)


def shared_skeletons(skeletons: Iterable[Skeleton]) -> tuple[Skeleton, ...]:
    """The skeletons, equal ones as one object. All have the same names in the same order."""
    known: dict[tuple[bytes, ...], Skeleton] = {}
    return tuple(
        known.setdefault(
            (
                skeleton.offsets.tobytes(),
                skeleton.end_parents.tobytes(),
                skeleton.end_offsets.tobytes(),
            ),
            skeleton,
        )
        for skeleton in skeletons
    )
