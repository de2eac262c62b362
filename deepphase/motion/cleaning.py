"""Cleaning of captured clips: flips of joints are repaired, and noise of markers is low-passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import convolve1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.glitches import Flip, repair_flips
from deepphase.motion.kinematics import derivative_sizes, joint_positions
from deepphase.motion.resample import BANDS_HZ, low_passed, low_passed_clip
from deepphase.motion.roles import find_roles
from deepphase.short_repr import brief_repr, counted

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

    Flips are repaired first, see :func:`deepphase.motion.glitches.repair_flips`. Then the spectrum
    of all rotations and translations is compared with motion, whose power falls with a power of the
    frequency, and a constant floor of noise. Where there is a floor, the clip is low-passed,
    forwards and backwards, at the frequency at which the filter takes as much motion as it leaves
    noise, or at a higher one where feet would lose contacts. Fast movements, of which it
    would take much more than the noise, are kept. All joints have one frequency: turns that cancel,
    as those of hips and legs above a planted foot, still do.

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
    if cutoff_hz is None:
        cleaned, cutoff, kept = _without_noise(repaired)
    elif cutoff_hz < _HIGHEST_SHARE * clip.fps:
        cleaned, cutoff, kept = low_passed_clip(repaired, cutoff_hz), float(cutoff_hz), 0.0
    else:
        cleaned, cutoff, kept = repaired, 0.0, 0.0
    if not flips and not cutoff:
        return clip, Cleaning()
    before, after = (joint_positions(each).astype(np.float64) for each in (clip, cleaned))
    moves = np.linalg.norm(after - before, axis=-1)
    return cleaned, Cleaning(
        flips=flips,
        cutoff_hz=cutoff,
        kept=kept,
        mean_move_m=float(moves.mean()),
        largest_move_m=float(moves.max()),
        jerk=_jerk_in_bands(after, clip.fps),
        jerk_before=_jerk_in_bands(before, clip.fps),
    )


def noise_floor(values: Array, fps: float) -> tuple[float, float]:
    """Frequency above which the spectrum is noise, and the noise.

    A low-pass at that frequency takes as much motion as it leaves noise.

    Parameters
    ----------
    values : (frames, columns)
        Rotations and positions in one scale.

    Returns
    -------
    cutoff_hz
        Hertz; infinite where the spectrum has no floor.
    floor
        Power of the noise per hertz, summed over columns; 0 without one.
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
        nnls(np.stack([shares**-each, ones], axis=1) / fitted[:, None], ones) for each in _POWERS
    ]
    best = int(np.argmin([error for _, error in fits]))
    motion, floor = fits[best][0]
    # A floor that motion reaches at the end of the spectrum alone is not seen.
    if not floor > motion * (high / low) ** -_POWERS[best]:
        return np.inf, 0.0
    taken = np.cumsum(np.maximum(power - floor, 0.0)[::-1])[::-1] * frequencies[1]
    balanced = taken <= floor * frequencies
    return float(frequencies[np.argmax(balanced)]), float(floor)


def _without_noise(clip: Clip) -> tuple[Clip, float, float]:
    """The low-passed clip, the frequency and the share of frames with fast movements that are kept.

    The clip itself and zeros where it has no floor of noise.
    """
    frames, fps = len(clip), clip.fps
    rotations = quaternions.sign_continuous(np.asarray(clip.rotations, np.float64))
    places = joint_positions(clip)
    size = float(np.median(np.linalg.norm(np.ptp(places, axis=1), axis=-1)))
    if not size > 0:
        return clip, 0.0, 0.0
    # Twice the components of a quaternion change as the angle does, in radians, without wraps.
    values = np.concatenate(
        [
            2.0 * rotations.reshape(frames, -1),
            clip.translations.reshape(frames, -1).astype(np.float64) / size,
        ],
        axis=1,
    )
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
        quiet = replace(
            clip,
            rotations=quaternions.normalized(turned.reshape(rotations.shape)).astype(
                clip.rotations.dtype
            ),
            translations=(size * moved)
            .reshape(clip.translations.shape)
            .astype(clip.translations.dtype),
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


def _jerk_in_bands(places: Array, fps: float) -> tuple[float, ...]:
    """Mean jerk of joints (frames, joints, 3) below each of `BANDS_HZ`, and of all frequencies."""
    if len(places) < 4:
        return ()
    below = [low_passed(places, edge, fps) for edge in BANDS_HZ]
    return tuple(float(derivative_sizes(each, fps, 3).mean()) for each in (*below, places))


def cleaning_sentences(cleanings: Sequence[Cleaning]) -> list[str]:
    """What cleaning changed in some clips, one sentence for each kind of change."""
    flips = [len(cleaning.flips) for cleaning in cleanings if cleaning.flips]
    cutoffs = sorted(cleaning.cutoff_hz for cleaning in cleanings if cleaning.cutoff_hz)
    sentences = []
    if flips:
        sentences.append(
            f"{counted(sum(flips), 'flip')} of joints repaired in {len(flips)} of "
            f"{counted(len(cleanings), 'clip')}"
        )
    if cutoffs:
        at = f"{cutoffs[0]:.1f}"
        if cutoffs[-1] > cutoffs[0]:
            at += f" to {cutoffs[-1]:.1f}"
        largest = max(cleaning.largest_move_m for cleaning in cleanings if cleaning.cutoff_hz)
        mean = np.mean([cleaning.mean_move_m for cleaning in cleanings if cleaning.cutoff_hz])
        sentences.append(
            f"noise low-passed at {at} Hz in {len(cutoffs)} of {counted(len(cleanings), 'clip')}; "
            f"joints moved by {1000 * mean:.2f} mm on average and {100 * largest:.1f} cm at most"
        )
    if sentences:
        changed = [cleaning for cleaning in cleanings if cleaning.jerk]
        before, after = (
            np.mean([getattr(each, name) for each in changed], axis=0)
            for name in ("jerk_before", "jerk")
        )
        sentences.append(
            f"jerk of changed clips, m/s3: {before[-1]:.0f} -> {after[-1]:.0f}; "
            + ", ".join(
                f"below {edge:g} Hz {old:.0f} -> {new:.0f}"
                for edge, old, new in zip(BANDS_HZ, before, after, strict=False)
            )
        )
    return sentences
