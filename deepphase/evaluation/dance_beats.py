"""Dances on the beats of their songs: beat alignment, and periodicity at the beat and the bar.

Scores of the distance to single beats are at chance even for recorded dances, which follow the bar
and not every beat. Rhythm compares the movement with one period of the song (a beat or a bar) in
counted beats, against shifted tempi. The phase of the movement in the bar is free, so the first
beats of bars need not be known.
"""

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
# Long enough for some ten bars, short enough that one slip of a beat tracker spoils one window.
RHYTHM_WINDOW_S = 20.0
# Ten bars separate two tempi that differ by a tenth; these stay clear of it, and of 3:4 and 4:3,
# which would be the period of another meter.
TEMPO_FACTORS = (0.79, 0.83, 0.87, 1.13, 1.17, 1.21)
_SLOWEST_COUNTED_BPM = 75.0


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


def beat_scores(beats: Array, others: Array) -> Array:
    """(beats,) exp(-d^2 / (2 sigma^2)), d each beat's distance to the nearest of the others.

    Parameters
    ----------
    beats, others : (beats,), (others,)
        Seconds; none of the others scores 0. At a distance of `SIGMA_S` a beat counts 0.61.
    """
    if not len(others):
        return np.zeros(len(beats))
    distance = np.abs(np.asarray(beats)[:, None] - np.asarray(others)).min(axis=1)
    return np.exp(-(distance**2) / (2 * SIGMA_S**2))


def beat_alignment(movement: Array, music: Array, seconds: float) -> BeatAlignment:
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
    by_motion = beat_scores(movement, inside)
    by_music = beat_scores(inside, movement)
    return BeatAlignment(
        float(by_motion.mean()) if len(by_motion) else 0.0,
        float(by_music.mean()) if len(by_music) else 0.0,
        len(movement),
        len(inside),
    )


def beat_alignment_by_chance(
    movement: Array, music: Array, seconds: float, *, draws: int = 200
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
    shifts = np.random.default_rng(0).uniform(0.0, seconds, draws)
    scores = [
        beat_alignment(movement, np.sort((inside + shift) % seconds), seconds) for shift in shifts
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


@dataclass(frozen=True, eq=False)
class Rhythm:
    """How strongly a movement follows a period of its song, window by window.

    Parameters
    ----------
    strength
        (windows,) vector strength of the speed, see :func:`vector_strength`.
    strength_shifted
        (windows,) the same against the song at other tempi: their mean.
    variance
        (windows,) share of the height's variance that the period explains.
    variance_shifted
        (windows,) the same against the song at other tempi.
    """

    strength: Array
    strength_shifted: Array
    variance: Array
    variance_shifted: Array

    def __len__(self) -> int:
        return len(self.strength)


def beat_count(beats: Array, times: Array) -> Array:
    """(times,) beats since the first one, with fractions between; NaN before it and after the last.

    Parameters
    ----------
    beats : (beats,)
        Seconds, rising.
    times
        Seconds, on the same clock.
    """
    beats = np.asarray(beats, np.float64)
    if len(beats) < 2:
        return np.full(np.shape(times), np.nan)
    if not (np.diff(beats) > 0).all():
        raise ParameterError("beats must rise")
    return np.interp(times, beats, np.arange(len(beats)), left=np.nan, right=np.nan)


def counted_beats(beats: Array) -> float:
    """How many of a song's beats make one as it is counted: 1, or 2, 4 ... or 1/2.

    Beat trackers may report a waltz at 87 beats a minute as one at 174. Beats are counted at
    the octave of the tempo that lies from 75 up to 150 a minute; 1 where there are none.
    """
    if len(beats) < 2:
        return 1.0
    tempo_bpm = 60.0 / float(np.median(np.diff(beats)))
    return float(2.0 ** np.floor(np.log2(tempo_bpm / _SLOWEST_COUNTED_BPM)))


def vector_strength(signal: Array, cycles: Array) -> float:
    """How much of a signal gathers at one phase of a cycle: 0 evenly spread, 1 all at one phase.

    `|sum(x exp(2 pi i phi))| / sum(x)`: 1 + a cos(2 pi phi) has a / 2, so a speed that falls to
    zero once in a cycle has 0.5.

    Parameters
    ----------
    signal : (frames,)
        Not negative, as a speed. One that is 0 throughout has 0.
    cycles : (frames,)
        The phase, wrapped or not.

    References
    ----------
    Goldberg and Brown 1969, of events; here of a signal, each frame weighing what it is.
    """
    signal = np.asarray(signal, np.float64)
    if (signal < 0).any():
        raise ParameterError("signal must be 0 or more everywhere")
    total = float(signal.sum())
    if total <= 0:
        return 0.0
    return float(abs(np.sum(signal * np.exp(2j * np.pi * np.asarray(cycles)))) / total)


def explained_by_cycle(signal: Array, cycles: Array, *, harmonics: int = 1) -> float:
    """Share of a signal's variance that a periodic function of the phase explains, 0 to 1.

    Parameters
    ----------
    signal, cycles : (frames,)
        Any signal, and the phase in cycles. A signal that never changes has 0.
    harmonics
        Sinusoids of one, two ... periods a cycle that the function is made of.

    Notes
    -----
    Noise of n independent values has 2 * harmonics / n by chance.
    """
    centred = np.asarray(signal, np.float64) - np.mean(signal, dtype=np.float64)
    power = float(centred @ centred)
    # What only rounding changes does not vary.
    if power <= 1e-18 * len(centred) * (1.0 + np.abs(np.asarray(signal)).max() ** 2):
        return 0.0
    angles = 2 * np.pi * np.outer(np.asarray(cycles), np.arange(1, harmonics + 1))
    basis = np.concatenate([np.cos(angles), np.sin(angles), np.ones((len(centred), 1))], axis=1)
    coefficients, *_ = np.linalg.lstsq(basis, centred, rcond=None)
    rest = centred - basis @ coefficients
    return float(np.clip(1.0 - (rest @ rest) / power, 0.0, 1.0))


def rhythm(
    speed: Array,
    height: Array,
    fps: float,
    beats: Array,
    *,
    beats_per_cycle: float,
) -> Rhythm:
    """How strongly a movement follows every so many beats of a song, and other tempi by chance.

    The frames between the song's first and last beat are cut into windows. In each, the speed has
    its vector strength on the cycle beat / beats_per_cycle, and the height the share of its
    variance that a sinusoid of that cycle explains; the controls are the same numbers where the
    song is that factor faster. A dance that follows no song has both alike.

    Parameters
    ----------
    speed : (frames,)
        m/s, as the mean joint speed.
    height : (frames,)
        Metres, as that of the hips.
    beats : (beats,)
        Seconds of the song's beats, from the first frame on.
    beats_per_cycle
        3 or 4 for a bar, 1 for a beat.
    Returns
    -------
    As many windows of `RHYTHM_WINDOW_S` as fit; a song that is shorter is one window, if it has
    three cycles. None where the song has too few beats.
    """
    if len(speed) != len(height):
        raise ParameterError(
            f"speed and height must have the same number of frames, but have {len(speed)} "
            f"and {len(height)}"
        )
    if not beats_per_cycle > 0:
        raise ParameterError(f"beats_per_cycle must be above 0, not {beats_per_cycle}")
    cycles = beat_count(beats, np.arange(len(speed)) / fps) / beats_per_cycle
    rows = []
    for frames in cycle_windows(cycles, fps, RHYTHM_WINDOW_S):
        shifted = [cycles[frames] * factor for factor in TEMPO_FACTORS]
        rows.append(
            (
                vector_strength(speed[frames], cycles[frames]),
                np.mean([vector_strength(speed[frames], each) for each in shifted]),
                explained_by_cycle(height[frames], cycles[frames]),
                np.mean([explained_by_cycle(height[frames], each) for each in shifted]),
            )
        )
    return Rhythm(*np.array(rows, np.float64).reshape(-1, 4).T)


def cycle_windows(cycles: Array, fps: float, window_s: float = RHYTHM_WINDOW_S) -> list[Array]:
    """Frames (indices) of each window of so many seconds in which at least three cycles pass.

    Parameters
    ----------
    cycles : (frames,)
        Cycles since some moment, NaN where there are none. Where fewer seconds have some, they are
        one window.
    """
    valid = np.flatnonzero(np.isfinite(cycles))
    length = round(window_s * fps)
    if len(valid) < length:
        windows = [valid] if len(valid) else []
    else:
        count = len(valid) // length
        # The rest is shared before and after, not cut from the end alone.
        first = (len(valid) - count * length) // 2
        windows = [valid[first + i * length : first + (i + 1) * length] for i in range(count)]
    return [frames for frames in windows if np.ptp(cycles[frames]) >= 3]
