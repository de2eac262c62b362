"""Kinds of moments: every frame of a motion is idle, locomotion or an action.

A frame is found to be one of them by the speeds of root, feet, hands and head. Speeds are compared
as shares of sqrt(g * leg length), the unit of the Froude number, in which bodies of all sizes walk
and run alike (Alexander 1984).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array, true_runs
from deepphase.errors import ParameterError
from deepphase.features.pose import BodyFrames
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import GRAVITY
from deepphase.motion.limbs import bone_lengths, path_length
from deepphase.motion.roles import Roles, find_roles

KINDS = ("idle", "locomotion", "action")
"""The kinds, in the order of their numbers."""
KIND_LABEL = "kind"
"""Label of a clip that sets the kind of all its frames."""
IDLE, LOCOMOTION, ACTION = range(3)

# Standard deviation in seconds of the Gaussian over speeds: about half a step.
_SMOOTHING_S = 0.25
# Speeds as shares of sqrt(g * leg length), 3 m/s for a person. A root that is slower stands.
_STANDING = 0.09
# Largest speeds in root space of hands, head and feet of a body that stands and does nothing else.
# Quadrupeds look around and shift their weight from foot to foot.
_STILL = {"quadruped": (0.0, 0.15, 0.25), "biped": (0.085, 0.045, 0.12)}
# Largest speeds in root space of feet and hands in locomotion, beyond a multiple of the root's.
_STEPS, _SWING = {"quadruped": 0.35, "biped": 0.22}, 0.3
_PER_TRAVEL = 1.35
# Heights of a body that stands and does nothing else: of the hands over the hips, as a share of the
# way to the head, and of the head, as a share of its usual height.
_RAISED_HAND, _LOWERED_HEAD = 0.55, 0.93
# In locomotion hands may be higher the faster it is, up to the height of the head.
_HIGHER_BY_SPEED, _OVERHEAD = 1.5, 1.0
# Percentile over frames of the height of the head that is its usual one.
_USUAL_PERCENTILE = 90.0
# Share of the leg length at which feet turn about the root where a body turns on the spot.
_TURNING_RADIUS = 0.35
# An action that is shorter than this is none, and one that pauses for less than this goes on.
_SHORTEST_S, _PAUSE_S = 0.3, 1.0
# Idle and locomotion beside an action that are shorter than this, such as a step back after a blow,
# belong to it.
_BESIDE_S = (0.5, 1.5)


def moment_kinds(clip: Clip, frames: BodyFrames, body: Mapping[str, str] | None = None) -> Array:
    """The kind of every frame of a clip.

    Parameters
    ----------
    clip
        The clip. Its label "kind", where it is one of `KINDS`, sets the kind of all frames.
    frames
        Its frames in root space.
    body
        Role -> joint name, as of `BodyFrames.of_clip`.

    Returns
    -------
    (frames,) uint8
        Numbers of `KINDS`: 0 idle, 1 locomotion, 2 action.
    """
    labelled = clip.labels.get(KIND_LABEL)
    if labelled in KINDS:
        return np.full(len(frames), KINDS.index(labelled), np.uint8)
    if len(frames) < 2:
        return np.zeros(len(frames), np.uint8)
    roles = find_roles(clip.skeleton, description=body, clip=clip)
    leg_length = _leg_length(clip, roles)
    unit = np.sqrt(GRAVITY * max(leg_length, 1e-9))
    feet, hands = _limbs(clip, roles)
    smoothing = _SMOOTHING_S * frames.fps
    ground = gaussian_filter1d(
        np.gradient(frames.root.positions[:, ::2].astype(np.float64), axis=0),
        smoothing,
        axis=0,
        mode="nearest",
    )
    turning = gaussian_filter1d(
        np.gradient(frames.root.angles.astype(np.float64)), smoothing, mode="nearest"
    )
    travel = np.linalg.norm(ground, axis=1) + _TURNING_RADIUS * leg_length * np.abs(turning)
    travel *= frames.fps / unit
    stepping = _activity(frames, feet, smoothing) / unit
    waving = _activity(frames, hands, smoothing) / unit
    nodding = _activity(frames, _given(roles.head), smoothing) / unit
    standing = travel < _STANDING
    of = roles.kind if roles.kind in _STILL else "biped"
    still_hands, still_head, still_feet = _STILL[of]
    still = (waving <= still_hands) & (nodding < still_head) & (stepping < still_feet)
    expected = _PER_TRAVEL * travel
    steady = (stepping < _STEPS[of] + expected) & (waving < _SWING + expected)
    raised, lowered = _posture(frames, roles, hands)
    kinds = np.full(len(frames), ACTION, np.uint8)
    kinds[standing & still & (raised < _RAISED_HAND) & ~lowered] = IDLE
    high = np.minimum(_RAISED_HAND + _HIGHER_BY_SPEED * (travel - _STANDING), _OVERHEAD)
    kinds[~standing & steady & (raised < high)] = LOCOMOTION
    return _settled(kinds, frames.fps)


def clip_kinds(clip: Clip, body: Mapping[str, str] | None = None) -> Array:
    """(frames,) uint8 kinds of a clip as of `moment_kinds`, which reads its frames in root space.

    Raises
    ------
    SkeletonError
        Where the joints of the body are not found.
    """
    return moment_kinds(clip, BodyFrames.of_clip(clip, body), body)


def kind_numbers(names: Iterable[str]) -> list[int]:
    """Numbers of named kinds; ParameterError where a name is none of `KINDS`."""
    numbers = []
    for name in names:
        if name not in KINDS:
            raise ParameterError(
                f"there is no kind {name!r} of moments", hint=f"choose from {', '.join(KINDS)}"
            )
        numbers.append(KINDS.index(name))
    return numbers


def kind_shares(kinds: Array) -> dict[str, float]:
    """Share of the frames of every kind."""
    counts = np.bincount(kinds, minlength=len(KINDS))
    shares = counts / max(len(kinds), 1)
    return dict(zip(KINDS, shares.tolist(), strict=True))


def kind_shares_text(kinds: Array) -> str:
    """The shares of `kind_shares` in one line, such as "idle 10%, locomotion 90%, action 0%"."""
    return ", ".join(f"{name} {share:.0%}" for name, share in kind_shares(kinds).items())


def _leg_length(clip: Clip, roles: Roles) -> float:
    """Metres from hip to foot, or half of all bones where there are no legs."""
    hips, feet = roles.both("hip"), roles.both("foot")
    if hips is None or feet is None:
        return 0.5 * float(bone_lengths(clip.skeleton).sum())
    lengths = [path_length(clip.skeleton, hip, foot) for hip, foot in zip(hips, feet, strict=True)]
    return float(np.mean(lengths))


def _limbs(clip: Clip, roles: Roles) -> tuple[list[int], list[int]]:
    """Joints whose speeds are those of feet and of hands. A body without legs has neither."""
    feet, hands = list(roles.both("foot") or ()), list(roles.both("hand") or ())
    if roles.kind == "quadruped":
        return feet + hands, []
    return feet, hands


def _given(joint: int | None) -> list[int]:
    return [] if joint is None else [joint]


def _activity(frames: BodyFrames, joints: list[int], smoothing: float) -> Array:
    """(frames,) m/s: the largest of the joints' speeds in root space, over some frames."""
    if not joints:
        return np.zeros(len(frames))
    positions = frames.positions[:, joints].astype(np.float64)
    squares = np.square(np.gradient(positions, axis=0) * frames.fps).sum(-1)
    smooth = gaussian_filter1d(squares, smoothing, axis=0, mode="nearest")
    return np.sqrt(smooth.max(1))


def _posture(frames: BodyFrames, roles: Roles, hands: list[int]) -> tuple[Array, Array]:
    """(frames,) height of the higher hand, 0 at the hips and 1 at the head, and a lowered head."""
    if roles.head is None or roles.kind != "biped":
        return np.zeros(len(frames)), np.zeros(len(frames), bool)
    head, hips = frames.positions[:, roles.head, 1], frames.positions[:, roles.hips, 1]
    usual = np.percentile(head, _USUAL_PERCENTILE)
    lowered = head < _LOWERED_HEAD * usual
    if not hands:
        return np.zeros(len(frames)), lowered
    trunk = max(usual - np.percentile(hips, _USUAL_PERCENTILE), 1e-6)
    return (frames.positions[:, hands, 1].max(1) - hips) / trunk, lowered


def _settled(kinds: Array, fps: float) -> Array:
    """Kinds without actions that are too short to be one and without pauses of actions."""
    kinds = kinds.copy()
    for start, stop in true_runs(kinds == ACTION):
        if stop - start < _SHORTEST_S * fps and stop - start < len(kinds):
            kinds[start:stop] = kinds[start - 1] if start else kinds[stop]
    # A step back may follow a pause, so that runs are looked at twice.
    for _ in range(2):
        for kind in (IDLE, LOCOMOTION):
            for start, stop in true_runs(kinds == kind):
                beside = ACTION in kinds[max(start - 1, 0) : start] or (
                    ACTION in kinds[stop : stop + 1]
                )
                if beside and stop - start < _BESIDE_S[kind] * fps:
                    kinds[start:stop] = ACTION
    for start, stop in true_runs(kinds != ACTION):
        if start and stop < len(kinds) and stop - start < _PAUSE_S * fps:
            kinds[start:stop] = ACTION
    return kinds
