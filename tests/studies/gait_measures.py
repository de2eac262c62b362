"""Measures of gaits: order of footfalls, life of head, trunk and tail, depth, and sliding of feet.

They are values at speeds of the root, so that a motion is compared with captured motion that is
equally fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.captured_data import means_by_speed
from deepphase.evaluation.motion_measures import MeasuredBody, MeasuredMotion, foot_points
from deepphase.evaluation.run_measures import ratio_at_speed
from deepphase.motion.clip import Clip, global_transforms, velocities
from deepphase.motion.resample import low_passed
from deepphase.motion.roles import TRUNK, body_parts, find_roles

# Strides are looked for in windows of this length, at these rates, Hz.
_WINDOW_S, _STRIDE_S, _STRIDE_HZ = 2.0, 0.5, (0.6, 4.5)
# Length of the transform as a multiple of the window's, for a fine grid of frequencies.
_PADDING = 8
# Feet that move less than this fore and aft, as a share of the farthest stride, do not step.
_MIN_STRIDE_M = 0.02
# Left and right feet that are within this share of a cycle of opposite make a symmetrical gait,
# and a fore foot that is within this share of a quarter has its name (Hildebrand 1965).
_SYMMETRICAL, _QUARTER = 0.15, 0.125
CUTOFF_HZ = 8.0
"""Hz: joints' speeds are taken below it, since the noise of a capture lies above."""
LIVELY_PARTS = ("head", TRUNK, "tail")
"""Parts of a body whose speed is compared; a body without a part has no value of it."""
GAITS = ("pace", "walk", "trot", "diagonal walk", "canter or gallop")
"""Names of gaits, in the order of their numbers."""


@dataclass(frozen=True, eq=False)
class Footfalls:
    """Strides in windows of two seconds in which a body travels.

    References
    ----------
    Hildebrand 1965, Symmetrical gaits of horses. Lags here are of the fundamental of the feet's
    motion fore and aft, in place of touch-downs, which need contacts.
    """

    speeds: Array  # (windows,) m/s of the root
    frequencies: Array  # (windows,) Hz: strides a second
    # (windows,) cycles in [0, 1) by which a fore foot follows the hind foot of its side, of which
    # both sides are averaged: 0 in a pace, .25 in a walk, .5 in a trot; nan for bipeds.
    fore_lags: Array
    # (windows,) cycles in [0, 1) by which the right (hind) foot follows the left one: .5 in
    # symmetrical gaits.
    side_lags: Array

    def __len__(self) -> int:
        return len(self.speeds)

    @classmethod
    def of_motions(cls, motions: Iterable[MeasuredMotion]) -> Footfalls:
        """Footfalls of motions whose feet are left and right, hind feet before fore feet."""
        rows = [row for motion in motions for row in _windows(motion)]
        return cls(*np.array(rows, np.float64).reshape(-1, len(fields(cls))).T)

    @property
    def gaits(self) -> Array:
        """(windows,) numbers of `GAITS`; bipeds walk."""
        quarters = np.floor(((self.fore_lags + _QUARTER) % 1.0) / (2.0 * _QUARTER))
        names = np.where(np.isnan(quarters), 1, quarters).astype(np.int64)
        return np.where(np.abs(self.side_lags - 0.5) > _SYMMETRICAL, len(GAITS) - 1, names)

    def between(self, low: float, high: float) -> Footfalls:
        """The windows with speeds from `low` up to `high` m/s."""
        chosen = (self.speeds >= low) & (self.speeds < high)
        return Footfalls(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @property
    def mean_fore_lag(self) -> float:
        """Circular mean of the lags of the fore feet in symmetrical gaits, cycles; nan if none."""
        lags = self.fore_lags[self.gaits < len(GAITS) - 1]
        return (
            float(np.angle(np.exp(2j * np.pi * lags).sum()) / (2 * np.pi) % 1.0)
            if len(lags)
            else float("nan")
        )

    def gait_shares(self) -> dict[str, float]:
        """Share of the windows of each gait that occurs."""
        counts = np.bincount(self.gaits, minlength=len(GAITS)) / max(len(self), 1)
        return {name: float(share) for name, share in zip(GAITS, counts, strict=True) if share}


def _windows(motion: MeasuredMotion) -> list[tuple[float, float, float, float]]:
    """A row for each window, as the fields of `Footfalls`."""
    frames, step = round(_WINDOW_S * motion.fps), round(_STRIDE_S * motion.fps)
    feet = motion.feet[..., ::2] - motion.root_positions[:, None]
    ahead = np.stack([np.sin(motion.root_angles), np.cos(motion.root_angles)], axis=-1)
    along = np.einsum("tfc,tc->tf", feet, ahead)
    speeds, taper = motion.speeds, np.hanning(frames)[:, None]
    rates = np.fft.rfftfreq(_PADDING * frames, 1.0 / motion.fps)
    inside = (rates >= _STRIDE_HZ[0]) & (rates <= _STRIDE_HZ[1])
    rows = []
    for start in range(0, len(motion) - frames + 1, step):
        speed = float(speeds[start : start + frames].mean())
        if speed < motion.standing_speed or along.shape[1] < 2:
            continue
        window = along[start : start + frames]
        waves = np.fft.rfft((window - window.mean(axis=0)) * taper, _PADDING * frames, axis=0)
        power = np.where(inside, np.square(np.abs(waves)).sum(axis=1), 0.0)
        peak = int(power.argmax())
        wave = waves[peak]
        if 4.0 * np.abs(wave).max() / taper.sum() < _MIN_STRIDE_M:
            continue
        side = _lag(wave[0] * np.conj(wave[1]))
        fore = float("nan")
        if len(wave) >= 4:
            fore = _lag((wave[:2] * np.conj(wave[2:4])).sum())
        rows.append((speed, float(rates[peak]), fore, side))
    return rows


def _lag(product: complex) -> float:
    """Cycles by which the second of two waves follows the first, of wave * conj(second)."""
    return float(np.angle(product) / (2.0 * np.pi) % 1.0)


def lively_speeds(clip: Clip, body: MeasuredBody, motion: MeasuredMotion) -> dict[str, Array]:
    """Part -> (frames,) m/s: mean speed relative to the root of head, trunk and tail below 8 Hz."""
    roles = find_roles(clip.skeleton, description=dict(body.body), clip=clip)
    of_joint = dict(zip(clip.skeleton.names, body_parts(clip.skeleton, roles), strict=True))
    parts = np.array([of_joint[name] for name in body.joints])
    places = low_passed(motion.poses.astype(np.float64), CUTOFF_HZ, clip.fps)
    speeds = np.linalg.norm(velocities(places, clip.fps), axis=-1)
    return {
        part: speeds[:, parts == part].mean(axis=1)
        for part in LIVELY_PARTS
        if (parts == part).any()
    }


def lowest_points(clip: Clip, body: MeasuredBody) -> Array:
    """(frames, feet) metres: height of each foot's lowest joint or tip."""
    feet = [clip.skeleton.index(name) for name in body.feet]
    points = foot_points(clip, feet, global_transforms(clip))
    return np.stack([each[..., 1].min(axis=1) for each in points], axis=1)


@dataclass(frozen=True, eq=False)
class GaitReference:
    """Captured motion that runs are compared with at equal speeds."""

    footfalls: Footfalls  # Of all clips
    # Means by speed of `lively_speeds` and of ``sliding``, m/s of feet in contact.
    means: dict[str, object]
    # (feet,) metres: the lowest place of each foot in any clip, 0.1th percentile of its frames.
    floors: Array

    @classmethod
    def of_clips(cls, clips: Iterable[Clip], body: MeasuredBody) -> GaitReference:
        """The reference of captured clips of one skeleton.

        Raises
        ------
        ParameterError
            If there are no clips.
        """
        motions, values, lows = [], [], []
        for clip in clips:
            motion = MeasuredMotion(clip, body)
            motions.append(motion)
            values.append(lively_speeds(clip, body, motion))
            lows.append(lowest_points(clip, body))
        if not motions:
            raise ParameterError("there are no clips to compare with", hint="give one or more")
        speeds = np.concatenate([motion.smoothed_speeds for motion in motions])
        width = motions[0].standing_speed
        measures = {part: np.concatenate([each[part] for each in values]) for part in values[0]}
        measures["jerk"] = np.concatenate([motion.jerks for motion in motions])
        means = means_by_speed(speeds, measures, width)
        slid = [_sliding(motion, motion.contacts) for motion in motions]
        at, moved = (np.concatenate(each) for each in zip(*slid, strict=True))
        means["sliding"] = means_by_speed(at, {"sliding": moved}, width)["sliding"]
        floors = np.percentile(np.concatenate(lows), 0.1, axis=0)
        return cls(Footfalls.of_motions(motions), means, floors)

    def liveliness(self, clip: Clip, body: MeasuredBody) -> dict[str, float | None]:
        """Part -> mean speed over the data's at the same speeds of the root."""
        motion = MeasuredMotion(clip, body)
        return {
            part: ratio_at_speed(motion.smoothed_speeds, values, part, self.means)
            for part, values in lively_speeds(clip, body, motion).items()
        }

    def sliding(self, motion: MeasuredMotion, contacts: Array | None = None) -> float | None:
        """Mean speed of feet in contact over the data's at the same speeds of the root.

        `contacts` are by default those that are detected, as in the data.
        """
        at, moved = _sliding(motion, motion.contacts if contacts is None else contacts)
        return ratio_at_speed(at, moved, "sliding", self.means) if len(at) else None

    def ratio(self, motion: MeasuredMotion, measure: str) -> float | None:
        """Mean of a measure of `MeasuredMotion.by_speed` over the data's at the same speeds."""
        values = motion.by_speed[measure]
        return ratio_at_speed(motion.smoothed_speeds, values, measure, self.means)

    def depths(self, clip: Clip, body: MeasuredBody) -> Array:
        """(feet,) metres by which each foot's lowest point is below the data's lowest place."""
        return np.maximum(self.floors - lowest_points(clip, body).min(axis=0), 0.0)


def _sliding(motion: MeasuredMotion, contacts: Array) -> tuple[Array, Array]:
    """(n,) m/s of the root, and of the slowest point, of feet in contact in two frames."""
    both = contacts[1:] & contacts[:-1]
    speeds = np.broadcast_to(motion.smoothed_speeds[1:, None], both.shape)
    return speeds[both], motion.foot_speeds[both]
