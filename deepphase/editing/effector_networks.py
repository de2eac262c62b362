"""Networks from the paths of hands and feet to the motion of an editor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepphase.editing.config import EditorNetwork
from deepphase.editing.motion_rows import ROOT_VALUES, MotionSpace
from deepphase.editing.path_networks import CONTROL_FEATURES, control_network, in_hidden_range
from deepphase.formats.header_values import checked_mapping
from deepphase.motion.roles import find_roles

_ROLES = ("left_hand", "right_hand", "left_foot", "right_foot")


def effector_joints(space: MotionSpace) -> dict[str, int]:
    """Names of the hands and feet of a body that it has, and the point of each."""
    roles = find_roles(space.skeleton, space.description, clip=space.rest())
    points = {int(joint): point for point, joint in enumerate(space.points.point_joints)}
    place = {int(joint): points[index] for index, joint in enumerate(space.points.joints)}
    joints = [getattr(roles, role) for role in _ROLES]
    return {
        space.skeleton.names[joint]: place[joint]
        for joint in joints
        if joint is not None and joint in place
    }


@dataclass(frozen=True)
class EffectorLimits:
    """What paths of hands and feet the training clips cover.

    Parameters
    ----------
    joints
        Names of the hands and feet.
    speeds
        m/s: highest speed of each relative to the smoothed root, on the editor's body.
    reaches
        metres: farthest place of each from the floor under the hips.
    clips
        Number of clips.
    """

    joints: tuple[str, ...]
    speeds: tuple[float, ...]
    reaches: tuple[float, ...]
    clips: int

    @classmethod
    def from_mapping(cls, content: Any) -> EffectorLimits:
        """From the header of an editor's file. Raises KeyError, TypeError or ValueError."""
        values = checked_mapping(content, "effectors")
        joints = tuple(str(name) for name in values["joints"])
        speeds, reaches = (tuple(map(float, values[name])) for name in ("speeds", "reaches"))
        if not len(joints) == len(speeds) == len(reaches):
            raise ValueError(f"{len(joints)} effectors, {len(speeds)} speeds")
        return cls(joints, speeds, reaches, int(values["clips"]))


class EffectorNetworks(nn.Module):
    """Motion from the root's velocities and the places of some hands and feet.

    Convolutions lead to hidden units of the editor, which decode to a motion, and to a correction
    of it that has the full frame rate: blows are faster than a hidden frame.

    Parameters
    ----------
    values
        Values of the editor's rows.
    hidden
        Hidden units of the editor at each of its hidden frames.
    stride
        Frames of a hidden frame.
    config
        Network of the editor.
    limits
        Hands and feet, and how they move in the training clips.

    References
    ----------
    Holden 2017 (thesis), section 5.6: punches and kicks have the network of paths with other
    inputs. That some of the places may be unknown, and the correction, are ours.
    """

    velocity_scale: Tensor
    place_mean: Tensor
    place_scale: Tensor

    def __init__(
        self,
        values: int,
        hidden: int,
        stride: int,
        config: EditorNetwork,
        limits: EffectorLimits,
    ) -> None:
        super().__init__()
        self.stride, self.limits = stride, limits
        self._architecture = config.architecture
        count = len(limits.joints)
        self.control = control_network(ROOT_VALUES + 4 * count, hidden, stride, config.fps)
        self._reading = len(self.control) - 2
        self.correction = nn.Conv1d(
            CONTROL_FEATURES, values, 3, padding=1, padding_mode="replicate"
        )
        # Hands and feet are among the values of the rows.
        self.passing = nn.Conv1d(ROOT_VALUES + 4 * count, values, 1)
        for layer in (self.correction, self.passing):
            nn.init.zeros_(layer.weight)
        self.register_buffer("velocity_scale", torch.ones(ROOT_VALUES))
        self.register_buffer("place_mean", torch.zeros(3 * count))
        self.register_buffer("place_scale", torch.ones(()))

    def made(
        self,
        velocities: Tensor,
        places: Tensor,
        known: Tensor,
        decode: Callable[[Tensor], Tensor],
    ) -> Tensor:
        """(batch, values, frames) normalised rows of the editor, relative to the smoothed root.

        Parameters
        ----------
        velocities : (batch, 3, frames)
            Of the smoothed root, m/s and rad/s.
        places : (batch, 3 effectors, frames)
            Metres on the editor's body, relative to the smoothed root.
        known : (batch, effectors, frames)
            1 where a place is known, else 0.
        decode
            The decoder of the editor.
        """
        given = (places - self.place_mean[:, None]) / self.place_scale
        given = given * known.repeat_interleave(3, 1)
        values = torch.cat([velocities / self.velocity_scale[:, None], given, known], 1)
        features = self.control[: self._reading](values)  # (batch, width, frames)
        hidden = in_hidden_range(self.control[self._reading :](features), self._architecture)
        return decode(hidden) + self.correction(features) + self.passing(values)
