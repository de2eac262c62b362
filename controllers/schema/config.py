"""Config of a controller's inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from deepphase.arrays import brief_repr
from deepphase.config import ABOVE_0, require_in, require_one_of
from deepphase.errors import ParameterError
from deepphase.features.feature import TRAJECTORY_BLOCKS

Predicts = Literal["future", "all"]
Gate = Literal["phase", "manifold", "feet", "goal", "none"]
GATES_OF_PHASES = ("phase", "manifold")
# lmp is the mixture of experts with the phases of a contact phase model.
SHIPPED_NETWORKS: dict[str, tuple[Gate, str]] = {
    "pfnn": ("phase", "pfnn:Pfnn"),
    "experts": ("manifold", "experts:Experts"),
    "mann": ("feet", "experts:Experts"),
    "lmp": ("manifold", "experts:Experts"),
    "no_phase": ("goal", "experts:Experts"),
    "vinn": ("phase", "variational:Variational"),
    "nn": ("none", "baselines:Plain"),
    "nn_phase": ("phase", "baselines:Plain"),
    "erd": ("none", "baselines:Recurrent"),
    "erd_phase": ("phase", "baselines:Recurrent"),
    "gp": ("phase", "gaussian_process:GaussianProcess"),
    "pfgp": ("phase", "gaussian_process:GaussianProcess"),
}
"""Name -> what the weights depend on, and module and class in `networks`, without torch.

The class of the config is in the same module, with Config behind the name.
"""
CYCLES_UNIT = "cycles"
"""Unit of cyclic blocks, which are not normalised."""
POSE_BLOCKS = ("joint_position", "joint_velocity", "joint_rotation")
PHASE_BLOCKS = ("phase", "phase_rate", "phase_manifold", "phase_frequency", "phase_amplitude")
TRAJECTORY_HEIGHT = "trajectory_height"
BALL_BLOCKS = ("ball_position", "ball_velocity")
"""Blocks of a ball, (x, y, z) at every offset."""
AUTO, NO_LABEL = "auto", "none"
"""Values of `SchemaConfig.label` that are not names of labels."""
_OWN_BLOCKS = (
    *(*TRAJECTORY_BLOCKS, TRAJECTORY_HEIGHT),
    *(*POSE_BLOCKS, "foot_velocity"),
    *("root_velocity", "root_turn", "contact", *PHASE_BLOCKS, *BALL_BLOCKS),
)
_MAX_SAMPLES, _MAX_STEP_S = 200, 5.0


@brief_repr
@dataclass(frozen=True)
class SchemaConfig:
    """Inputs and outputs of the controller.

    Parameters
    ----------
    past_samples
        Number of trajectory samples before the current frame. DeepPhase and PFNN have 6.
    future_samples
        Number of trajectory samples after the current frame. DeepPhase has 6, PFNN 5.
    step_s
        Time between two trajectory samples in seconds. DeepPhase has 1/6 s.
    predicts
        Trajectory samples among the outputs: "future" (the current frame and later), or "all".
    trajectory_velocity
        Whether the velocities of the trajectory samples are inputs.
    input_rotation
        Whether the joint rotations are inputs.
    pose_weight
        Weight of the pose relative to the trajectory in the inputs; PFNN has 0.1.
    pose_residual
        Share of the current pose that the next one is predicted relative to: 0 predicts the pose
        itself, as the papers do, and 1 its change. Poses that are predicted by their change alone
        drift; with a share below 1, what is carried over fades away.
    heights
        Whether the heights of the ground left, below and right of the trajectory samples are
        inputs, as in PFNN.
    ball
        Whether positions and velocities of a ball at the trajectory's times are inputs, and those
        from now on are outputs.
    label
        Label of the clips to steer by, such as style; "none" or an empty text for none. With
        "auto", training takes the label style or gait where enough clips have each of its values,
        see `deepphase.controllers.data.label_choice`.
    tracks
        Per-frame tracks of the motion that are inputs, such as music.
    phase_channel
        Channel of the phase model that gates a network with one phase. If None, training chooses
        the channel that predicts the pose best.
    """

    past_samples: int = 6
    future_samples: int = 6
    step_s: float = 1.0 / 6.0
    predicts: Predicts = "future"
    trajectory_velocity: bool = True
    input_rotation: bool = True
    pose_weight: float = 1.0
    pose_residual: float = 0.0
    heights: bool = False
    ball: bool = False
    label: str = AUTO
    tracks: tuple[str, ...] = ()
    phase_channel: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tracks", tuple(self.tracks))
        if self.label == NO_LABEL:
            object.__setattr__(self, "label", "")
        require_in(
            self, past_samples=(0, _MAX_SAMPLES), future_samples=(1, _MAX_SAMPLES),
            step_s=(ABOVE_0, _MAX_STEP_S), pose_weight=(ABOVE_0, 1e9), pose_residual=(0, 1),
            phase_channel=(0, 1e9),
        )  # fmt: skip
        require_one_of(self, predicts=Predicts)
        named = [*self.tracks, self.label]
        for name in named:
            if name in _OWN_BLOCKS or (name and named.count(name) > 1):
                raise ParameterError(
                    f"two input blocks have the name {name!r}", hint="rename the label or the track"
                )

    @property
    def offsets_s(self) -> tuple[float, ...]:
        """Times of the trajectory's samples in seconds from the frame, 0 among them."""
        steps = range(-self.past_samples, self.future_samples + 1)
        # Rounded, so that files store them exactly.
        return tuple(round(step * self.step_s, 6) for step in steps)

    @property
    def later_s(self) -> tuple[float, ...]:
        """The offsets from 0 on."""
        return tuple(offset for offset in self.offsets_s if offset >= 0.0)
