"""Local phases of the feet from their contacts (Starke et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import Roles
from deepphase.phase.baselines.baseline import Baseline, provenance_of
from deepphase.phase.baselines.limb_ends import body_of, same_limbs
from deepphase.phase.baselines.sinusoids import fitted_sinusoids
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress

# A foot that always or never stands: the sinusoid of its contact is rounding.
_SILENCE = 0.01


@dataclass(eq=False, kw_only=True)
class ContactPhase(Baseline):
    """A channel a foot, or a quadruped's paw: a sinusoid fitted to its contact (1 or 0).

    References
    ----------
    Starke et al. 2020, Local Motion Phases for Learning Multi-Contact Character Movements, section
    4: a sinusoid fitted to the filtered block of contacts of each limb, window by window.
    """

    METHOD: ClassVar[str] = "contact"
    FORMAT: ClassVar[str] = "deepphase.contact_phase"
    AMPLITUDE: ClassVar[str] = "share of contact: 0 to about 0.64"
    ORIGIN: ClassVar[str] = "phase is .25 in the middle of the stance, -.25 in that of the swing"

    @classmethod
    def fit(
        cls,
        store: ClipStore,
        *,
        window_s: float = 2.0,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """The contact phase of a store's body; nothing is learnt but the view of its manifold.

        Raises
        ------
        SkeletonError
            Where the body has no pair of feet.
        ParameterError
            Where nothing moves, or `window_s` is impossible.
        """
        corpus, clip, roles = body_of(store, description, progress)
        joints = foot_contacts(clip, roles).joints
        made = cls(
            signals=corpus.signals,
            limbs=tuple(clip.skeleton.names[joint] for joint in joints),
            window_s=window_s,
            provenance=provenance_of(store),
        )
        return made.viewed(store, progress)

    def parameters_of(self, clip: Clip, roles: Roles) -> PhaseParameters:
        """(frames, feet) each, of a clip at this rate whose joints are known."""
        contacts = foot_contacts(clip, roles)
        order = same_limbs(self.limbs, clip, contacts.joints)
        block = contacts.flags[:, order].astype(np.float32)
        return fitted_sinusoids(block, self.fps, self.window, silence=_SILENCE)
