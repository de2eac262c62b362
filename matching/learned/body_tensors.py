"""Forward kinematics of pose values on tensors, for the losses of the decompressor."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepphase.matching.learned.pose_values import PoseValues
from deepphase.matching.player.playback import Playback


class BodyTensors(nn.Module):
    """Positions and rotations of the body's joints in root space."""

    offsets: Tensor

    def __init__(self, values: PoseValues, playback: Playback) -> None:
        super().__init__()
        self._slices = values.slices
        body = list(values.body)
        place = {joint: index for index, joint in enumerate(body)}
        parents = [place.get(int(playback.skeleton.parents[joint]), -1) for joint in body]
        depths = [0] * len(body)
        for index, parent in enumerate(parents):
            depths[index] = 0 if parent < 0 else depths[parent] + 1
        # Joints of one depth at once: index of each, and of its parent.
        self._levels = [
            (
                [index for index, each in enumerate(depths) if each == depth],
                [parents[index] for index, each in enumerate(depths) if each == depth],
            )
            for depth in range(max(depths) + 1)
        ]
        translated = playback.translated_joints.tolist()
        self._moved = [place[translated[index]] for index in values.moved]
        offsets = torch.tensor(playback.skeleton.offsets[body], dtype=torch.float32)
        self.register_buffer("offsets", offsets, persistent=False)
        order = [index for level, _ in self._levels for index in level]
        self._back = [order.index(index) for index in range(len(body))]

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Pose values (..., dims) -> positions (..., body, 3) m, and axes (..., body, 3, 3)."""
        shape = values.shape[:-1]
        six = values[..., self._slices["rotations"]].reshape(*shape, -1, 6)
        local = axes_of_six(six)
        places = self.offsets.expand(*shape, -1, -1)
        moved = values[..., self._slices["translations"]].reshape(*shape, -1, 3)
        places = places.index_copy(
            -2, torch.tensor(self._moved, device=values.device), moved.to(places)
        )
        turns: list[Tensor] = []
        points: list[Tensor] = []
        where: dict[int, tuple[int, int]] = {}
        for level, (joints, parents) in enumerate(self._levels):
            turn, point = local[..., joints, :, :], places[..., joints, :]
            if level:
                above = [where[parent][1] for parent in parents]
                parent_turn, parent_point = turns[-1][..., above, :, :], points[-1][..., above, :]
                # Columns are axes: a parent's matrix stands on the left.
                point = parent_point + (parent_turn @ point[..., None])[..., 0]
                turn = parent_turn @ turn
            turns.append(turn)
            points.append(point)
            where |= {joint: (level, index) for index, joint in enumerate(joints)}
        return (
            torch.cat(points, -2)[..., self._back, :],
            torch.cat(turns, -3)[..., self._back, :, :],
        )


def axes_of_six(six: Tensor) -> Tensor:
    """(..., 6) rotated x and y axes, not exactly orthonormal -> rotation matrices (..., 3, 3)."""
    x = functional.normalize(six[..., :3], dim=-1, eps=1e-6)
    y = six[..., 3:]
    y = functional.normalize(y - (x * y).sum(-1, keepdim=True) * x, dim=-1, eps=1e-6)
    return torch.stack([x, y, torch.linalg.cross(x, y)], -1)
