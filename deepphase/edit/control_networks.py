"""Networks that lead from paths, or from hands and feet, to the motion of an editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepphase.edit.config import EditorNetwork
from deepphase.edit.motion_rows import ROOT_VALUES, MotionSpace, RowLayout
from deepphase.edit.networks import MotionAutoencoder
from deepphase.motion.roles import find_roles

# Filters of the layers and seconds of their kernels (Holden et al. 2016 give 65 and 45 frames of
# the footsteps' kernels at 60 Hz; the others are those of their program).
_STEP_FILTERS, _STEP_KERNELS_S = 64, (65 / 60, 45 / 60)
_FILTERS, _KERNELS_S = (64, 128), (45 / 60, 25 / 60, 15 / 60)
_ROLES = ("left_hand", "right_hand", "left_foot", "right_foot")


@dataclass(frozen=True)
class PathLimits:
    """What paths the training clips cover.

    Parameters
    ----------
    speed
        m/s: highest speed of the smoothed root, on the editor's body.
    usual
        m/s: the median over frames that travel.
    labels
        Labels of the clips, as in ``{"style": ["normal"]}``; empty for all.
    """

    speed: float
    usual: float
    turn: float
    labels: dict[str, list[str]]
    clips: int


class PathNetworks(nn.Module):
    """Footsteps from a path, and hidden units from path and contacts.

    References
    ----------
    Holden 2017 (thesis), section 5.6, equations 5.4 to 5.9.
    """

    velocity_scale: Tensor
    step_mean: Tensor
    step_scale: Tensor

    def __init__(self, layout: RowLayout, config: EditorNetwork, limits: PathLimits) -> None:
        super().__init__()
        feet, fps = len(layout.group) - layout.root.stop, config.fps
        self.limits = limits
        steps = 1 + feet + 2 * (feet - 1)
        wide, narrow = (_odd(seconds * fps) for seconds in _STEP_KERNELS_S)
        self.steps = nn.Sequential(
            _layer(ROOT_VALUES, _STEP_FILTERS, wide),
            nn.ReLU(),
            _layer(_STEP_FILTERS, steps, narrow),
        )
        self.control = _control_network(ROOT_VALUES + feet, config)
        self.register_buffer("velocity_scale", torch.ones(ROOT_VALUES))
        self.register_buffer("step_mean", torch.zeros(steps))
        self.register_buffer("step_scale", torch.ones(steps))

    def footsteps(self, velocities: Tensor) -> Tensor:
        """(batch, steps, frames) normalised: rate, duties, then cosines and sines of offsets.

        Parameters
        ----------
        velocities : (batch, 3, frames)
            Of the smoothed root, m/s and rad/s.
        """
        return self.steps(velocities / self.velocity_scale[:, None])

    def hidden(self, velocities: Tensor, contacts: Tensor) -> Tensor:
        """(batch, hidden, frames / 4) hidden units of the editor.

        Parameters
        ----------
        velocities : (batch, 3, frames)
        contacts : (batch, feet, frames)
            1 on the floor, -1 off it.
        """
        values = torch.cat([velocities / self.velocity_scale[:, None], contacts], 1)
        return self.control(values)


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
    speeds
        m/s: highest speed of each relative to the smoothed root, on the editor's body.
    reaches
        metres: farthest place of each from the floor under the hips.
    """

    joints: tuple[str, ...]
    speeds: tuple[float, ...]
    reaches: tuple[float, ...]
    clips: int


class EffectorNetworks(nn.Module):
    """Motion from the root's velocities and the places of some hands and feet.

    Convolutions lead to hidden units of the editor, which decode to a motion, and to a correction
    of it that has the full frame rate: blows are faster than a hidden frame.

    References
    ----------
    Holden 2017 (thesis), section 5.6: punches and kicks have the network of paths with other
    inputs. That some of the places may be unknown, and the correction, are ours.
    """

    velocity_scale: Tensor
    place_mean: Tensor
    place_scale: Tensor

    def __init__(self, layout: RowLayout, config: EditorNetwork, limits: EffectorLimits) -> None:
        super().__init__()
        self.limits = limits
        values, count = len(layout.group), len(limits.joints)
        self.control = _control_network(ROOT_VALUES + 4 * count, config)
        self._reading = len(self.control) - 2
        self.correction = nn.Conv1d(_FILTERS[-1], values, 3, padding=1, padding_mode="replicate")
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
        """
        given = (places - self.place_mean[:, None]) / self.place_scale
        given = given * known.repeat_interleave(3, 1)
        values = torch.cat([velocities / self.velocity_scale[:, None], given, known], 1)
        features = self.control[: self._reading](values)  # (batch, width, frames)
        hidden = self.control[self._reading :](features)
        return decode(hidden) + self.correction(features) + self.passing(values)


def _control_network(inputs: int, config: EditorNetwork) -> nn.Sequential:
    """Layers from values (batch, inputs, frames) to hidden units of an editor.

    References
    ----------
    Holden 2017 (thesis), equation 5.4.
    """
    first, second, third = (_odd(seconds * config.fps) for seconds in _KERNELS_S)
    return nn.Sequential(
        _layer(inputs, _FILTERS[0], first),
        nn.ReLU(),
        _layer(_FILTERS[0], _FILTERS[1], second),
        nn.ReLU(),
        _layer(_FILTERS[1], config.hidden, third),
        nn.MaxPool1d(MotionAutoencoder.stride),
    )


def _layer(inputs: int, outputs: int, kernel: int) -> nn.Module:
    return nn.Conv1d(inputs, outputs, kernel, padding=kernel // 2, padding_mode="replicate")


def _odd(frames: float) -> int:
    return 2 * round((frames - 1) / 2) + 1


def _path_limits(values: Mapping[str, Any]) -> PathLimits:
    labels = {str(name): [str(v) for v in each] for name, each in values["labels"].items()}
    speed, usual, turn = (float(values[name]) for name in ("speed", "usual", "turn"))
    return PathLimits(speed, usual, turn, labels, int(values["clips"]))


def _effector_limits(values: Mapping[str, Any]) -> EffectorLimits:
    joints = tuple(str(name) for name in values["joints"])
    speeds, reaches = (tuple(map(float, values[name])) for name in ("speeds", "reaches"))
    if not len(joints) == len(speeds) == len(reaches):
        raise ValueError(f"{len(joints)} effectors, {len(speeds)} speeds")
    return EffectorLimits(joints, speeds, reaches, int(values["clips"]))


CONTROLS: dict[str, tuple[type[Any], Callable[[Mapping[str, Any]], Any]]] = {
    "path": (PathNetworks, _path_limits),
    "effectors": (EffectorNetworks, _effector_limits),
}
"""Name in an editor -> networks, and the function that reads their limits from a file's header."""
