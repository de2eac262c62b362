"""Measures of dances: the beat and the bar of the song, and the movement beside recorded dances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.signal import welch

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.evaluation.motion_measures import foot_speeds, joint_jerks
from deepphase.formats.array_file import fitting_parts
from deepphase.motion.clip import Clip, global_transforms, joint_positions, velocities
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import Roles, find_roles
from deepphase.music.features import SongFeatures

_BAR = "share of the hips' height that a sinusoid of the song's bar explains, 20 s windows"
DANCE_MEASURES = {
    "by_motion": ("", "more", "beat alignment (AIST++): mean over beats of the movement of "
                  "exp(-d^2 / (2 s^2)), d to the nearest beat of the song, s = 0.05 s",
                  "moves on the beat"),
    "by_motion_chance": ("", "", "the same with the song shifted round the dance",
                         "on the beat by chance"),
    "by_steps": ("", "more", "the same of the moments at which feet begin to touch the floor",
                 "steps on the beat"),
    "by_steps_chance": ("", "", "the same with the song shifted round the dance",
                        "steps on the beat by chance"),
    "bar_height": ("", "more", f"{_BAR}; recorded dances follow the bar more than the beat",
                   "hips follow the bar"),
    "bar_height_shifted": ("", "", "the same with the song 13 to 21 % faster or slower",
                           "hips follow bars of another tempo"),
    "speed": ("m/s", "like the data", "mean over joints and frames"),
    "jerk": ("m/s3", "like the data", "mean over points of the body and frames"),
    "sliding": ("m/s", "less", "mean speed over the ground of feet in contact", "feet slide"),
    "repeat": ("m", "like the data",
               "distance of each two seconds from the nearest other two of the dance",
               "distance of repeated passages"),
}  # fmt: skip
"""Measure of a dance -> unit, which values are better, definition, and words for its name."""

# Smoothing of the speed, and the scale of distances between beats: 5 and 3 frames at 60 a second.
_SMOOTHING_S, _SIGMA_S = 5 / 60, 3 / 60
# Random shifts of a song over which the chance level is averaged.
_DRAWS = 60
# Ten bars separate two tempi that differ by a tenth; these stay clear of that, and of 3:4 and 4:3,
# which would be the period of another metre.
_TEMPO_FACTORS = (0.79, 0.83, 0.87, 1.13, 1.17, 1.21)
# Some ten bars; one slip of a beat tracker spoils one window.
_WINDOW_S = 20.0
# Length of the pieces of a dance, seconds between two, samples of each, and the least time between
# two that are compared.
_PIECE_S, _HOP_S, _SAMPLES, _APART_S = 2.0, 0.25, 8, 2.0
# Seconds that a spectrum is taken over, and the share of its power that is a body's movement.
_SPECTRUM_S, _MOVEMENT = 4.0, 0.95
_SIDED = ("hip", "knee", "foot", "toe", "shoulder", "elbow", "hand")
_UP = np.array([0.0, 1.0, 0.0])


def body_points(positions: Array, roles: Roles) -> dict[str, Array]:
    """(frames, 3) metres each: the points that every body has, as in "left_knee"."""
    lacking = [part for part in _SIDED if part != "toe" and roles.both(part) is None]
    if lacking:
        raise SkeletonError(
            f"features of a dance need left and right {', '.join(lacking)}, which this "
            "skeleton does not have",
            hint="name them in a skeleton description (left_knee, right_knee, ...)",
        )
    points: dict[str, Array] = {}
    for part in _SIDED:
        # Feet without toes end at the ankle.
        pair = roles.both(part) or roles.both("foot")
        assert pair is not None
        for side, joint in zip(("left", "right"), pair, strict=True):
            points[f"{side}_{part}"] = positions[:, joint].astype(np.float64)
    points["root"] = 0.5 * (points["left_hip"] + points["right_hip"])
    points["neck"] = 0.5 * (points["left_shoulder"] + points["right_shoulder"])
    return points


def body_of_clip(clip: Clip, roles: Roles | None = None) -> tuple[dict[str, Array], Array]:
    """`body_points` of a clip, and (frames, points, 3) all of them, sorted by name."""
    roles = find_roles(clip.skeleton, clip=clip) if roles is None else roles
    points = body_points(joint_positions(clip), roles)
    return points, _stacked(points)


def _stacked(points: Mapping[str, Array]) -> Array:
    return np.stack([points[name] for name in sorted(points)], axis=1)


def mean_joint_speed(positions: Array, fps: float) -> Array:
    """(frames,) m/s: mean over (frames, points, 3) points of their speed in the world."""
    speed = np.linalg.norm(velocities(positions.astype(np.float64), fps), axis=-1)
    return np.asarray(speed.mean(axis=1))


def bandwidth_hz(positions: Array, fps: float) -> float:
    """Hz below which 95 % of the power of the accelerations of (frames, joints, 3) points lies."""
    if len(positions) < 3:
        return 0.5 * fps
    acceleration = np.diff(positions.astype(np.float64), 2, axis=0) * fps**2
    signals = acceleration.reshape(len(acceleration), -1).T
    length = min(len(acceleration), round(_SPECTRUM_S * fps))
    hertz, power = welch(signals, fs=fps, nperseg=length)
    total = np.cumsum(power.sum(axis=0))
    if not total[-1] > 0:
        return 0.5 * fps
    return float(np.interp(_MOVEMENT * total[-1], total, hertz))


def motion_beats(speed: Array, fps: float) -> Array:
    """(beats,) seconds of the beats of a movement: local minima of its smoothed speed.

    Li et al. 2021 (AIST++), section 5.2.2: local minima of the kinetic velocity.
    """
    if len(speed) < 3:
        return np.zeros(0)
    smooth = gaussian_filter1d(speed.astype(np.float64), _SMOOTHING_S * fps, mode="nearest")
    step = np.diff(smooth)
    # Where the speed falls, stays for any time, and rises again: the middle.
    moving = np.flatnonzero(step != 0.0)
    turns = np.flatnonzero((step[moving][:-1] < 0) & (step[moving][1:] > 0))
    return np.asarray(0.5 * (moving[turns] + 1 + moving[turns + 1]) / fps)


def foot_strikes(flags: Array, fps: float) -> Array:
    """(strikes,) seconds of the first frames of contacts; `flags` (frames, feet) bool."""
    return np.asarray((np.nonzero(flags[1:] & ~flags[:-1])[0] + 1) / fps)


def beat_alignment(movement: Array, music: Array) -> float:
    """Mean over beats of a movement of exp(-d^2 / (2 s^2)), d to the nearest beat of the music.

    Li et al. 2021 (AIST++), eq. 4.
    """
    if not len(movement) or not len(music):
        return 0.0
    distances = np.abs(movement[:, None] - music).min(axis=1)
    return float(np.exp(-(distances**2) / (2 * _SIGMA_S**2)).mean())


def beat_alignment_by_chance(movement: Array, music: Array, seconds: float) -> float:
    """Mean of `beat_alignment` with the music shifted round a dance of so many seconds."""
    shifts = np.random.default_rng(0).uniform(0.0, seconds, _DRAWS)
    return float(np.mean([beat_alignment(movement, (music + s) % seconds) for s in shifts]))


def cycle_fit(signal: Array, cycles: Array) -> tuple[complex, float]:
    """The sinusoid of a phase, in cycles, that fits a signal best.

    Returns its amplitude over the signal's, whose angle is the phase at which the sinusoid is
    largest; and the share of the variance that it explains, 0 to 1. 0 for a constant signal.
    """
    centred = np.asarray(signal, np.float64) - np.mean(signal, dtype=np.float64)
    deviation = float(centred.std())
    # A signal that only rounding changes is constant.
    if deviation <= 1e-9 * (1.0 + float(np.abs(signal).max())):
        return 0j, 0.0
    angles = 2 * np.pi * np.asarray(cycles)
    basis = np.stack([np.cos(angles), np.sin(angles), np.ones(len(angles))], axis=1)
    coefficients = np.linalg.lstsq(basis, centred, rcond=None)[0]
    rest = float(np.mean((centred - basis @ coefficients) ** 2))
    amplitude = complex(coefficients[0], coefficients[1]) / (np.sqrt(2.0) * deviation)
    return amplitude, min(max(1.0 - rest / deviation**2, 0.0), 1.0)


def cycles_at(beats: Array, times: Array) -> Array:
    """(times,) beats since the first one, with fractions; NaN before it and after the last."""
    beats = np.asarray(beats, np.float64)
    if len(beats) < 2:
        return np.full(np.shape(times), np.nan)
    return np.interp(times, beats, np.arange(len(beats)), left=np.nan, right=np.nan)


def cycle_windows(cycles: Array, fps: float) -> list[Array]:
    """Frames of each window of 20 s in which three cycles pass, or of one shorter window."""
    valid = np.flatnonzero(np.isfinite(cycles))
    length = round(_WINDOW_S * fps)
    count = max(len(valid) // length, 1)
    if len(valid) > length:
        # The rest is cut off before and after.
        first = (len(valid) - count * length) // 2
        valid = valid[first : first + count * length]
    windows = np.split(valid, count)
    return [frames for frames in windows if len(frames) and np.ptp(cycles[frames]) >= 3]


def dance_pieces(points: Mapping[str, Array], fps: float) -> Array:
    """(pieces, values) pieces of two seconds, a quarter of a second apart.

    Their distances are root mean squares over points of the body and time, in metres: poses are
    relative to the middle of the hips and to their facing.
    """
    across = (points["left_hip"] - points["right_hip"]) * np.array([1.0, 0.0, 1.0])
    across /= np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-9)
    axes = np.stack([across, np.broadcast_to(_UP, across.shape), np.cross(across, _UP)], axis=1)
    names = sorted(name for name in points if "_" in name)
    body = np.stack([points[name] for name in names], axis=1) - points["root"][:, None]
    local = np.einsum("fac,fpc->fpa", axes, body)
    step = _PIECE_S / _SAMPLES * fps
    count = int((len(local) - 1 - (_SAMPLES - 1) * step) // (_HOP_S * fps)) + 1
    starts = np.arange(max(count, 0)) * _HOP_S * fps
    frames = np.rint(starts[:, None] + np.arange(_SAMPLES) * step).astype(np.intp)
    scale = 1.0 / np.sqrt(_SAMPLES * len(names))
    return scale * local[frames].reshape(len(frames), _SAMPLES * len(names) * 3)


def nearest_repeats(pieces: Array) -> Array:
    """(n,) metres from each piece to the nearest one that begins two seconds away or more."""
    apart = round(_APART_S / _HOP_S)
    if len(pieces) <= apart:
        return np.zeros(0)
    squares = np.einsum("nd,nd->n", pieces, pieces)
    products = squares[:, None] + squares - 2.0 * pieces @ pieces.T
    distances = np.sqrt(np.maximum(products, 0.0))
    index = np.arange(len(pieces))
    distances[np.abs(index[:, None] - index) < apart] = np.inf
    nearest = distances.min(axis=1)
    return np.asarray(nearest[np.isfinite(nearest)])


def measure_dance(clip: Clip, song: SongFeatures | None, start_s: float) -> dict[str, float]:
    """Measures of a dance by the names of `DANCE_MEASURES`."""
    if clip.duration < 1.0:
        raise ParameterError(
            f"{clip.name}: a dance must last 1 s or more, not {clip.duration:.2f} s",
            hint="give longer dances",
        )
    roles = find_roles(clip.skeleton, clip=clip)
    transforms = global_transforms(clip)
    points = body_points(transforms[1], roles)
    body = _stacked(points)
    speed = mean_joint_speed(body, clip.fps)
    flags = foot_contacts(clip, roles, transforms=transforms).flags[:, :2]
    found: dict[str, float] = {}
    if song is not None and song.has_beat:
        music = np.asarray(song.beats_s) - start_s
        music = music[(music >= 0) & (music <= clip.duration)]
        moments = {
            "by_motion": motion_beats(speed, clip.fps),
            "by_steps": foot_strikes(flags, clip.fps),
        }
        for name, own in moments.items():
            found[name] = beat_alignment(own, music)
            found[f"{name}_chance"] = beat_alignment_by_chance(own, music, clip.duration)
        found |= _bar_measures(points["root"][:, 1], clip.fps, song, start_s)
    found["speed"] = float(speed.mean())
    found["jerk"] = float(joint_jerks(body, clip.fps).mean())
    feet = [
        np.stack([points[f"{side}_foot"], points[f"{side}_toe"]], axis=1)
        for side in ("left", "right")
    ]
    sliding = foot_speeds(feet, clip.fps)[flags[1:] & flags[:-1]]
    if len(sliding):
        found["sliding"] = float(sliding.mean())
    repeats = nearest_repeats(dance_pieces(points, clip.fps))
    if len(repeats):
        found["repeat"] = float(repeats.mean())
    return found


def _bar_measures(
    height: Array, fps: float, song: SongFeatures, start_s: float
) -> dict[str, float]:
    found = bar_shares(height, fps, song, start_s)
    return {} if found is None else {"bar_height": found[0], "bar_height_shifted": found[1]}


def bar_shares(
    signal: Array, fps: float, song: SongFeatures, start_s: float, *, parts: tuple[int, ...] = (1,)
) -> tuple[float, float] | None:
    """Shares of a signal's variance that bars explain: those of the song, and of other tempi.

    Parameters
    ----------
    signal
        (frames,) values from second `start_s` of the song on.
    parts
        Cycles in a bar of the sinusoids whose shares are summed: 2 is half a bar.

    Returns
    -------
    0 to 1, means over windows of 20 s; None where the bars of the song are not known or too few.
    """
    if song.downbeats_s is None:
        return None
    bars = cycles_at(np.asarray(song.downbeats_s) - start_s, np.arange(len(signal)) / fps)
    rows = [
        [
            sum(cycle_fit(signal[some], part * factor * bars[some])[1] for part in parts)
            for factor in (1.0, *_TEMPO_FACTORS)
        ]
        for some in cycle_windows(bars, fps)
    ]
    if not rows:
        return None
    own, *shifted = np.mean(rows, axis=0)
    return float(own), float(np.mean(shifted))


@dataclass(frozen=True)
class DanceReference:
    """What recorded dances are like.

    `usual_speed` in m/s: median over seconds of the mean joint speed.
    """

    values: Mapping[str, float]
    dances: int
    minutes: float
    usual_speed: float
    bandwidth_hz: float

    @classmethod
    def from_clips(cls, clips: Sequence[Clip], songs: Sequence[SongFeatures]) -> DanceReference:
        """Measure dances, each to its song."""
        rows, speeds, bandwidths = [], [], []
        for clip, song in zip(clips, songs, strict=True):
            rows.append(measure_dance(clip, song, clip.source.song_start_s))
            speed, second = mean_joint_speed(body_of_clip(clip)[1], clip.fps), round(clip.fps)
            seconds = max(len(speed) // second, 1)
            speeds += [part.mean() for part in np.array_split(speed, seconds)]
            bandwidths.append(bandwidth_hz(joint_positions(clip), clip.fps))
        return cls(
            mean_values(rows),
            len(clips),
            sum(clip.duration for clip in clips) / 60.0,
            float(np.median(speeds)),
            float(np.mean(bandwidths)),
        )

    def as_mapping(self) -> dict[str, Any]:
        """What `from_mapping` reads, and a file's header holds."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> DanceReference:
        """The reference that `as_mapping` wrote; raises CheckpointError if it is invalid."""
        with fitting_parts("dance reference", "train the dancer again"):
            return cls(
                {str(name): float(value) for name, value in content["values"].items()},
                int(content["dances"]),
                *(float(content[n]) for n in ("minutes", "usual_speed", "bandwidth_hz")),
            )


def mean_values(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Name -> mean over the rows that have it."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: float(np.mean([row[name] for row in rows if name in row])) for name in names}


# A dance is on the beat, or follows the bars, if its score is so many times the score by chance.
_OVER_CHANCE, _OVER_SHIFTED = 1.1, 1.5
# Below this share of the hips' height that the bars explain, they are invisible.
_MIN_SHARE = 0.05


@dataclass(frozen=True)
class DanceFinding:
    """What the measures of a dance say, and whether that is as hoped."""

    text: str
    good: bool


def dance_findings(
    values: Mapping[str, float], recorded: Mapping[str, float]
) -> tuple[DanceFinding, ...]:
    """Whether a dance is on the beat and follows the bars of its song more than by chance."""
    found: list[DanceFinding] = []

    def add(name: str, good: bool, text: str) -> None:
        beside = f"; recorded dances {recorded[name]:.3g}" if name in recorded else ""
        found.append(DanceFinding(text + beside, good))

    if "by_motion" in values:
        own, chance = values["by_motion"], values["by_motion_chance"]
        good = own > _OVER_CHANCE * chance
        add(
            "by_motion",
            good,
            f"the movement is on the beat {'more' if good else 'no more'} often than by chance: "
            f"beat alignment {own:.3g}, by chance {chance:.3g}",
        )
    if "bar_height" in values:
        own, shifted = values["bar_height"], values["bar_height_shifted"]
        good = own > _MIN_SHARE and own > _OVER_SHIFTED * shifted
        add(
            "bar_height",
            good,
            f"the hips {'follow' if good else 'do not follow'} the bars: these explain {own:.2g} "
            f"of their height, bars of another tempo {shifted:.2g}",
        )
    return tuple(found)
