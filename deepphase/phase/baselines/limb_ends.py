"""The joints at the ends of a body's limbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import SkeletonError
from deepphase.motion.clip import Clip
from deepphase.motion.roles import Roles, find_roles
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.progress import Progress


def body_of(
    store: ClipStore, description: Mapping[str, Any] | None, progress: Progress | None
) -> tuple[SignalCorpus, Clip, Roles]:
    """The signals of a store's clips, and the longest of them with its joints' roles."""
    corpus = SignalCorpus.read(store, progress, description=description)
    clip = store.clip(int(np.argmax(store.lengths)))
    return corpus, clip, find_roles(clip.skeleton, description=corpus.signals.body, clip=clip)


def limb_ends(roles: Roles) -> tuple[int, ...]:
    """Feet and hands, left before right, those that there are.

    Raises
    ------
    SkeletonError
        Where there is no pair of either.
    """
    ends = [joint for part in ("foot", "hand") for joint in roles.both(part) or ()]
    if not ends:
        raise SkeletonError(
            "phases of limbs need a pair of feet or of hands, and none were found",
            hint="name them in a skeleton description (left_foot, right_foot, left_hand, ...)",
        )
    return tuple(ends)


def same_limbs(limbs: Sequence[str], clip: Clip, joints: Sequence[int]) -> list[int]:
    """Where each of the named limbs stands among the `joints` of a clip.

    Raises
    ------
    SkeletonError
        Where one is missing.
    """
    names = [clip.skeleton.names[joint] for joint in joints]
    for limb in limbs:
        if limb not in names:
            raise SkeletonError(
                f"{clip.name}: another skeleton: it has no limb that ends in {limb!r}",
                hint=f"phases are read off {', '.join(limbs)}; its limbs end in {', '.join(names)}",
                path=clip.source.path or None,
            )
    return [names.index(limb) for limb in limbs]
