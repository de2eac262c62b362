"""Settings of characters at run time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from deepphase.errors import ParameterError
from deepphase.short_repr import brief_repr

Feedback = Literal["pose", "prediction"]


@brief_repr
@dataclass(frozen=True)
class CharacterSettings:
    """Settings of characters at run time.

    Parameters
    ----------
    position_bias, direction_bias
        Weight of the goals against the prediction in the future trajectory. Of PFNN's three pairs
        0.5 and 2 is the most natural, 5 and 10 the most responsive.
    phase_blend
        Share of the predicted phase against the advanced one (DeepPhase, eq. 9).
    feedback
        Joint positions in the next inputs: those of the "pose", with the skeleton's limb lengths,
        or the network's own "prediction", as in the papers.
    label_halflife_s
        Half-life in seconds of a change of label; 0 changes it at once.
    foot_ik
        Lock feet in contact. This changes the frames, not the inputs of the network.
    gating
        Whether frames contain the gating weights.
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
            raise ParameterError(
                f"feedback is 'pose' or 'prediction', not {self.feedback!r}",
                hint="give one of these two",
            )
        if not (math.isfinite(self.label_halflife_s) and self.label_halflife_s >= 0):
            raise ParameterError(f"label_halflife_s {self.label_halflife_s}: it must be 0 or more")
