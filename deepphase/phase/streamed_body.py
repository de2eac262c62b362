"""Joints that a stream of positions has, in the order of a phase model, and the body's facing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import SkeletonError
from deepphase.phase.signals import JointVelocities


class StreamedBody:
    """Where a phase model's joints stand in the frames of a stream.

    Parameters
    ----------
    names
        Names of the joints of the frames, in their order.
    signals
        Signals of the phase model.

    Attributes
    ----------
    order
        (joints,) index in a frame of each joint that the model reads.

    Raises
    ------
    SkeletonError
        If a joint that the model reads is missing, or the body has neither two hips nor two
        shoulders, so that its facing is not known without the future.
    """

    def __init__(self, names: Sequence[str], signals: JointVelocities) -> None:
        self.order = [_place(names, joint) for joint in signals.joints]
        self._lines = _facing_lines(names, signals)
        self._along_trunk = signals.body.get("kind") == "quadruped" and len(self._lines) == 2

    def facing(self, positions: Array) -> Array:
        """(..., 3) vectors of the facing on the ground, of (..., joints, 3); see `root_trajectory`.

        Their length says how well the facing is defined.
        """
        lines = [positions[..., left, :] - positions[..., right, :] for left, right in self._lines]
        across = sum(lines[1:], lines[0]) / len(lines)
        facing = np.zeros_like(across)
        facing[..., 0], facing[..., 2] = -across[..., 2], across[..., 0]
        if self._along_trunk:
            hips, shoulders = (positions[..., list(pair), :].mean(-2) for pair in self._lines)
            facing += (shoulders - hips) * (1.0, 0.0, 1.0)
        return facing


def _place(names: Sequence[str], joint: str) -> int:
    if joint not in names:
        raise SkeletonError(
            f"another skeleton: it has no joint {joint!r}",
            hint=f"the frames have {', '.join(names)}",
        )
    return list(names).index(joint)


def _facing_lines(names: Sequence[str], signals: JointVelocities) -> list[tuple[int, int]]:
    """Joints left and right of the hips and of the shoulders, where the body has both."""
    lines = []
    for part in ("hip", "shoulder"):
        left, right = (signals.body.get(f"{side}_{part}") for side in ("left", "right"))
        if left is not None and right is not None:
            lines.append((_place(names, left), _place(names, right)))
    if not lines:
        raise SkeletonError(
            "the body has neither two hips nor two shoulders: its facing needs the whole clip",
            hint="encode finished clips with `deepphase encode`",
        )
    return lines
