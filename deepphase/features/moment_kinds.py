"""Kinds of moments: every frame is rest, locomotion or an action.

A frame is found to be one of them by posture and by the speeds of root, feet, hands and head.
Speeds are compared as shares of sqrt(g * leg length), the unit of the Froude number, in which
bodies of all sizes walk and run alike (Alexander 1984).

Rest is quiet, and has one of three postures. A body that stands at rest, "idle", has its feet under
the hips, its trunk upright (that of a quadruped: level), its head up and its hands hanging. A
bow, or an arm that is held out, is an action however still it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from deepphase.arrays import Array, true_runs
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.features.feature import BodyFrames
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import GRAVITY
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton, bone_lengths, path_length

KINDS = ("idle", "locomotion", "action", "sitting", "lying")
"""The kinds, in the order of their numbers: idle stands."""
KIND_LABEL = "kind"
"""Label of a clip that sets the kind of all its frames."""
IDLE, LOCOMOTION, ACTION, SITTING, LYING = range(5)
RESTS = (IDLE, SITTING, LYING)
"""Numbers of the kinds in which a body rests."""

# Standard deviation in seconds of the Gaussian over speeds: about half a step. Rest may begin soon
# after a movement.
_SMOOTHING_S, _REST_SMOOTHING_S = 0.25, 0.1
# Speeds as shares of sqrt(g * leg length), 3 m/s for a person. A root that is slower stands.
_STANDING = 0.09
# Largest speeds in root space of hands, head and feet of a body that stands and does nothing else.
# Quadrupeds look around and shift their weight from foot to foot.
_STILL = {"quadruped": (0.0, 0.15, 0.25), "biped": (0.085, 0.045, 0.12)}
# Largest speeds in root space of feet and hands in locomotion, beyond a multiple of the root's.
_STEPS, _SWING = {"quadruped": 0.35, "biped": 0.22}, 0.3
_PER_TRAVEL = 1.35
# Heights of a body that moves on and does nothing else: of the hands over the hips, as a share of
# the way to the head, and of the head, as a share of its usual height.
_RAISED_HAND, _LOWERED_HEAD = 0.55, 0.93
# Hanging hands are at most this high, and at most this share of the arm's length from the shoulder,
# over the ground.
_HANGING_HAND, _REACH = 0.3, 0.6
# Heights of the hips over the lowest joint as shares of the leg length: at least of a body that
# stands, at most of one that sits, crouches or lies, and of a person who lies.
_STANDING_HIPS, _LOW_HIPS, _LYING_HIPS = 0.9, 0.8, 0.35
# Angles between the trunk and the vertical: at most of a person who stands, at most of one who
# sits; of a quadruped, at most of one that sits, and between these it stands.
_UPRIGHT, _SEATED = np.radians(15.0), np.radians(50.0)
_RAISED_TRUNK, _LEVEL = np.radians(75.0), (np.radians(70.0), np.radians(125.0))
# Largest distances over the ground of feet that stand, as shares of the leg length: from the hips
# to the middle of both, from one to the other, and from a quadruped's hips and shoulders.
_FEET_OFF_HIPS, _STANCE, _PAWS = 0.16, 0.42, 0.5
# In locomotion hands may be higher the faster it is, up to the height of the head.
_HIGHER_BY_SPEED, _OVERHEAD = 1.5, 1.0
# Percentile over frames of the height of the head that is its usual one.
_USUAL_PERCENTILE = 90.0
# Share of the leg length at which feet turn about the root where a body turns on the spot.
_TURNING_RADIUS = 0.35
# An action that is shorter than this is none, and one that pauses for less than this goes on. A
# body settles for this long at most between locomotion and rest.
_SHORTEST_S, _PAUSE_S, _SETTLING_S = 0.3, 1.0, 0.8
# What is shorter than this beside an action, such as a step back after a blow or a dancer's lunge,
# belongs to it: between two actions, and before a clip's first or after its last one.
_BETWEEN_S = {IDLE: 0.5, LOCOMOTION: 3.0, SITTING: 0.5, LYING: 0.5}
_OUTSIDE_S = {IDLE: 0.25, LOCOMOTION: 2.0, SITTING: 0.25, LYING: 0.25}
# Hips that are higher than this multiple of their height in a stride are those of a jump, which
# begins and ends some seconds earlier and later: they rise by a tenth in the flight of a person's
# run, and by a quarter in a gallop.
_JUMPING_HIPS, _JUMP_S = {"quadruped": 1.35, "biped": 1.17}, 0.35


def moment_kinds(clip: Clip, frames: BodyFrames, body: Mapping[str, str] | None = None) -> Array:
    """(frames,) uint8 kinds: 0 idle, 1 locomotion, 2 action, 3 sitting, 4 lying, as in `KINDS`."""
    labelled = clip.labels.get(KIND_LABEL)
    if labelled in KINDS:
        return np.full(len(frames), KINDS.index(labelled), np.uint8)
    if len(frames) < 2:
        return np.zeros(len(frames), np.uint8)
    roles = find_roles(clip.skeleton, description=body, clip=clip)
    leg = leg_length(clip.skeleton, roles)
    unit = np.sqrt(GRAVITY * max(leg, 1e-9))
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
    travel = np.linalg.norm(ground, axis=1) + _TURNING_RADIUS * leg * np.abs(turning)
    travel *= frames.fps / unit
    stepping = _activity(frames, feet, smoothing) / unit
    waving = _activity(frames, hands, smoothing) / unit
    standing = travel < _STANDING
    of = roles.kind if roles.kind in _STILL else "biped"
    still = np.ones(len(frames), bool)
    head = [] if roles.head is None else [roles.head]
    for joints, most in zip((hands, head, feet), _STILL[of], strict=True):
        still &= _activity(frames, joints, _REST_SMOOTHING_S * frames.fps) <= most * unit
    expected = _PER_TRAVEL * travel
    steady = (stepping < _STEPS[of] + expected) & (waving < _SWING + expected)
    raised, lowered = _posture(frames, roles, hands)
    kinds = np.full(len(frames), ACTION, np.uint8)
    postures = _rest_postures(frames, roles, clip.skeleton, leg)
    postures[(postures == IDLE) & ((raised > _HANGING_HAND) | lowered)] = ACTION
    kinds[standing & still] = postures[standing & still]
    high = np.minimum(_RAISED_HAND + _HIGHER_BY_SPEED * (travel - _STANDING), _OVERHEAD)
    kinds[~standing & steady & (raised < high)] = LOCOMOTION
    kinds[_jumping(frames, roles, _JUMPING_HIPS[of], leg)] = ACTION
    return _settled(kinds, frames.fps)


def clip_kinds(clip: Clip, body: Mapping[str, str] | None = None) -> Array:
    """(frames,) uint8 `moment_kinds` of a clip; SkeletonError where its body is not found."""
    return moment_kinds(clip, BodyFrames.from_clip(clip, body), body)


def source_kinds(store: ClipStore, body: Mapping[str, str] | None = None) -> Callable[[str], Array]:
    """A function from a file of a store to its (kinds,) number of frames of each kind.

    Clips are read when the function is called, those of a file once; a body whose kinds cannot be
    found has no frames of any. A file is named by its path, or its clip's name without one.
    """

    clips: dict[str, list[int]] = {}
    for index, (source, name) in enumerate(zip(store.sources, store.names, strict=True)):
        clips.setdefault(source.path or name, []).append(index)

    @cache
    def frames_of(file: str) -> Array:
        counts = np.zeros(len(KINDS), np.int64)
        with suppress(DeepPhaseError):
            for index in clips[file]:
                counts += np.bincount(clip_kinds(store.clip(index), body), minlength=len(KINDS))
        return counts

    return frames_of


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
    """Share of the frames of every kind; of sitting and lying only where they occur."""
    counts = np.bincount(kinds, minlength=len(KINDS))
    shares = dict(zip(KINDS, (counts / max(len(kinds), 1)).tolist(), strict=True))
    return {name: share for name, share in shares.items() if share or KINDS.index(name) <= ACTION}


def kind_shares_text(kinds: Array) -> str:
    """The shares of `kind_shares` in one line, such as "idle 10%, locomotion 90%, action 0%"."""
    return ", ".join(f"{name} {share:.0%}" for name, share in kind_shares(kinds).items())


def leg_length(skeleton: Skeleton, roles: Roles) -> float:
    """Metres from hip to foot, or half of all bones where there are no legs."""
    hips, feet = roles.both("hip"), roles.both("foot")
    if hips is None or feet is None:
        return 0.5 * float(bone_lengths(skeleton).sum())
    lengths = [path_length(skeleton, hip, foot) for hip, foot in zip(hips, feet, strict=True)]
    return float(np.mean(lengths))


def _limbs(clip: Clip, roles: Roles) -> tuple[list[int], list[int]]:
    """Joints whose speeds are those of feet and of hands. A body without legs has neither."""
    feet, hands = list(roles.both("foot") or ()), list(roles.both("hand") or ())
    if roles.kind == "quadruped":
        return feet + hands, []
    return feet, hands


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


def _rest_postures(
    frames: BodyFrames, roles: Roles, skeleton: Skeleton, leg_length: float
) -> Array:
    """(frames,) uint8 kind of rest by posture alone, else ACTION; without legs or trunk, IDLE."""
    places = frames.positions.astype(np.float64)
    hips, feet, hands = roles.both("hip"), roles.both("foot"), roles.both("hand")
    shoulders = roles.both("shoulder")
    postures = np.full(len(frames), IDLE, np.uint8)
    if hips is None or feet is None or shoulders is None:
        return postures
    height = (places[:, roles.hips, 1] - places[..., 1].min(axis=1)) / leg_length
    trunk = places[:, list(shoulders)].mean(axis=1) - places[:, list(hips)].mean(axis=1)
    inclined = np.arccos(trunk[:, 1] / np.maximum(np.linalg.norm(trunk, axis=1), 1e-9))
    if roles.kind == "quadruped":
        seated = inclined < _RAISED_TRUNK
        upright = (inclined > _LEVEL[0]) & (inclined < _LEVEL[1])
        pairs = [(hips, feet)] + ([] if hands is None else [(shoulders, hands)])
        off = np.concatenate([_over_ground(places, *pair) for pair in pairs], axis=1)
        under = off.max(axis=1) < _PAWS * leg_length
    else:
        seated, upright = inclined < _SEATED, inclined < _UPRIGHT
        middle = places[:, list(feet)].mean(axis=1) - places[:, roles.hips]
        under = np.linalg.norm(middle[:, ::2], axis=1) < _FEET_OFF_HIPS * leg_length
        under &= _over_ground(places, feet[:1], feet[1:])[:, 0] < _STANCE * leg_length
        if hands is not None:
            arms = [path_length(skeleton, *arm) for arm in zip(shoulders, hands, strict=True)]
            under &= (_over_ground(places, shoulders, hands) < _REACH * np.array(arms)).all(axis=1)
    postures[~(upright & under & (height > _STANDING_HIPS))] = ACTION
    postures[seated & (height < _LOW_HIPS)] = SITTING
    postures[~seated & (height < (_LOW_HIPS if roles.kind == "quadruped" else _LYING_HIPS))] = LYING
    return postures


def _jumping(frames: BodyFrames, roles: Roles, share: float, leg_length: float) -> Array:
    """(frames,) bool: frames of jumps that are higher than those of a run."""
    hips = frames.positions[:, roles.hips, 1]
    upright = hips > _STANDING_HIPS * leg_length
    if not upright.any():
        return np.zeros(len(frames), bool)
    high = hips > share * np.median(hips[upright])
    return maximum_filter1d(high, 2 * round(_JUMP_S * frames.fps) + 1)


def _over_ground(places: Array, joints: Sequence[int], others: Sequence[int]) -> Array:
    """(frames, joints) metres over the ground from joints to others."""
    apart = places[:, list(joints)] - places[:, list(others)]
    return np.linalg.norm(apart[..., ::2], axis=-1)


def _settled(kinds: Array, fps: float) -> Array:
    """Kinds without actions that are too short to be one and without pauses of actions."""
    kinds = kinds.copy()
    for start, stop in true_runs(kinds == ACTION):
        outer = (
            kinds[start - 1] if start else ACTION,
            kinds[stop] if stop < len(kinds) else ACTION,
        )
        if stop - start < _SHORTEST_S * fps and stop - start < len(kinds):
            kinds[start:stop] = outer[0] if start else outer[1]
        elif stop - start < _SETTLING_S * fps and LOCOMOTION in outer and ACTION not in outer:
            kinds[start:stop] = LOCOMOTION
    # A step back may follow a pause, so that runs are looked at twice.
    for _ in range(2):
        for kind in _BETWEEN_S:
            for start, stop in true_runs(kinds == kind):
                beside = ACTION in kinds[max(start - 1, 0) : start] or (
                    ACTION in kinds[stop : stop + 1]
                )
                shortest = _BETWEEN_S if start > 0 and stop < len(kinds) else _OUTSIDE_S
                if beside and stop - start < shortest[kind] * fps:
                    kinds[start:stop] = ACTION
    for start, stop in true_runs(kinds != ACTION):
        if start and stop < len(kinds) and stop - start < _PAUSE_S * fps:
            kinds[start:stop] = ACTION
    return kinds
