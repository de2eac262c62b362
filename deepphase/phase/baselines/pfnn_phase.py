"""The single phase of a phase-functioned network: from one foot strike to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import Roles
from deepphase.phase.baselines.foot_phase import FootPhase
from deepphase.phase.baselines.limb_ends import same_limbs
from deepphase.phase.baselines.strikes import paced, strikes
from deepphase.phase.parameters import PhaseParameters, wrapped


@dataclass(eq=False, kw_only=True)
class PfnnPhase(FootPhase):
    """One channel: 0 where the right foot strikes, .5 where the left does, even in between.

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
        cycles, frequency, steps = paced(
            strikes(contacts.flags[:, order], self.fps), len(clip), self.fps
        )
        columns = (wrapped(cycles), frequency, steps, np.zeros_like(cycles))
        return PhaseParameters(*(column.astype(np.float32)[:, None] for column in columns))
