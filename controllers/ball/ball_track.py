"""Ball of a clip: its motion, its touches, and how plausible they are."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.ball import Ball

# Metres by which a ball may be pressed into the ground, or a capture may be wrong.
_UNDER_M = 0.05


@dataclass(frozen=True, eq=False)
class BallTouches:
    """Touches of a ball by feet."""

    frames: Array  # (touches,) int, rising
    feet: tuple[str, ...]  # (touches,) name of the foot's joint
    impulses: Array  # (touches, 3) N s
    # (touches,) speed at which ball and foot part as a share of that at which they met; below 0
    # where the foot yields.
    restitutions: Array

    def __post_init__(self) -> None:
        shapes = (self.frames.shape, self.impulses.shape, self.restitutions.shape)
        count = len(self.feet)
        if shapes != ((count,), (count, 3), (count,)):
            raise ParameterError(
                f"touches of {count} feet have arrays of shapes {shapes}",
                hint="give (touches,) frames and restitutions, and (touches, 3) impulses",
            )

    def __len__(self) -> int:
        return len(self.feet)


@dataclass(frozen=True, eq=False)
class BallTrack:
    """The ball of a clip, in the clip's places; the clip's floor is at height 0."""

    clip: str
    fps: float  # Frames per second
    # positions, velocities: (frames, 3) metres and m/s.
    positions: Array
    velocities: Array
    # (frames,) from 0 to 1: how well the ball's motion until its next touch, with that touch,
    # follows from physics and what a foot gives. 1 for captured balls.
    plausible: Array
    touches: BallTouches
    ball: Ball = field(default_factory=Ball)
    # Whether the ball was captured with the motion; otherwise it was fitted to it.
    captured: bool = False

    def __post_init__(self) -> None:
        frames = len(self.positions)
        shapes = (self.positions.shape, self.velocities.shape, self.plausible.shape)
        if frames == 0 or shapes != ((frames, 3), (frames, 3), (frames,)):
            raise ParameterError(f"{self.clip}: a ball with arrays {shapes} is not possible")
        if not all(
            np.isfinite(each).all() for each in (self.positions, self.velocities, self.plausible)
        ):
            raise ParameterError(f"{self.clip}: values of the ball are not finite")
        if len(self.touches) and not (
            self.touches.frames.min() >= 0 and self.touches.frames.max() < frames
        ):
            raise ParameterError(
                f"{self.clip}: a touch of the ball is outside of its {frames} frames"
            )
        check_over_floor(self.positions[:, 1], self.ball, self.clip)

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def touches_per_second(self) -> float:
        """Touches a second."""
        return len(self.touches) * self.fps / len(self)

    def mirrored(self) -> BallTrack:
        """The ball of the clip's mirror image, without the names of the feet."""
        flip = np.array([-1.0, 1.0, 1.0])
        touches = replace(self.touches, impulses=self.touches.impulses * flip)
        return replace(
            self,
            positions=self.positions * flip,
            velocities=self.velocities * flip,
            touches=touches,
        )


def check_over_floor(heights: Array, ball: Ball, name: str) -> None:
    """Raise ParameterError if a ball is under a floor at 0; heights (frames,) of its centre."""
    under = np.flatnonzero(heights < ball.radius_m - _UNDER_M)
    if under.size:
        frame = int(under[0])
        raise ParameterError(
            f"{name}: the ball is under the floor: its centre is {heights[frame]:.3f} m over it at "
            f"frame {frame}, and its radius is {ball.radius_m:g} m",
            hint="check the unit, the up axis and the radius (--radius)",
        )


def ball_as_mapping(ball: Ball) -> dict[str, object]:
    """Plain values of a ball, for files."""
    return asdict(ball) | {"slope": list(ball.slope)}
