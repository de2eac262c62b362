"""Ball of a clip: its motion and touches, their file, and the balls of the clips of a store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.config import checked_text, checked_texts
from deepphase.errors import ParameterError
from deepphase.formats.array_file import checked_rate, fitting_parts, read_arrays, write_arrays
from deepphase.motion.ball import Ball
from deepphase.motion.clip import Clip

FORMAT, VERSION, SUFFIX = "deepphase.ball", 1, ".ball"
_TYPES = {"touch_frames": "I64", "*": "F64"}
IMPLAUSIBLE = 0.1
"""Frames whose ball is less plausible than this are not learnt from."""
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
            np.isfinite(part).all() for part in (self.positions, self.velocities, self.plausible)
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


def save_ball(track: BallTrack, path: str | Path) -> None:
    """Write the ball of a clip; the file's name ends in .ball."""
    path = Path(path)
    if path.suffix != SUFFIX:
        raise ParameterError(
            f"balls are saved as {SUFFIX}, not {path.suffix!r}",
            hint=f"give a file name that ends in {SUFFIX}",
        )
    arrays = {
        "positions": track.positions.astype(np.float64),
        "velocities": track.velocities.astype(np.float64),
        "plausible": track.plausible.astype(np.float64),
        "touch_frames": track.touches.frames.astype(np.int64),
        "touch_impulses": track.touches.impulses.astype(np.float64),
        "touch_restitutions": track.touches.restitutions.astype(np.float64),
    }
    header = {
        "clip": track.clip,
        "fps": track.fps,
        "ball": asdict(track.ball),
        "touch_feet": list(track.touches.feet),
        "captured": track.captured,
    }
    write_arrays(path, arrays, header, format=FORMAT, version=VERSION)


def load_ball(path: str | Path) -> BallTrack:
    """Read a ball of `save_ball`."""
    arrays, header = read_arrays(path, format=FORMAT, version=VERSION, types=_TYPES)
    with fitting_parts("ball of a clip", "make it with `deepphase fit ball`", path):
        touches = BallTouches(
            arrays["touch_frames"],
            checked_texts(header["touch_feet"], "touch_feet"),
            arrays["touch_impulses"],
            arrays["touch_restitutions"],
        )
        return BallTrack(
            checked_text(header["clip"], "clip"),
            checked_rate(header["fps"]),
            arrays["positions"],
            arrays["velocities"],
            arrays["plausible"],
            touches,
            Ball.from_mapping(header["ball"]),
            bool(header["captured"]),
        )


class ClipBalls:
    """Balls of the clips of a store, by the clips' names."""

    def __init__(self, tracks: Iterable[BallTrack]) -> None:
        self._of_clip: dict[str, BallTrack] = {}
        for track in tracks:
            if track.clip in self._of_clip:
                raise ParameterError(
                    f"there are two balls of the clip {track.clip!r}",
                    hint="leave out one of their files",
                )
            self._of_clip[track.clip] = track
        first = next(iter(self._of_clip.values()), None)
        self.ball = Ball() if first is None else first.ball
        for track in self._of_clip.values():
            if track.ball != self.ball:
                raise ParameterError(
                    f"the balls of {first.clip if first else ''!r} and {track.clip!r} have "
                    "different properties",
                    hint="fit all of them with the same options",
                )

    def __len__(self) -> int:
        return len(self._of_clip)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the clips that have a ball."""
        return tuple(self._of_clip)

    @property
    def tracks(self) -> tuple[BallTrack, ...]:
        """The balls."""
        return tuple(self._of_clip.values())

    @classmethod
    def read(cls, paths: Iterable[str | Path]) -> ClipBalls:
        """The balls in files and folders of `deepphase fit ball`."""
        files: list[Path] = []
        for path in map(Path, paths):
            files += sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not files:
            raise ParameterError(
                f"there is no ball ({SUFFIX})",
                hint="make it with `deepphase fit ball STORE -o FOLDER`",
            )
        return cls(map(load_ball, files))

    def of_clip(self, clip: Clip, *, mirrored: bool = False) -> BallTrack | None:
        """The ball of a clip, or of its mirror image; None if it has none."""
        track = self._of_clip.get(clip.name)
        if track is None:
            return None
        if len(track) != len(clip) or abs(track.fps - clip.fps) > 1e-6 * clip.fps:
            raise ParameterError(
                f"{clip.name}: a ball of {len(track)} frames at {track.fps:g} a second, the clip "
                f"has {len(clip)} at {clip.fps:g}",
                hint="fit the balls to the store itself",
            )
        return track.mirrored() if mirrored else track


def ball_measures(balls: ClipBalls) -> dict[str, Any]:
    """Measures of balls for controllers: their properties, and how they are touched."""
    frames = sum(map(len, balls.tracks))
    seconds = sum(len(track) / track.fps for track in balls.tracks)
    speeds = np.concatenate(
        [np.sqrt(np.square(track.velocities).sum(axis=1)) for track in balls.tracks]
    )
    return {
        "ball": asdict(balls.ball),
        "touches_per_second": sum(len(track.touches) for track in balls.tracks) / seconds,
        "speed_95": float(np.percentile(speeds, 95)),
        "frames": frames,
    }


def as_row(track: BallTrack) -> list[Any]:
    """A ball in a table: clip, touches a second, metres from rest, and how plausible it is."""
    speed = np.sqrt(np.square(track.velocities).sum(axis=1))
    return [
        track.clip,
        f"{track.touches_per_second:.2f}",
        f"{speed.mean():.2f}",
        f"{track.plausible.mean():.2f}",
        f"{(track.plausible < IMPLAUSIBLE).mean():.0%}",
    ]
