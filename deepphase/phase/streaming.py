"""Phases of frames as they arrive: those of the window that ends with the newest frame, advanced.

The sinusoids of a window hold for its middle, and phase += frequency * seconds gives those of any
moment since. A later answer has a smaller error: half a window later, the middle itself is meant.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.formats.reading import LARGEST_LENGTH_M
from deepphase.motion.clip import velocities
from deepphase.motion.roles import Roles
from deepphase.motion.root_trajectory import (
    FACING_SMOOTHING_S,
    RootTrajectory,
    facing_angles,
    velocities_in_root_space,
)
from deepphase.phase.encoding import encode_windows
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.signals import JointVelocities

# Standard deviations of the facing's smoothing after which a facing has settled.
_SETTLED = 5.0


class PhaseStream:
    """Phases of frames as they arrive, at the model's rate.

    Only the last seconds are kept: an hour of frames ends as exactly as it begins.

    Parameters
    ----------
    model
        A phase model of the joints of one skeleton.
    names
        Names of the joints of the frames, in their order; the model may read fewer.
    lag_s
        Seconds that the phases are behind the newest frame, 0 or more.

    Raises
    ------
    ParameterError
        If the model reads songs or any skeleton, or the lag is negative.
    SkeletonError
        If a joint that the model reads is missing, or the body has neither two hips nor two
        shoulders, so that its facing is not known without the future.
    """

    def __init__(self, model: PhaseModel, names: Sequence[str], *, lag_s: float = 0.0) -> None:
        signals = model.signals
        if not isinstance(signals, JointVelocities):
            raise ParameterError(
                "this phase model cannot be streamed",
                hint="choose a model of motion, bound to one skeleton",
            )
        if not (math.isfinite(lag_s) and lag_s >= 0):
            raise ParameterError(f"lag_s must not be negative, not {lag_s}")
        self._model, self._joints = model, len(names)
        self._order = [_index(names, joint) for joint in signals.joints]
        body = dict(signals.body)
        kind = body.pop("kind", "other")
        places: Any = {role: _index(names, name) for role, name in body.items()}
        self._roles = Roles(pairs=np.zeros(0), kind=kind, **places)
        if not (self._roles.both("hip") or self._roles.both("shoulder")):
            raise SkeletonError(
                "the body has neither two hips nor two shoulders: its facing needs the whole clip",
                hint="encode finished clips with `deepphase encode`",
            )
        behind, half = round(lag_s * model.fps), model.window // 2
        # Frames after the window, and seconds from its middle to the moment that is asked for.
        self._after = max(behind - half, 0)
        self._ahead_s = max(half - behind, 0) / model.fps
        settling = math.ceil(_SETTLED * FACING_SMOOTHING_S * model.fps)
        self._frames: deque[Array] = deque(maxlen=model.window + self._after + settling)

    def reset(self) -> None:
        """Forget all frames, as between two motions."""
        self._frames.clear()

    def push(self, positions: Array) -> PhaseParameters | None:
        """Take the next frame.

        Parameters
        ----------
        positions : (joints, 3)
            Metres, Y up, in the order of `names`.

        Returns
        -------
        Phase, frequency, amplitude and offset, (channels,) each, `lag_s` behind this frame; None
        until a window and its lag have arrived.

        Raises
        ------
        ParameterError
            If the shape is another, or a value is not finite or beyond 1,000 km; the frame is then
            not taken.
        """
        frame = np.asarray(positions, np.float64)
        if frame.shape != (self._joints, 3):
            raise ParameterError(f"a frame has shape {frame.shape}, expected ({self._joints}, 3)")
        if not np.abs(frame).max(initial=0.0) <= LARGEST_LENGTH_M:
            raise ParameterError(
                "this frame has positions that are not finite, or beyond 1,000 km",
                hint="leave it out",
            )
        self._frames.append(frame)
        model = self._model
        if len(self._frames) < model.window + self._after + 1:
            return None
        frames = np.stack(self._frames)
        angles = facing_angles(frames, self._roles, model.fps)
        root = RootTrajectory.from_ground(frames[:, self._roles.hips, ::2], angles)
        moving = velocities_in_root_space(velocities(frames[:, self._order], model.fps), root)
        stop = len(frames) - self._after
        window = moving[stop - model.window : stop].reshape(model.window, -1).astype(np.float32)
        return encode_windows(model.network, window, np.zeros(1, np.int64))[0].advanced(
            self._ahead_s
        )


def _index(names: Sequence[str], joint: str) -> int:
    if joint not in names:
        raise SkeletonError(
            f"another skeleton: it has no joint {joint!r}",
            hint=f"the frames have {', '.join(names)}",
        )
    return list(names).index(joint)
