"""Settings of running characters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from deepphase.errors import ParameterError

Feedback = Literal["pose", "prediction"]


@dataclass(frozen=True)
class CharacterSettings:
    """How characters run.

    Parameters
    ----------
    position_bias, direction_bias
        How much the wish counts against the prediction in the trajectory ahead: of PFNN's three
        pairs 0.5 and 2 is the most natural, 5 and 10 the most obedient.
    phase_blend
        Share of the way from the turned to the predicted phase (DeepPhase, eq. 9).
    feedback
        Which joints the network sees next: those of the "pose", whose limbs have the skeleton's
        lengths, or its own "prediction" of their positions, as the papers do.
    label_halflife_s
        Seconds in which half of a change of label is made; 0 for at once.
    foot_ik
        Hold feet in contact where they stand. Only what is shown: the network does not see it.
    gating
        Whether frames hold the gating weights.
    """

    position_bias: float = 0.5
    direction_bias: float = 2.0
    phase_blend: float = 0.5
    feedback: Feedback = "pose"
    label_halflife_s: float = 0.1
    foot_ik: bool = True
    gating: bool = True

    def __post_init__(self) -> None:
        for name in ("position_bias", "direction_bias"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ParameterError(f"{name} {value}: it must be above 0")
        if not 0.0 <= self.phase_blend <= 1.0:
            raise ParameterError(f"phase_blend {self.phase_blend}: it must lie in 0 to 1")
        if self.feedback not in get_args(Feedback):
            raise ParameterError(f"feedback is 'pose' or 'prediction', not {self.feedback!r}")
        if not (math.isfinite(self.label_halflife_s) and self.label_halflife_s >= 0):
            raise ParameterError(f"label_halflife_s {self.label_halflife_s}: it is not negative")
