"""Settings of characters at run time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from deepphase.arrays import brief_repr
from deepphase.config import ABOVE_0, require_in, require_one_of

Feedback = Literal["pose", "prediction"]
BLENDS = {"natural": (0.5, 2.0), "balanced": (2.0, 5.0), "responsive": (5.0, 10.0)}
"""Name -> (position bias, direction bias): weight of the goals against the prediction.

Those of Holden, Komura and Saito (2017)."""


@brief_repr
@dataclass(frozen=True)
class CharacterSettings:
    """Settings of characters at run time.

    Parameters
    ----------
    position_bias, direction_bias
        Weight of the goals against the prediction in the future trajectory: one of the pairs of
        `BLENDS`, or others. With the balanced one, the default, people and dogs keep their speed
        and path twice as well as with the natural one, and move as the data do.
    feedback
        Joint positions in the next inputs: those of the "pose", with the skeleton's limb lengths,
        or the network's own "prediction", as in the papers.
    adjust_share
        Maximum correction of the root of a body on two feet towards its place on a path, as a share
        of its own speed and turn; 0 corrects nothing. Networks overrun corners.
    label_halflife_s
        Half-life in seconds of a change of label; 0 changes it at once.
    detail
        Whether captured detail is added, where the controller has some; see `DetailRows`.
    foot_ik
        Lock feet in contact. This changes the frames, not the inputs of the network.
    gating
        Whether frames contain the gating weights.
    """

    position_bias: float = BLENDS["balanced"][0]
    direction_bias: float = BLENDS["balanced"][1]
    feedback: Feedback = "pose"
    adjust_share: float = 0.2
    label_halflife_s: float = 0.1
    detail: bool = True
    foot_ik: bool = True
    gating: bool = True

    def __post_init__(self) -> None:
        require_in(
            self, position_bias=(ABOVE_0, 1e9), direction_bias=(ABOVE_0, 1e9), adjust_share=(0, 1),
            label_halflife_s=(0, 1e9),
        )  # fmt: skip
        require_one_of(self, feedback=Feedback)
