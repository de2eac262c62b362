"""Beat alignment of dances: kinematic beats, and their distance to the beats of the song."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.kinematics import velocities

# Five frames at 60 a second, as the scores that others report are computed.
SMOOTHING_S = 5 / 60
# Three frames at 60 a second: what 3 means in exp(-d^2 / (2 * 3^2)).
SIGMA_S = 3 / 60


@dataclass(frozen=True)
class BeatAlignment:
    """Both scores that go by the name of beat alignment, each from 0 to 1.

    Parameters
    ----------
    by_motion
        Mean over the beats of the movement of exp(-d^2 / (2 sigma^2)), d the distance in time to
        the nearest beat of the music: are the accents that are danced on a beat? Few accents,
        well placed, score high. Li et al. 2021 (AIST++), eq. 4.
    by_music
        The same mean over the beats of the music, d the distance to the nearest beat of the
        movement: is every beat danced? Many accents, anywhere, score high. Siyao et al. 2022
        (Bailando), and what compares with its code.
    motion_beats, music_beats
        How many there were.
    """

    by_motion: float
    by_music: float
    motion_beats: int
    music_beats: int


def mean_joint_speed(positions: Array, fps: float) -> Array:
    """(frames,) m/s: the mean over joints of their speed in the world.

    Parameters
    ----------
    positions : (frames, joints, 3)
        Metres.
    """
    speed = np.linalg.norm(velocities(positions.astype(np.float64), fps), axis=-1)
    return speed.mean(axis=1)


def motion_beats(speed: Array, fps: float, *, smoothing_s: float = SMOOTHING_S) -> Array:
    """(beats,) seconds of the beats of a movement: local minima of its smoothed speed.

    Parameters
    ----------
    speed : (frames,)
        Of :func:`mean_joint_speed`.
    smoothing_s
        Standard deviation of the Gaussian, in seconds.

    Returns
    -------
    Seconds from the first frame, rising. A body that never slows down has none; of a speed that
    stands still, the middle.

    References
    ----------
    Li et al. 2021 (AIST++), section 5.2.2: local minima of the kinetic velocity.
    """
    if speed.ndim != 1:
        raise ParameterError(f"speed must have shape (frames,), not {speed.shape}")
    if len(speed) < 3:
        return np.zeros(0)
    smooth = gaussian_filter1d(speed.astype(np.float64), smoothing_s * fps, mode="nearest")
    step = np.diff(smooth)
    # Where the speed falls, stays for any time, and rises again.
    moving = np.flatnonzero(step != 0.0)
    turns = np.flatnonzero((step[moving][:-1] < 0) & (step[moving][1:] > 0))
    return 0.5 * (moving[turns] + 1 + moving[turns + 1]) / fps


def beat_scores(beats: Array, others: Array, *, sigma_s: float = SIGMA_S) -> Array:
    """(beats,) exp(-d^2 / (2 sigma^2)), d each beat's distance to the nearest of the others.

    Parameters
    ----------
    beats, others : (beats,), (others,)
        Seconds; none of the others scores 0.
    sigma_s
        Seconds: at that distance a beat still counts 0.61.
    """
    if not sigma_s > 0:
        raise ParameterError(f"sigma_s must be above 0, not {sigma_s}")
    if not len(others):
        return np.zeros(len(beats))
    distance = np.abs(np.asarray(beats)[:, None] - np.asarray(others)).min(axis=1)
    return np.exp(-(distance**2) / (2 * sigma_s**2))


def beat_alignment(
    movement: Array, music: Array, seconds: float, *, sigma_s: float = SIGMA_S
) -> BeatAlignment:
    """Both beat alignments of a dance; NaN never: without beats on one side both are 0.

    Parameters
    ----------
    movement : (beats,)
        Seconds of the movement's beats from its first frame.
    music : (beats,)
        Seconds of the song's, on the same clock; those outside of the dance do not count.
    seconds
        How long the dance is.
    """
    inside = _inside(music, seconds)
    by_motion = beat_scores(movement, inside, sigma_s=sigma_s)
    by_music = beat_scores(inside, movement, sigma_s=sigma_s)
    return BeatAlignment(
        float(by_motion.mean()) if len(by_motion) else 0.0,
        float(by_music.mean()) if len(by_music) else 0.0,
        len(movement),
        len(inside),
    )


def beat_alignment_by_chance(
    movement: Array,
    music: Array,
    seconds: float,
    *,
    sigma_s: float = SIGMA_S,
    draws: int = 200,
    seed: int = 0,
) -> BeatAlignment:
    """Both scores by chance: their mean over shifts of the song against the dance.

    The song's beats keep their rhythm and are shifted by a random time round the dance, which
    keeps how many beats there are and how evenly they lie, all that raises a score by itself.
    """
    if not seconds > 0 or draws < 1:
        raise ParameterError(
            f"seconds must be above 0 and draws at least 1, not {seconds} and {draws}"
        )
    inside = _inside(music, seconds)
    shifts = np.random.default_rng(seed).uniform(0.0, seconds, draws)
    scores = [
        beat_alignment(movement, np.sort((inside + shift) % seconds), seconds, sigma_s=sigma_s)
        for shift in shifts
    ]
    return BeatAlignment(
        float(np.mean([each.by_motion for each in scores])),
        float(np.mean([each.by_music for each in scores])),
        len(movement),
        len(inside),
    )


def _inside(music: Array, seconds: float) -> Array:
    music = np.asarray(music, np.float64)
    return music[(music >= 0) & (music <= seconds)]
