"""Networks of motion: an autoencoder, and what leads from paths, hands and feet to its motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepphase.edit.config import EditorNetwork
from deepphase.edit.motion_rows import ROOT_VALUES, RowLayout

# Filters of the layers and seconds of their kernels (Holden et al. 2016 give 65 and 45 frames of
# the footsteps' kernels at 60 Hz; the others are those of their program).
_STEP_FILTERS, _STEP_KERNELS_S = 64, (65 / 60, 45 / 60)
_FILTERS, _KERNELS_S = (64, 128), (45 / 60, 25 / 60, 15 / 60)


class MotionAutoencoder(nn.Module):
    """An autoencoder of rows (batch, values, frames) that reads which values are known."""

    # Frames of one hidden frame, of which all inputs have a multiple
    stride = 4

    def __init__(self, values: int, groups: int, config: EditorNetwork) -> None:
        super().__init__()
        width, hidden, kernel = config.width, config.hidden, config.kernel
        self.reading = _layer(values + groups, width, kernel)
        self.encoder = nn.Sequential(
            nn.ELU(),
            _layer(width, width, kernel, 2),
            nn.ELU(),
            _layer(width, hidden, kernel, 2),
            *(_Residual(hidden, dilation) for dilation in (1, 2, 4)),
        )
        self.decoder = nn.Sequential(
            _Residual(hidden, 1),
            nn.Upsample(scale_factor=2.0, mode="linear"),
            _layer(hidden, width, kernel),
            nn.ELU(),
            nn.Upsample(scale_factor=2.0, mode="linear"),
            _layer(width, width, kernel),
            nn.ELU(),
        )
        self.writing = _layer(width, values, 3)
        self.correction = _layer(2 * width, values, 3)

    def encode(self, rows: Tensor, known: Tensor) -> Tensor:
        """Hidden units (batch, hidden, frames / stride) of normalised rows, filled in.

        `known` (batch, groups, frames) is 1 for known values, 0.5 for noisy ones, else 0.
        """
        return self.encoder(self._read(rows, known))

    def decode(self, hidden: Tensor) -> Tensor:
        """(batch, values, frames) normalised rows of hidden units."""
        return self.writing(self.decoder(hidden))

    def forward(self, rows: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """Estimates of all values of rows, and rows decoded from the hidden units alone."""
        details = self._read(rows, known)
        features = self.decoder(self.encoder(details))  # (batch, width, frames)
        corrected = rows + self.correction(torch.cat([features, functional.elu(details)], 1))
        return corrected, self.writing(features)

    def _read(self, rows: Tensor, known: Tensor) -> Tensor:
        return self.reading(torch.cat([rows, known - 0.5], 1))


class _Residual(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.wide = nn.Conv1d(
            width, width, 3, padding=dilation, dilation=dilation, padding_mode="replicate"
        )
        self.point = nn.Conv1d(width, width, 1)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + self.point(functional.elu(self.wide(functional.elu(hidden))))


@dataclass(frozen=True)
class PathLimits:
    """What paths the training clips cover."""

    # Of the smoothed root on the editor's body: highest speed in m/s, its median over frames that
    # travel, and highest turn in rad/s
    speed: float
    usual: float
    turn: float
    clips: int


class PathNetworks(nn.Module):
    """Footsteps from velocities (batch, 3, frames) of the smoothed root, hidden units from both.

    Holden 2017 (thesis), section 5.6, equations 5.4 to 5.9.
    """

    limits_kind = PathLimits
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
        """(batch, steps, frames) normalised: rate, duties, then cosines and sines of offsets."""
        return self.steps(velocities / self.velocity_scale[:, None])

    def hidden(self, velocities: Tensor, contacts: Tensor) -> Tensor:
        """(batch, hidden, frames / 4) units of the editor; contacts are 1 on the floor, else -1."""
        return self.control(torch.cat([velocities / self.velocity_scale[:, None], contacts], 1))


@dataclass(frozen=True)
class EffectorLimits:
    """What paths of hands and feet the training clips cover."""

    joints: tuple[str, ...]
    # m/s: highest speed of each relative to the smoothed root, on the editor's body
    speeds: tuple[float, ...]
    # Metres: farthest place of each from the floor under the hips
    reaches: tuple[float, ...]
    clips: int

    def __post_init__(self) -> None:
        if not len(self.joints) == len(self.speeds) == len(self.reaches):
            raise ValueError(f"{len(self.joints)} effectors, {len(self.speeds)} speeds")


class EffectorNetworks(nn.Module):
    """Motion from the root's velocities and the places of some hands and feet.

    As of paths (Holden 2017, 5.6), with a correction at the full frame rate: blows are fast.
    """

    limits_kind = EffectorLimits
    velocity_scale: Tensor
    place_mean: Tensor
    place_scale: Tensor

    def __init__(self, layout: RowLayout, config: EditorNetwork, limits: EffectorLimits) -> None:
        super().__init__()
        self.limits = limits
        values, count = len(layout.group), len(limits.joints)
        self.control = _control_network(ROOT_VALUES + 4 * count, config)
        self._reading = len(self.control) - 2
        self.correction = _layer(_FILTERS[-1], values, 3)
        # Hands and feet are among the values of the rows.
        self.passing = nn.Conv1d(ROOT_VALUES + 4 * count, values, 1)
        for layer in (self.correction, self.passing):
            nn.init.zeros_(layer.weight)
        self.register_buffer("velocity_scale", torch.ones(ROOT_VALUES))
        self.register_buffer("place_mean", torch.zeros(3 * count))
        self.register_buffer("place_scale", torch.ones(()))

    def motion(
        self, velocities: Tensor, places: Tensor, known: Tensor, decode: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """(batch, values, frames) normalised rows of the editor, relative to the smoothed root.

        Places (batch, 3 effectors, frames) are metres on the editor's body, relative to that root,
        and `known` (batch, effectors, frames) is 1 or 0; `decode` is the editor's.
        """
        values = (places - self.place_mean[:, None]) / self.place_scale
        values = values * known.repeat_interleave(3, 1)
        values = torch.cat([velocities / self.velocity_scale[:, None], values, known], 1)
        features = self.control[: self._reading](values)  # (batch, width, frames)
        hidden = self.control[self._reading :](features)
        return decode(hidden) + self.correction(features) + self.passing(values)


CONTROLS: dict[str, type[PathNetworks] | type[EffectorNetworks]] = {
    "path": PathNetworks,
    "effectors": EffectorNetworks,
}
"""Name in an editor -> networks."""


def _control_network(inputs: int, config: EditorNetwork) -> nn.Sequential:
    """Layers from values (batch, inputs, frames) to hidden units (Holden 2017, equation 5.4)."""
    first, second, third = (_odd(seconds * config.fps) for seconds in _KERNELS_S)
    return nn.Sequential(
        _layer(inputs, _FILTERS[0], first),
        nn.ReLU(),
        _layer(_FILTERS[0], _FILTERS[1], second),
        nn.ReLU(),
        _layer(_FILTERS[1], config.hidden, third),
        nn.MaxPool1d(MotionAutoencoder.stride),
    )


def _layer(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv1d:
    return nn.Conv1d(inputs, outputs, kernel, stride, kernel // 2, padding_mode="replicate")


def _odd(frames: float) -> int:
    return 2 * round((frames - 1) / 2) + 1
