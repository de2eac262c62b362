"""Form of a song and of the dance to it: bars that repeat, and the energy of both."""

from __future__ import annotations

import string
from collections.abc import Sequence

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.root_trajectory import RootTrajectory, to_root_space
from deepphase.music.features import SongFeatures
from deepphase.viewer.take import Curve, Marker, Row

# Beats of a bar whose metre is not known, and seconds of one without beats.
_BEATS, _BAR_S = 4, 2.0
# Samples of a bar that is compared, and seconds that energies are smoothed over.
_SAMPLES, _SMOOTHING_S = 16, 0.4
# Seconds that the sound of bars is smoothed over before they are compared.
_SOUND_SMOOTHING_S = 0.1
# Bars are alike whose distance is below this share of that of usual bars: of songs, and of dances.
_ALIKE_SONG, _ALIKE_DANCE = 0.6, 0.6
# Percentiles of an energy that are drawn as 0 and 1.
_RANGE = (2, 98)


def bar_times(song: SongFeatures, start_s: float, seconds: float) -> Array:
    """(bars + 1,) seconds from the start at which whole bars begin.

    They are the song's bars, or else four beats, or two seconds where there is no beat.
    """
    if song.has_beat and song.downbeats_s is not None:
        times = song.downbeats_s
    elif song.has_beat:
        times = song.beats_s[::_BEATS]
    else:
        times = np.arange(0.0, song.duration_s, _BAR_S)
    times = np.asarray(times, np.float64) - start_s
    return times[(times >= -1e-6) & (times <= seconds + 1e-6)]


def form_rows(
    song: SongFeatures, clip: Clip, root: RootTrajectory, start_s: float
) -> tuple[Row, ...]:
    """Bars of a song and of its dance, each with the letter of the first bar that it repeats."""
    bars = bar_times(song, start_s, clip.duration)
    if len(bars) < 3:
        return ()
    # What sounds: pitches and timbre, each block at the same scale.
    blocks = [song.blocks[name] for name in ("chroma", "mfcc")]
    sound = np.concatenate([each / max(float(each.std()), 1e-9) for each in blocks], axis=1)
    sound = gaussian_filter1d(sound, _SOUND_SMOOTHING_S * song.fps, axis=0)
    song_bars = _sampled(sound, song.fps, bars + start_s)
    dance_bars = _sampled(_poses(clip, root), clip.fps, bars)
    return (
        Row("Song's bars", _markers(repeated_bars(song_bars, _ALIKE_SONG), bars)),
        Row("Dance's bars", _markers(repeated_bars(dance_bars, _ALIKE_DANCE), bars)),
    )


def repeated_bars(bars: Array, alike: float) -> list[int]:
    """For each bar the number of the first bar that it is like, in the order of their first bars.

    Parameters
    ----------
    bars
        (bars, values) what is compared.
    alike
        Bars are alike whose distance is below this share of the median distance of all bars.
    """
    apart = np.linalg.norm(bars[:, None] - bars, axis=2)
    limit = alike * float(np.median(apart[~np.eye(len(bars), dtype=bool)]))
    firsts: list[int] = []
    numbers = []
    for bar in range(len(bars)):
        nearest = min(range(len(firsts)), key=lambda at: apart[bar, firsts[at]], default=None)
        if nearest is None or apart[bar, firsts[nearest]] >= limit:
            nearest = len(firsts)
            firsts.append(bar)
        numbers.append(nearest)
    return numbers


def energy_curve(song: SongFeatures, clip: Clip, start_s: float) -> Curve:
    """Loudness of the song and speed of the joints, each in its own range from 0 to 1."""
    positions = joint_positions(clip)
    speed = np.linalg.norm(np.gradient(positions, axis=0), axis=-1).mean(axis=1) * clip.fps
    first = round(start_s * song.fps)
    loudness = song.blocks["mel"][first:].mean(axis=1)
    times = np.arange(len(clip)) / clip.fps * song.fps
    loudness = np.interp(times, np.arange(len(loudness)), loudness)
    lines = [gaussian_filter1d(each, _SMOOTHING_S * clip.fps) for each in (loudness, speed)]
    return Curve(
        "energy", "0 to 1", np.stack([_in_range(e) for e in lines], 1), clip.fps, ("song", "dance")
    )


def _in_range(values: Array) -> Array:
    low, high = np.percentile(values, _RANGE)
    return np.clip((values - low) / max(high - low, 1e-9), 0.0, 1.0)


def _poses(clip: Clip, root: RootTrajectory) -> Array:
    """(frames, 3 * joints) metres: the joints around the root on the ground, facing +Z."""
    return to_root_space(joint_positions(clip), root).reshape(len(clip), -1)


def _sampled(values: Array, fps: float, bars: Array) -> Array:
    """(bars, samples * values) of values, (frames, values), at even times of each bar."""
    inside = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    times = bars[:-1, None] + inside * np.diff(bars)[:, None]
    frames = np.clip(np.rint(times * fps).astype(int), 0, len(values) - 1)
    return values[frames].reshape(len(times), -1)


def _markers(numbers: Sequence[int], bars: Array) -> tuple[Marker, ...]:
    letters = string.ascii_uppercase
    return tuple(
        Marker(
            letters[number % 26] + (str(number // 26) if number >= 26 else ""),
            float(begin),
            float(end),
        )
        for number, begin, end in zip(numbers, bars[:-1], bars[1:], strict=True)
    )
