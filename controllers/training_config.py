"""What a recipe says of a controller's training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from deepphase.errors import ParameterError

Schedule = Literal["cosine", "restarts", "constant"]
EndsRule = Literal["auto", "left_out", "continued"]


@dataclass(frozen=True)
class ControllerTraining:
    """How a controller is trained.

    Parameters
    ----------
    samples
        Pairs of frames shown in all; 0 means `epochs` times all pairs of the training clips.
    epochs
        Passes over all pairs, where `samples` is 0. PFNN's paper has 20, DeepPhase 150.
    batch_size
        Pairs a step (on each device). The papers have 32.
    sequence_frames
        Frames in a row that recurrent networks are shown; their batch has as many pairs in all.
    own_frames
        Frames in a row over which other networks are trained: from the second on each sees the
        pose, the trajectory ahead and the phases that it gave itself, and learns to come back.
        1 trains on pairs of recorded frames alone, as the papers do.
    learning_rate, weight_decay
        Of AdamW. The papers have 1e-4.
    schedule
        "cosine": a linear warm-up over the first `warmup` of the training, then a cosine down to
        `final_rate`; "restarts": a cosine to 0 over `restart_epochs`, again and again, each
        `restart_factor` times as long (AdamWR); "constant".
    warmup, final_rate
        Shares of the training and of the highest learning rate.
    restart_epochs, restart_factor
        Of the schedule "restarts"; DeepPhase's are 10 and 2.
    weight_magnitude
        Weight of the mean |weight| in the loss; PFNN's paper has 0.01.
    pose_noise
        Standard deviation of noise on the pose's inputs, as a share of their own: it teaches a
        network to come back from errors of its own, which frames of clips do not.
    mirror
        Whether the mirror image of every clip is learnt from as well.
    ends
        Frames whose trajectory or phase window reaches past an end of their clip are "left_out",
        or the trajectory is "continued" straight on; "auto" continues where more than half of
        the frames would be left out.
    held_out
        Share of the files kept out of training, to measure on.
    seed
        Of the initial weights, the order of the pairs and the noise.
    split_seed
        Of what is held out.
    """

    samples: int = 1_500_000
    epochs: float = 20.0
    batch_size: int = 256
    sequence_frames: int = 16
    own_frames: int = 1
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    schedule: Schedule = "cosine"
    warmup: float = 0.02
    final_rate: float = 0.01
    restart_epochs: float = 10.0
    restart_factor: float = 2.0
    weight_magnitude: float = 0.0
    pose_noise: float = 0.0
    mirror: bool = False
    ends: EndsRule = "auto"
    held_out: float = 0.1
    seed: int = 0
    split_seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch_size", "sequence_frames", "own_frames"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} must be positive, not {getattr(self, name)}")
        if self.samples < 0 or not (self.samples or self.epochs > 0):
            raise ParameterError("either samples or epochs must be positive")
        if not 0 < self.learning_rate < 1:
            raise ParameterError(f"a learning_rate of {self.learning_rate}")
        for name in ("weight_decay", "warmup", "held_out"):
            if not 0 <= getattr(self, name) < 1:
                raise ParameterError(f"{name} must lie in 0 to 1, not {getattr(self, name)}")
        if not 0 < self.held_out < 0.9:
            raise ParameterError(f"held_out must lie in 0 to 0.9, not {self.held_out}")
        if not 0 <= self.final_rate <= 1:
            raise ParameterError(f"final_rate must lie in 0 to 1, not {self.final_rate}")
        for name in ("weight_magnitude", "pose_noise"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ParameterError(f"{name} must not be negative, not {getattr(self, name)}")
        if not (self.restart_epochs > 0 and self.restart_factor >= 1):
            raise ParameterError("restart_epochs must be positive, restart_factor at least 1")
        for name, kind in (("schedule", Schedule), ("ends", EndsRule)):
            if getattr(self, name) not in get_args(kind):
                raise ParameterError(
                    f"{name} {getattr(self, name)!r}", hint=f"one of {', '.join(get_args(kind))}"
                )
        for name in ("seed", "split_seed"):
            if not 0 <= getattr(self, name) < 2**31:
                raise ParameterError(f"{name} must lie in 0 to 2147483647")
