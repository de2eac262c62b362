"""Phases that are read off the contacts of feet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.contacts import foot_contacts
from deepphase.phase.baselines.baseline import Baseline, provenance_of
from deepphase.phase.baselines.limb_ends import body_of
from deepphase.progress import Progress


@dataclass(eq=False, kw_only=True)
class FootPhase(Baseline):
    """Phases of a store's body by its feet; nothing is learnt but the view of the manifold."""

    @classmethod
    def fit(
        cls,
        store: ClipStore,
        *,
        window_s: float = 2.0,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """The phases of a store's body.

        Raises
        ------
        SkeletonError
            Where the body has no pair of feet.
        ParameterError
            Where nothing moves, or `window_s` is impossible.
        """
        corpus, clip, roles = body_of(store, description, progress)
        feet = foot_contacts(clip, roles).joints
        made = cls(
            signals=corpus.signals,
            limbs=cls.limbs_of(tuple(clip.skeleton.names[joint] for joint in feet)),
            window_s=window_s,
            provenance=provenance_of(store),
        )
        return made.viewed(store, progress)

    @staticmethod
    def limbs_of(feet: tuple[str, ...]) -> tuple[str, ...]:
        """Which of the feet, left before right and a quadruped's hind ones first, make phases."""
        raise NotImplementedError
