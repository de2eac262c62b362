"""Cleaning of captured motion: flips of joints are repaired, noise of markers is low-passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import convolve1d, percentile_filter
from scipy.spatial.transform import Rotation, Slerp

from deepphase.arrays import Array, true_runs
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.glitches import SURROUNDINGS_S, body_size, frames_text
from deepphase.motion.kinematics import derivative_sizes, joint_positions
from deepphase.motion.resample import BANDS_HZ, low_passed, low_passed_clip
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.short_repr import brief_repr, counted

# A joint flips where it turns by this angle (radians) from one frame to the next.
_FLIP_ANGLE = 1.0
# A joint that jumps away and back does so by this factor more than in its faster quarter of the
# frames around: blows, throws and wags of a tail speed up over several frames.
_FLIP_FACTOR = 4.0
# Largest share of a jump by which a joint that is back may differ from before; and largest share of
# the turns of a joint about its bone and of those below by which the latter turn in the world.
_BACK_SHARE = 0.5
_LONGEST_S = 0.15
# Smallest share of a jump about the bone that is a turn about it, and the time before and after
# over which such a turn is spread.
_TWIST_SHARE, _SPREAD_S = 0.7, 0.05
# Differences of positions from frame to frame that are rounding, metres.
_ROUNDING_M = 1e-6

# Spectra are of stretches of this length, and of no fewer frames than this.
_STRETCH_S, _MIN_FRAMES = 2.0, 32
# Noise is fitted between these shares of half the frame rate. There, the power of motion falls with
# the third power of the frequency (a foot that the floor stops) or a higher one.
_FIT_SHARES = (0.25, 0.95)
_POWERS = np.arange(3.0, 8.5, 0.5)
# Movements of a walking body are slower than this (Winter 2009, section 2.2.4.3).
_LOWEST_HZ = 6.0
# A low-pass at a higher share of the frame rate changes nothing that is seen.
_HIGHEST_SHARE = 0.4
# Where a low-pass takes more than this many times the power of the noise, it takes motion: a kick,
# or a paw that hits the floor. From the second factor on, all of it is kept.
_KEPT_FROM, _KEPT_ALL = 9.0, 18.0
# Noise is never absent: in nine tenths of the frames it has at least this share of its power.
_ALWAYS = 0.03
# Share of the frames of the feet that may lose their contact; else the next frequency is tried.
_LOST_CONTACTS, _NEXT = 0.005, 1.25


@dataclass(frozen=True)
class Flip:
    """Frames in which a joint was flipped."""

    joint: str
    first: int  # The flipped frames
    last: int
    angle_degrees: float  # The largest turn from one frame to the next
    twist: bool

    @property
    def sentence(self) -> str:
        """Frames, joint and angle in words."""
        about = " about its bone" if self.twist else ""
        frames = frames_text(self.first, self.last)
        return f"{frames}: {self.joint} flipped by {self.angle_degrees:.0f} degrees{about}"


def repair_flips(clip: Clip) -> tuple[Clip, tuple[Flip, ...]]:
    """The clip without flips of joints, and the flips that it had.

    A joint that jumps away and back within 0.15 s is interpolated from the frame before to the
    frame after (slerp), unless joints then move less smoothly. A joint that jumps about its bone
    while all joints below turn back is given a steady turn about the bone, and those below turn
    back by as much: every joint keeps its position. Fast movements, which speed up over several
    frames, are left. A clip without flips is returned as it is.
    """
    if len(clip) < 4 or not clip.has_rotations:
        return clip, ()
    rotations = np.asarray(clip.rotations, np.float64).copy()
    found: list[Flip] = []
    # Parents stand before their children, whose turns back are taken out with theirs.
    for joint in range(len(clip.skeleton)):
        found += _untwisted(rotations, clip.skeleton, joint, clip.fps)
    away: dict[int, list[tuple[int, int, float]]] = {}
    for joint in range(len(clip.skeleton)):
        for first, stop, angle in _jumps_and_back(rotations[:, joint], clip.fps):
            away.setdefault(first, []).append((joint, stop, angle))
    for first, jumps in away.items():
        if _interpolated(rotations, clip, first, jumps):
            found += [
                Flip(clip.skeleton.names[joint], first, stop - 1, angle, False)
                for joint, stop, angle in jumps
            ]
    if not found:
        return clip, ()
    found.sort(key=lambda flip: (flip.first, flip.joint))
    return replace(clip, rotations=rotations.astype(clip.rotations.dtype)), tuple(found)


def _interpolated(
    rotations: Array, clip: Clip, first: int, jumps: list[tuple[int, int, float]]
) -> bool:
    """Interpolate over flips from frame `first` on, in place, where all joints move more smoothly.

    Of a joint whose turn another one below has undone, only the repair would be seen.
    """
    around = slice(max(0, first - 2), max(stop for _, stop, _ in jumps) + 2)
    repaired = rotations[around].copy()
    for joint, stop, _ in jumps:
        ends = Rotation.from_quat(rotations[[first - 1, stop], joint])
        frames = np.arange(first, stop)
        repaired[frames - around.start, joint] = Slerp([first - 1, stop], ends)(frames).as_quat()
    part = clip.sliced(around.start, around.start + len(repaired))
    rough, smooth = (
        np.linalg.norm(np.diff(joint_positions(replace(part, rotations=r)), n=2, axis=0), axis=-1)
        for r in (rotations[around], repaired)
    )
    if smooth.max() > rough.max() + _ROUNDING_M:
        return False
    rotations[around] = repaired
    return True


def _jumps_and_back(rotations: Array, fps: float) -> list[tuple[int, int, float]]:
    """First frame, end and angle (degrees) of each flip of a joint (frames, 4)."""
    steps = quaternions.angle_between(rotations[1:], rotations[:-1])
    if not (steps > _FLIP_ANGLE).any():
        return []
    window = 2 * max(2, round(SURROUNDINGS_S * fps)) + 1
    usual = percentile_filter(steps, 75, size=window, mode="nearest")
    # Frames after a jump.
    jumps = (np.flatnonzero((steps > _FLIP_ANGLE) & (steps > _FLIP_FACTOR * usual)) + 1).tolist()
    longest = max(1, round(_LONGEST_S * fps))
    found: list[tuple[int, int, float]] = []
    for place, first in enumerate(jumps):
        if found and first <= found[-1][1]:
            continue
        for stop in jumps[place + 1 :]:
            if stop - first > longest:
                break
            jump = steps[[first - 1, stop - 1]]
            apart = quaternions.angle_between(rotations[first - 1], rotations[stop])
            if apart < _BACK_SHARE * jump.min():
                found.append((first, stop, float(np.degrees(jump.max()))))
                break
    return found


def _untwisted(rotations: Array, skeleton: Skeleton, joint: int, fps: float) -> list[Flip]:
    """Make jumps of a joint about its bone steady turns, in (frames, joints, 4) in place."""
    below = np.flatnonzero(skeleton.parents == joint)
    bone = skeleton.offsets[below].mean(axis=0) if len(below) else np.zeros(3)
    own = rotations[:, joint]
    steps = quaternions.angle_between(own[1:], own[:-1])
    if not (steps > _FLIP_ANGLE).any() or not np.linalg.norm(bone) > 0:
        return []
    axis = bone / np.linalg.norm(bone)
    change = quaternions.multiply(quaternions.conjugate(own[:-1]), own[1:])
    # In cycles.
    twists = wrapped(np.arctan2(change[:, :3] @ axis, change[:, 3]) / np.pi)
    # The joints below turn back, and less in all than the joint and they do each.
    whole = quaternions.multiply(own[:, None], rotations[:, below])
    turns = quaternions.angle_between(whole[1:], whole[:-1]).max(axis=1)
    under = quaternions.angle_between(rotations[1:, below], rotations[:-1, below]).min(axis=1)
    flips = (steps > _FLIP_ANGLE) & (turns < _BACK_SHARE * (steps + under))
    flips &= 2.0 * np.pi * np.abs(twists) > _TWIST_SHARE * steps
    spread = max(2, round(_SPREAD_S * fps))
    found = []
    for first, stop in true_runs(np.convolve(flips, np.ones(2 * spread + 1), "same") > 0):
        inside = twists[first:stop]
        # The angle by which each frame turns: 0, or whole circles, at the last one.
        angles = 2.0 * np.pi * np.cumsum(wrapped(inside.sum()) / len(inside) - inside)
        frames = slice(first + 1, stop + 1)
        turn = quaternions.about_axis(axis, angles)
        rotations[frames, joint] = quaternions.multiply(own[frames], turn)
        rotations[frames, below] = quaternions.multiply(
            quaternions.conjugate(turn)[:, None], rotations[frames, below]
        )
        jumps = first + np.flatnonzero(flips[first:stop])
        angle = float(np.degrees(steps[jumps].max()))
        found.append(
            Flip(skeleton.names[joint], int(jumps[0]) + 1, int(jumps[-1]) + 1, angle, True)
        )
    return found


@brief_repr
@dataclass(frozen=True)
class Cleaning:
    """What cleaning changed in a clip; false if nothing.

    Parameters
    ----------
    flips
        Repaired flips of joints.
    cutoff_hz
        Frequency of the low-pass, where half the amplitude is left; 0 without one.
    kept
        Share of the frames in which fast movements were kept from the low-pass.
    mean_move_m, largest_move_m
        Distance of the joints from their captured places.
    jerk, jerk_before
        m/s^3, mean over joints and frames: below 12, 8 and 4 Hz, and of all frequencies.
    """

    flips: tuple[Flip, ...] = ()
    cutoff_hz: float = 0.0
    kept: float = 0.0
    mean_move_m: float = 0.0
    largest_move_m: float = 0.0
    jerk: tuple[float, ...] = ()
    jerk_before: tuple[float, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.flips) or self.cutoff_hz > 0

    def later(self, frames: int) -> Cleaning:
        """The same for a clip with so many more frames at its start."""
        flips = (
            replace(flip, first=flip.first + frames, last=flip.last + frames) for flip in self.flips
        )
        return replace(self, flips=tuple(flips))


def clean(clip: Clip, cutoff_hz: float | None = None) -> tuple[Clip, Cleaning]:
    """The clip without flips of joints and noise of markers, and what was changed.

    Flips are repaired first, see :func:`repair_flips`. Then the spectrum of all rotations and
    translations is compared with motion, whose power falls with a power of the frequency, and a
    constant floor of noise. Where there is a floor, the clip is low-passed, forwards and backwards,
    at the frequency at which the filter takes as much motion as it leaves noise, or at a higher
    one where feet would lose contacts. Fast movements, of which it would take much more than the
    noise, are kept. All joints have one frequency: turns that cancel, as those of hips and legs
    above a planted foot, still do.

    A clip without flips and without a floor of noise is returned as it is.

    Parameters
    ----------
    cutoff_hz
        Low-pass at this frequency, whatever the spectrum; nothing is kept from it.

    Raises
    ------
    ParameterError
        If the frequency is not positive.

    References
    ----------
    Winter 2009, Biomechanics and motor control of human movement, section 2.2.4.4: the residual
    analysis, which chooses a cutoff by the same balance.
    """
    if cutoff_hz is not None and not cutoff_hz > 0:
        raise ParameterError(
            f"a low-pass needs a frequency above 0 Hz; {cutoff_hz:g} was given",
            hint="give a frequency, or none to find it in the clip's spectrum",
        )
    repaired, flips = repair_flips(clip)
    cleaned, cutoff, kept = repaired, 0.0, 0.0
    if cutoff_hz is None:
        cleaned, cutoff, kept = _without_noise(repaired)
    elif cutoff_hz < _HIGHEST_SHARE * clip.fps:
        cleaned, cutoff = low_passed_clip(repaired, cutoff_hz), float(cutoff_hz)
    if not flips and not cutoff:
        return clip, Cleaning()
    before, after = (joint_positions(c).astype(np.float64) for c in (clip, cleaned))
    moves = np.linalg.norm(after - before, axis=-1)
    jerks = [
        tuple(
            float(derivative_sizes(low_passed(places, edge, clip.fps), clip.fps, 3).mean())
            for edge in (*BANDS_HZ, 0.0)
        )
        if len(places) >= 4
        else ()
        for places in (after, before)
    ]
    return cleaned, Cleaning(flips, cutoff, kept, float(moves.mean()), float(moves.max()), *jerks)


def noise_floor(values: Array, fps: float) -> tuple[float, float]:
    """Frequency above which the spectrum of (frames, columns) is noise, and noise power per hertz.

    A low-pass at that frequency takes as much motion as it leaves noise. Infinity and 0 where the
    spectrum has no floor. Columns are in one scale; the power is summed over them.
    """
    length = min(len(values), max(_MIN_FRAMES, round(_STRETCH_S * fps)))
    if length < _MIN_FRAMES:
        return np.inf, 0.0
    # Imported where it is used: it takes half a second.
    from scipy.optimize import nnls
    from scipy.signal import welch

    frequencies, power = welch(values, fps, nperseg=length, axis=0, detrend="linear")
    power = power.sum(axis=1)
    low, high = (0.5 * fps * share for share in _FIT_SHARES)
    inside = (frequencies >= low) & (frequencies <= high)
    shares, fitted = frequencies[inside] / low, power[inside]
    if not fitted.min() > 0:
        return np.inf, 0.0
    ones = np.ones(len(fitted))
    # Errors relative to the spectrum, which falls by orders of magnitude.
    fits = [
        nnls(np.stack([shares**-fall, ones], axis=1) / fitted[:, None], ones) for fall in _POWERS
    ]
    best = int(np.argmin([error for _, error in fits]))
    motion, floor = fits[best][0]
    # A floor that motion reaches at the end of the spectrum alone is not seen.
    if not floor > motion * (high / low) ** -_POWERS[best]:
        return np.inf, 0.0
    taken = np.cumsum(np.maximum(power - floor, 0.0)[::-1])[::-1] * frequencies[1]
    return float(frequencies[np.argmax(taken <= floor * frequencies)]), float(floor)


def _without_noise(clip: Clip) -> tuple[Clip, float, float]:
    """The low-passed clip, the frequency and the share of frames with fast movements that are kept.

    The clip itself and zeros where it has no floor of noise.
    """
    frames, fps = len(clip), clip.fps
    size = body_size(joint_positions(clip))
    if not size > 0:
        return clip, 0.0, 0.0
    rotations = quaternions.sign_continuous(np.asarray(clip.rotations, np.float64))
    translations = np.asarray(clip.translations, np.float64)
    # Twice the components of a quaternion change as the angle does, in radians, without wraps.
    scaled = 2.0 * rotations.reshape(frames, -1), translations.reshape(frames, -1) / size
    values = np.concatenate(scaled, axis=1)
    cutoff, floor = noise_floor(values, fps)
    cutoff = max(cutoff, _LOWEST_HZ)
    contacts = _contacts(clip) if floor else np.zeros((frames, 0), bool)
    while cutoff < _HIGHEST_SHARE * fps:
        smooth = low_passed(values, cutoff, fps)
        taken = values - smooth
        window = np.hanning(2 * round(fps / cutoff) + 3)
        power = convolve1d((taken**2).sum(axis=1), window / window.sum(), mode="nearest")
        excess = power / (floor * (0.5 * fps - cutoff))
        if np.quantile(excess, 0.1) < _ALWAYS:
            break
        kept = np.clip((excess - _KEPT_FROM) / (_KEPT_ALL - _KEPT_FROM), 0.0, 1.0)
        smooth += kept[:, None] * taken
        turned, moved = np.split(smooth, [4 * len(clip.skeleton)], axis=1)
        turned = quaternions.normalized(turned.reshape(rotations.shape))
        moved = (size * moved).reshape(translations.shape)
        quiet = replace(
            clip,
            rotations=turned.astype(clip.rotations.dtype),
            translations=moved.astype(clip.translations.dtype),
        )
        lost = contacts & ~_contacts(quiet)
        if lost.sum() <= _LOST_CONTACTS * lost.size:
            return quiet, round(cutoff, 1), float(kept.mean())
        cutoff *= _NEXT
    return clip, 0.0, 0.0


def _contacts(clip: Clip) -> Array:
    """(frames, feet) bool; no columns for bodies without feet."""
    try:
        return foot_contacts(clip, find_roles(clip.skeleton, clip=clip)).flags
    except SkeletonError:
        return np.zeros((len(clip), 0), bool)


def cleaning_sentences(cleanings: Sequence[Cleaning]) -> list[str]:
    """What cleaning changed in some clips, one sentence for each kind of change."""
    clips = counted(len(cleanings), "clip")
    flips = [len(cleaning.flips) for cleaning in cleanings if cleaning.flips]
    filtered = sorted((c for c in cleanings if c.cutoff_hz), key=lambda c: c.cutoff_hz)
    sentences = []
    if flips:
        repaired = counted(sum(flips), "flip")
        sentences.append(f"{repaired} of joints repaired in {len(flips)} of {clips}")
    if filtered:
        low, high = (f"{cleaning.cutoff_hz:.1f}" for cleaning in (filtered[0], filtered[-1]))
        largest = max(cleaning.largest_move_m for cleaning in filtered)
        mean = np.mean([cleaning.mean_move_m for cleaning in filtered])
        sentences.append(
            f"noise low-passed at {low if low == high else f'{low} to {high}'} Hz in "
            f"{len(filtered)} of {clips}; joints moved by {1000 * mean:.2f} mm on average and "
            f"{100 * largest:.1f} cm at most"
        )
    changed = [cleaning for cleaning in cleanings if cleaning.jerk]
    if changed:
        before, after = (
            np.mean([getattr(cleaning, name) for cleaning in changed], axis=0)
            for name in ("jerk_before", "jerk")
        )
        names = [*(f"below {edge:g} Hz " for edge in BANDS_HZ), ""]
        changes = [f"{n}{b:.0f} -> {a:.0f}" for n, b, a in zip(names, before, after, strict=True)]
        sentences.append(f"jerk of changed clips, m/s3: {changes[-1]}; {', '.join(changes[:-1])}")
    return sentences
