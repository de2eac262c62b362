"""Phases that are read off the contacts of feet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.cycles import wrapped
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import Roles
from deepphase.phase.baselines.baseline import Baseline, provenance_of
from deepphase.phase.baselines.limb_ends import body_of, same_limbs
from deepphase.phase.baselines.sinusoids import fitted_sinusoids
from deepphase.phase.baselines.strikes import paced, strikes
from deepphase.phase.parameters import PhaseParameters
from deepphase.progress import Progress


@dataclass(eq=False, kw_only=True, repr=False)
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


# A foot that always or never stands: the sinusoid of its contact is rounding.
_SILENCE = 0.01


@dataclass(eq=False, kw_only=True, repr=False)
class ContactPhase(FootPhase):
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

    @staticmethod
    def limbs_of(feet: tuple[str, ...]) -> tuple[str, ...]:
        """All."""
        return feet

    def parameters_of(self, clip: Clip, roles: Roles) -> PhaseParameters:
        """(frames, feet) each, of a clip at this rate whose joints are known."""
        contacts = foot_contacts(clip, roles)
        order = same_limbs(self.limbs, clip, contacts.joints)
        block = contacts.flags[:, order].astype(np.float32)
        return fitted_sinusoids(block, self.fps, self.window, silence=_SILENCE)


@dataclass(eq=False, kw_only=True, repr=False)
class PfnnPhase(FootPhase):
    """One channel: 0 where the right foot strikes, .5 where the left does, smooth in between.

    A quadruped's is 0 where its right hind paw strikes. Amplitude is 1 where the body steps and 0
    where it stands; standing, the phase cycles on, as the paper has it.

    References
    ----------
    Holden et al. 2017, section 4.1. Its spline takes w = 4 * phase mod 1.
    """

    METHOD: ClassVar[str] = "pfnn"
    FORMAT: ClassVar[str] = "deepphase.pfnn_phase"
    AMPLITUDE: ClassVar[str] = "without unit: 1 where the body steps, 0 where it stands"
    ORIGIN: ClassVar[str] = (
        "phase is 0 where the right foot (a quadruped's right hind paw) strikes, .5 where the left"
    )
    RULE: ClassVar[Mapping[str, str]] = {"interpolation": "pchip", "standing": "steps"}

    @property
    def channels(self) -> int:
        """One, of whatever feet."""
        return 1

    @staticmethod
    def limbs_of(feet: tuple[str, ...]) -> tuple[str, ...]:
        """The first pair, of which a quadruped's right one alone."""
        left, right = feet[:2]
        return (right,) if len(feet) > 2 else (right, left)

    def parameters_of(self, clip: Clip, roles: Roles) -> PhaseParameters:
        """(frames, 1) each, of a clip at this rate whose joints are known."""
        contacts = foot_contacts(clip, roles)
        order = same_limbs(self.limbs, clip, contacts.joints)
        found = strikes(contacts.flags[:, order], self.fps)
        cycles, frequency, steps = paced(found, len(clip), self.fps)
        columns = (wrapped(cycles), frequency, steps, np.zeros_like(cycles))
        return PhaseParameters(*(column.astype(np.float32)[:, None] for column in columns))
