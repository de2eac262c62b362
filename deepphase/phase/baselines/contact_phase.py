"""Local phases of the feet from their contacts (Starke et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import Roles
from deepphase.phase.baselines.foot_phase import FootPhase
from deepphase.phase.baselines.limb_ends import same_limbs
from deepphase.phase.baselines.sinusoids import fitted_sinusoids
from deepphase.phase.parameters import PhaseParameters

# A foot that always or never stands: the sinusoid of its contact is rounding.
_SILENCE = 0.01


@dataclass(eq=False, kw_only=True)
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
