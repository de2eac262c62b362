"""Rest of characters that stand: captured moments of rest, chained without a visible loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.steering.springs import wrapped_angle


@dataclass(frozen=True)
class RestConstants:
    """Constants of rest that no application changes; exported for other runtimes."""

    # shortest_s, entry_s, left_s: Seconds of the shortest stretch of rest, between two rows at
    # which one may be entered, and left of it after these, where it is that long.
    shortest_s: float = 0.4
    entry_s: float = 0.1
    left_s: float = 1.0
    other_style: float = 0.05  # Metres that are added to the distance of a pose of another style
    # other_posture, posture: Metres from which on a pose of another style is another posture, such
    # as sitting, and those that are added for it.
    other_posture: float = 0.1
    posture: float = 10.0
    # A body in another posture than all of its style's, and near one of another style, is left to
    # its own motion for these seconds before it rests.
    changing_s: float = 4.0
    # again, again_s: Metres that are added for a stretch that was played in the last seconds, and
    # these.
    again: float = 1.0
    again_s: float = 12.0
    # stale, stale_s: Metres that are added after that, less and less for the next seconds.
    stale: float = 0.1
    stale_s: float = 30.0
    # goal_m_s, near_m, turn: A goal stands whose trajectory ends slower than m/s, not farther from
    # the body than m, with a facing that differs less than radians.
    goal_m_s: float = 0.15
    near_m: float = 0.15
    turn: float = 0.7
    braking_s: float = 0.5  # Seconds that a body may take to stop by itself where the goal stands
    # sway, breath: Of a body that holds a pose: of its hips, as a share of the leg length, and of
    # each joint of its trunk, in radians.
    sway: float = 0.012
    breath: float = 0.02


CONSTANTS = RestConstants()
# Frequencies of breathing and sway; the golden ratio spreads phases.
_BREATHING_HZ, _GOLDEN = (0.07, 0.13, 0.29), 0.618


@dataclass(frozen=True, eq=False)
class RestMoments:
    """Stretches of captured motion in which a body stands at rest."""

    # starts, stops: (stretches,) rows: each stretch is rows starts[i] to stops[i] - 1 of the
    # motion.
    starts: Array
    stops: Array
    styles: tuple[str, ...]  # (stretches,) the style of each; any text
    entries: Array  # (entries,) rows at which a stretch may be entered
    stretch_of: Array  # (entries,) the stretch of each
    poses: Array  # (entries, joints, 3) float32 metres in root space
    # Stretches are of one row that is held, with `breathing` on it: no body rests in the motion.
    held: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    @classmethod
    def from_rows(
        cls,
        rest: Array,
        clip_stops: Array,
        styles: Sequence[str],
        poses_of: Callable[[Array], Array],
        fps: float,
    ) -> RestMoments:
        """The stretches of 0.4 s and more among the rows of clips, at `rest` (rows,) bool.

        `clip_stops` (clips,) last row + 1 of each clip; `styles` (clips,) the style of each clip;
        `poses_of`: function of rows: (rows, joints, 3) metres in root space.
        """
        rest = rest.copy()
        # Velocities need the row after; so stretches end before their clip.
        rest[np.asarray(clip_stops) - 1] = False
        runs = [run for run in true_runs(rest) if run[1] - run[0] >= CONSTANTS.shortest_s * fps]
        starts, stops = np.array(runs, np.int64).reshape(-1, 2).T
        clips = np.searchsorted(clip_stops, starts, side="right")
        step, left = max(1, round(CONSTANTS.entry_s * fps)), round(CONSTANTS.left_s * fps)
        entries = [
            np.arange(start, max(stop - left, start + 1), step)
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
        ]
        rows = np.concatenate([*entries, np.zeros(0, np.int64)])
        return cls(
            starts=starts,
            stops=stops,
            styles=tuple(styles[clip] for clip in clips.tolist()),
            entries=rows,
            stretch_of=np.repeat(np.arange(len(starts)), [len(entry) for entry in entries]),
            poses=np.asarray(poses_of(rows), np.float32) if runs else np.zeros((0, 0, 3)),
        )

    @classmethod
    def from_held_rows(cls, rows: Array, styles: Sequence[str], poses: Array) -> RestMoments:
        """Rows, rising, that are held where no body rests; their styles, and poses as above."""
        poses = np.asarray(poses, np.float32)
        return cls(rows, rows + 1, tuple(styles), rows, np.arange(len(rows)), poses, held=True)

    def described(self) -> dict[str, Any]:
        """The stretches and their entries, with the constants, for other runtimes."""
        fields = {name: getattr(self, name) for name in ("starts", "stops", "styles", "entries")}
        fields |= {"stretch_of": self.stretch_of, "held": self.held}
        return {**fields, "constants": asdict(CONSTANTS)}


class RestChain:
    """Moments of rest that characters play one after the other.

    Each stretch is followed by the one whose pose is nearest, of the same style where that is near,
    and not one of the last twelve seconds.
    """

    def __init__(self, moments: RestMoments, characters: int, fps: float) -> None:
        self.moments, self._seconds = moments, 1.0 / fps
        self._stretch = np.full(characters, -1)
        self._rested_s = np.zeros(characters)
        self._since = np.full((characters, len(moments)), np.inf)

    @property
    def resting(self) -> Array:
        """(characters,) bool: characters that play moments of rest."""
        return self._stretch >= 0

    def advance(self) -> None:
        """Advance the time by a frame."""
        self._since += self._seconds
        self._rested_s = np.where(self.resting, self._rested_s + self._seconds, 0.0)
        resting = np.flatnonzero(self.resting)
        self._since[resting, self._stretch[resting]] = 0.0

    @property
    def held_s(self) -> Array:
        """(characters,) seconds for which each holds a row; 0 of those that do not."""
        return self._rested_s * self.moments.held

    def ending(self, rows: Array) -> Array:
        """(characters,) bool: characters that rest, with the last row of their stretch."""
        ends = rows + 1 >= self.moments.stops[self._stretch]
        return self.resting & ends & (not self.moments.held)

    def choose(self, which: Array, rows: Array, poses: Array, styles: Sequence[str]) -> Array:
        """(chosen,) rows of rest for the characters `which` to play from now on.

        `rows` (chosen,) they play now: those that come to rest within a stretch stay there. `poses`
        (chosen, joints, 3) metres in root space.
        """
        moments = self.moments
        inside = np.searchsorted(moments.starts, rows, side="right") - 1
        left = moments.stops[inside] - rows
        stays = ~self.resting[which] & (inside >= 0) & (left > CONSTANTS.shortest_s / self._seconds)
        apart = self._distances(poses)
        since = self._since[which]
        fresh = np.maximum(0.0, 1.0 - (since - CONSTANTS.again_s) / CONSTANTS.stale_s)
        again = np.where(since < CONSTANTS.again_s, CONSTANTS.again, CONSTANTS.stale * fresh)
        names = np.array([*moments.styles, ""])
        # The style that rests stays, too: one rest after another would show all of them.
        own = zip(styles, names[self._stretch[which]].tolist(), strict=True)
        other = np.array([~np.isin(names[:-1], name) for name in own])[:, moments.stretch_of]
        strange = np.where(
            apart > CONSTANTS.other_posture, CONSTANTS.posture, CONSTANTS.other_style
        )
        best = (apart + again[:, moments.stretch_of] + other * strange).argmin(axis=1)
        self._stretch[which] = np.where(stays, inside, moments.stretch_of[best])
        return np.where(stays, rows, moments.entries[best])

    def in_other_posture(self, poses: Array, styles: Sequence[str]) -> Array:
        """(n,) bool: poses (n, joints, 3) that are far from their styles (n,) and near another."""
        names = np.array(self.moments.styles)[self.moments.stretch_of]
        own = np.array([names == style for style in styles]).reshape(len(styles), -1)
        apart = self._distances(poses)
        nearest = np.where(own, apart, np.inf).min(axis=1)
        nearer = apart.min(axis=1) + CONSTANTS.other_style < nearest
        return own.any(axis=1) & nearer & (nearest > CONSTANTS.other_posture)

    def _distances(self, poses: Array) -> Array:
        """(n, entries) metres: mean distance of corresponding joints of poses (n, joints, 3)."""
        apart = np.zeros((len(poses), len(self.moments.entries)))
        for joint in range(poses.shape[1]):
            between = poses[:, None, joint] - self.moments.poses[None, :, joint]
            apart += np.sqrt(np.einsum("cex,cex->ce", between, between))
        return apart / poses.shape[1]

    def end(self, which: Array) -> None:
        """End the rest of characters."""
        self._stretch[which] = -1


def breathing(seconds: Array, values: int) -> Array:
    """(..., values) slow noise, from -1 to 1, for bodies that hold a pose since `seconds` (...)."""
    times = np.asarray(seconds, np.float64)[..., None]
    number = np.arange(1, values + 1)
    waves = [
        np.sin(2.0 * np.pi * (frequency * times + (order * number * _GOLDEN) % 1.0))
        for order, frequency in enumerate(_BREATHING_HZ, start=1)
    ]
    return np.minimum(times, 1.0) * np.mean(waves, axis=0)


def standing_goals(
    positions: Array, angles: Array, place: Array, angle: Array, offsets_s: Array
) -> Array:
    """(q,) bool: trajectories (q, offsets, 2) and (q, offsets) that stand where a body is, with the
    facing that it has; `offsets_s` (offsets,) seconds from now, rising."""
    seconds = np.diff(offsets_s, prepend=0.0)[-1]
    before = positions[:, -2] if len(offsets_s) > 1 else place
    speed = np.linalg.norm(positions[:, -1] - before, axis=1) / seconds
    away = np.linalg.norm(positions[:, -1] - place, axis=1)
    turned = np.abs(wrapped_angle(angles[:, -1] - angle))
    return (speed < CONSTANTS.goal_m_s) & (away < CONSTANTS.near_m) & (turned < CONSTANTS.turn)
