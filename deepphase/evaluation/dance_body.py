"""The body in a dance: its points, foot contact, standing, broken motion and bandwidth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import welch

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.evaluation.runs import foot_speeds
from deepphase.motion.roles import Roles

_SIDED = ("hip", "knee", "foot", "toe", "shoulder", "elbow", "hand")
_NEEDED = ("hip", "knee", "foot", "shoulder", "elbow", "hand")
# The rate of the motion that physical foot contact was published for: its unit.
_PFC_FPS = 30.0
_PFC_SCALE = 1e4
# Seconds over which a dance is asked whether it moves.
MOVING_S = 1.0
# Seconds over which turning and travel are measured.
_TRAVEL_S = 10.0
# What a spectrum is taken over, and the share of its power that a body's movement has.
_SPECTRUM_S, _MOVEMENT = 4.0, 0.95
# Below this share of the data's usual speed it stands; above this multiple of the data's largest
# speed it has come apart.
STANDS, COMES_APART = 0.1, 1.5


def body_points(positions: Array, roles: Roles) -> dict[str, Array]:
    """(frames, 3) each, metres: the points of a body by what they are, as in "left_knee".

    `root` is the middle of the hips and `neck` that of the shoulders: all skeletons have these.

    Raises
    ------
    SkeletonError
        Where a pair of hips, knees, feet, shoulders, elbows or hands was not found.
    """
    lacking = [part for part in _NEEDED if roles.both(part) is None]
    if lacking:
        raise SkeletonError(
            f"features of a dance need left and right {', '.join(lacking)}, which this "
            "skeleton does not have",
            hint="name them in a skeleton description (left_knee, right_knee, ...)",
        )
    points: dict[str, Array] = {}
    for part in _SIDED:
        pair = roles.both(part)
        # Feet without toes end at the ankle.
        pair = roles.both("foot") if pair is None else pair
        assert pair is not None
        for side, joint in zip(("left", "right"), pair, strict=True):
            points[f"{side}_{part}"] = positions[:, joint].astype(np.float64)
    points["root"] = 0.5 * (points["left_hip"] + points["right_hip"])
    points["neck"] = 0.5 * (points["left_shoulder"] + points["right_shoulder"])
    return points


def physical_foot_contact(root: Array, left: Array, right: Array, fps: float) -> float:
    """Physical foot contact score (PFC): does a body accelerate while no foot holds it.

    Less is better: 10^4 times the mean over frames of `|a| |v_left| |v_right|`, with a the root's
    acceleration, of which what points down does not count (gravity needs no foot), over its
    largest size, and v the speeds over the ground, in metres a 30th second, of that point of each
    foot that moves least. One standing foot makes a frame 0.

    Parameters
    ----------
    root : (frames, 3)
        Metres, Y up: the hips, taken for the centre of mass.
    left, right : (frames, points, 3)
        Ankle and toe of each foot.

    References
    ----------
    Tseng et al. 2023 (EDGE), section 5.2, as in its code, which leaves out vertical speed of feet.
    Recorded AIST++ scores 1.3 there.
    """
    if len(root) < 3:
        raise ParameterError(f"root must have at least 3 frames, not {len(root)}")
    step = np.diff(root.astype(np.float64), axis=0) * fps
    acceleration = np.diff(step, axis=0) * fps
    acceleration[:, 1] = np.maximum(acceleration[:, 1], 0.0)
    size = np.linalg.norm(acceleration, axis=-1)
    if not size.max() > 0:
        return 0.0
    moved = foot_speeds((left, right), fps)[1:] / _PFC_FPS
    return float(_PFC_SCALE * np.mean(size / size.max() * moved[:, 0] * moved[:, 1]))


def moving_speed(speed: Array, fps: float) -> Array:
    """(windows,) m/s: mean speed over each window of a second that fits, half a window apart."""
    length = min(max(round(MOVING_S * fps), 1), len(speed))
    means = uniform_filter1d(speed.astype(np.float64), length, mode="nearest")
    # The filter's window of even length reaches one frame further back.
    return means[length // 2 : len(speed) - (length - 1) // 2 : max(length // 2, 1)]


def standing_share(moving: Array, usual: float) -> float:
    """Share of windows in which a dance stands still: slower than a share of the data's usual.

    Parameters
    ----------
    moving : (windows,)
        m/s, of :func:`moving_speed`.
    usual
        m/s: the median of the recorded dances' windows.
    """
    if not usual > 0:
        raise ParameterError(
            f"usual must be above 0, not {usual} m/s", hint="give recorded dances that move"
        )
    return float(np.mean(moving < STANDS * usual))


def broken_share(moving: Array, largest: float) -> float:
    """Share of windows faster than a multiple of the data's fastest: the body comes apart."""
    return float(np.mean(moving > COMES_APART * largest))


def bandwidth_hz(positions: Array, fps: float) -> float:
    """Hz below which 95 % of the power of a movement's accelerations lies.

    Parameters
    ----------
    positions : (frames, joints, 3)
        Metres.

    Returns
    -------
    Half the rate where nothing moves, or the clip has fewer than three frames.
    """
    if len(positions) < 3:
        return 0.5 * fps
    acceleration = np.diff(positions.astype(np.float64), 2, axis=0) * fps**2
    signals = acceleration.reshape(len(acceleration), -1).T
    length = min(len(acceleration), round(_SPECTRUM_S * fps))
    hertz, power = welch(signals, fs=fps, nperseg=length)
    gathered = np.cumsum(power.sum(axis=0))
    if not gathered[-1] > 0:
        return 0.5 * fps
    return float(np.interp(_MOVEMENT * gathered[-1], gathered, hertz))


def net_turning(points: Mapping[str, Array], fps: float) -> float:
    """Degrees a second by which the hips face elsewhere after ten seconds, whole turns included.

    Parameters
    ----------
    points
        Of `body_points`.
    """
    across = points["left_hip"] - points["right_hip"]
    facing = np.unwrap(np.arctan2(across[:, 2], across[:, 0]))
    step = _travel_frames(len(facing), fps)
    turned = np.abs(facing[step:] - facing[:-step])
    return float(np.degrees(turned.mean()) * fps / step)


def travel(points: Mapping[str, Array], fps: float) -> float:
    """Metres over the ground between the hips' places ten seconds apart, the mean."""
    ground = points["root"][:, [0, 2]]
    step = _travel_frames(len(ground), fps)
    return float(np.linalg.norm(ground[step:] - ground[:-step], axis=1).mean())


def _travel_frames(frames: int, fps: float) -> int:
    return min(round(_TRAVEL_S * fps), frames - 1)
