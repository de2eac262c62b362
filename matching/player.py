"""Characters that play a motion database towards what is wished: search, jump, steer, stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.foot_ik import LimbSolver
from deepphase.steering.followers import Follower
from deepphase.steering.foot_lock import FootLock, FootLockSettings
from deepphase.steering.movers import Movers
from deepphase.steering.springs import damping_share, spring_rate, wrapped_angle
from matching.database import MotionDatabase
from matching.next_rows import NextRows, WaysOn
from matching.playback import Playback, check_same_rows
from matching.search import Searcher
from matching.transitions import Shown, Transitions

Array = np.ndarray

# So many seconds before a clip's end a way on is looked for, and so soon again where what was
# found is not smooth.
_ENDING_S, _AGAIN_S = 0.25, 0.03
_COMPLEX = np.array([1.0, 1.0j])


@dataclass(frozen=True)
class PlayerSettings:
    """How characters play.

    Parameters
    ----------
    search_s
        Seconds between two searches; a wish that changes abruptly is searched for at once.
    transition_halflife_s
        Seconds in which the difference from the motion before a jump is halved.
    better_by
        A jump must cost less than playing on by this share of it.
    neighbourhood_s
        No jump within so many seconds of the clip that plays: that would be a stumble.
    adjust_halflife_s
        Seconds in which the root is drawn half the way to the wished place and facing.
    adjust_share
        Of the motion's own speed and turning: faster it is not drawn.
    adjust_turn
        Radians a metre travelled by which the facing may be drawn besides.
    foot_lock
        Hold feet where they stand.
    foot_halflife_s
        Seconds in which a foot that is let go comes half the way back to the motion.
    """

    search_s: float = 0.1
    transition_halflife_s: float = 0.12
    better_by: float = 0.3
    neighbourhood_s: float = 0.3
    adjust_halflife_s: float = 0.3
    adjust_share: float = 0.15
    adjust_turn: float = 0.2
    foot_lock: bool = True
    foot_halflife_s: float = 0.1

    def __post_init__(self) -> None:
        for name in ("transition_halflife_s", "adjust_halflife_s", "foot_halflife_s"):
            spring_rate(getattr(self, name))
        if not (np.isfinite(self.search_s) and self.search_s > 0):
            raise ParameterError(f"search_s {self.search_s}: it must be above 0")
        if not 0 <= self.better_by < 1:
            raise ParameterError(f"better_by {self.better_by}: it must be at least 0 and below 1")
        for name in ("neighbourhood_s", "adjust_share", "adjust_turn"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"{name} {getattr(self, name)}: it must not be negative")


@dataclass(frozen=True, eq=False)
class Frame:
    """One frame of all characters.

    Parameters
    ----------
    rotations
        (characters, joints, 4) local rotations, the root's in the world.
    translations
        (characters, translated joints, 3) metres, the root's in the world.
    rows
        (characters,) rows of the database that play.
    jumped
        (characters,) bool: the row before was another place of the database.
    costs
        (characters,) distance of the wish of the last search from what plays since.
    """

    rotations: Array
    translations: Array
    rows: Array
    jumped: Array
    costs: Array


class Player:
    """Characters that play a database's motion.

    Parameters
    ----------
    database, playback, searcher
        What is searched, what is played, and who searches.
    rows
        (characters,) rows that they begin with.
    positions, angles
        (characters, 2) m, x and z, and (characters,) rad: where they begin, and facing where;
        the origin and +Z by default.
    labels
        Label -> value or values: only clips that have them are played.
    settings
        How they play.
    ways_on
        Who says where to go on: those who go as the follower wishes, if not given.

    Raises
    ------
    ParameterError
        Where a row does not exist, a clip is shorter than two frames, or no row is left to play.
    """

    def __init__(
        self,
        database: MotionDatabase,
        playback: Playback,
        searcher: Searcher,
        rows: Array,
        *,
        positions: Array | None = None,
        angles: Array | None = None,
        labels: Mapping[str, str | Sequence[str]] | None = None,
        settings: PlayerSettings | None = None,
        ways_on: WaysOn | None = None,
    ) -> None:
        check_same_rows(database, playback)
        self.playback, self.settings = playback, settings or PlayerSettings()
        self.rows = np.array(rows, np.int64).reshape(-1)
        count = len(self.rows)
        if not count or self.rows.min() < 0 or self.rows.max() >= len(database):
            raise ParameterError(f"rows to begin with, of a database of {len(database)}")
        self._next_rows = ways_on or NextRows(
            database,
            searcher,
            labels=labels,
            better_by=self.settings.better_by,
            neighbourhood_s=self.settings.neighbourhood_s,
        )
        self._seconds = 1.0 / playback.fps
        self._ranges = database.ranges_of
        starts, self._stops = self._ranges(self.rows)
        # A character that begins at a clip's last frame begins one earlier.
        self.rows = np.maximum(np.minimum(self.rows, self._stops - 2), starts)
        self._position = np.zeros((count, 2)) if positions is None else np.array(positions, float)
        self._angle = np.zeros(count) if angles is None else np.array(angles, float)
        # Turns are spread over the frames, so that no frame searches for all.
        self._until_search = self.settings.search_s * (np.arange(count) % 7) / 7.0
        self._costs = np.zeros(count)
        self._transitions = Transitions(
            playback, count, self.settings.transition_halflife_s, self._ranges
        )
        self._shown = self._transitions.applied(self.rows)
        self._before = self._shown
        self._step = np.zeros((count, 3))
        self._velocity = self._world(playback.steps[self.rows][:, :2].astype(float) / self._seconds)
        self._rate = playback.steps[self.rows][:, 2] / self._seconds
        self._local = np.broadcast_to(
            playback.skeleton.offsets.astype(np.float32), (count, len(playback.skeleton), 3)
        ).copy()
        solver = LimbSolver(playback.skeleton, playback.limbs)
        self._foot_lock = FootLock(
            solver, count, FootLockSettings(release_halflife_s=self.settings.foot_halflife_s)
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def movers(self) -> Movers:
        """Where the characters are and how they move."""
        return Movers(self._position, self._velocity, self._angle, self._rate)

    @property
    def locked(self) -> Array:
        """(characters, limbs) bool: feet that are held."""
        return self._foot_lock.locked

    def step(self, follower: Follower) -> Frame:
        """Advance all characters by one frame, towards what they wish."""
        play = self.playback
        changed = follower.advance(self.movers, self._seconds)
        jumped = self._search(follower, changed)
        moved = play.steps[self.rows] + self._seconds * self._transitions.root_velocity
        self._step = moved
        self.rows = self.rows + 1
        self._transitions.advance(self._seconds)
        self._before = self._shown
        self._shown = self._transitions.applied(self.rows)
        self._move(moved, follower)
        rotations, translations = self._in_world()
        return Frame(rotations, translations, self.rows.copy(), jumped, self._costs.copy())

    def _search(self, follower: Follower, changed: Array) -> Array:
        """Search for those whose turn it is; (characters,) bool: who jumps."""
        self._until_search -= self._seconds
        forced = self.rows + 1 >= self._stops
        # Half a frame: sums of frame times are not exact.
        due = (self._until_search < 0.5 * self._seconds) | changed | forced
        jumped = np.zeros(len(self.rows), bool)
        if not due.any():
            return jumped
        which = np.flatnonzero(due)
        labels = follower.labels()
        shown = Shown(*self._before, *self._shown, self._step / self._seconds)
        ending = self.rows[which] + _ENDING_S / self._seconds >= self._stops[which]
        found, costs, smooth = self._next_rows.found(
            self.rows[which],
            ending,
            self._next_rows.wishes(follower, self.movers, which),
            [labels[index] for index in which],
            lambda some, rows: self._transitions.roughness(rows, shown.of(which[some])),
        )
        self._until_search[which] = np.where(smooth, self.settings.search_s, _AGAIN_S)
        self._costs[which] = costs
        # A jump that pops waits for a better moment, up to the clip's last frame.
        jumps = (found >= 0) & (smooth | forced[which])
        which, rows = which[jumps], found[jumps]
        if which.size:
            jumped[which] = True
            self._transitions.begin(which, rows, shown.of(which))
            self.rows[which], self._stops[which] = rows, self._ranges(rows)[1]
        return jumped

    def _world(self, local: Array) -> Array:
        """(characters, 2) vectors of root space in the world."""
        # As complex numbers x + i z, which a turn about Y by an angle takes against its sense.
        turned = (local @ _COMPLEX) * np.exp(-1j * self._angle)
        return turned[:, None].view(np.float64)

    def _move(self, moved: Array, follower: Follower) -> None:
        """Move the roots by the motion's steps, and draw them to where they should be."""
        settings, seconds = self.settings, self._seconds
        step = self._world(moved[:, :2])
        position, angle = self._position + step, self._angle + moved[:, 2]
        goal, facing = follower.point()
        share = damping_share(settings.adjust_halflife_s, seconds)
        length = np.sqrt(np.vecdot(step, step))
        drawn = share * (goal - position)
        far = np.sqrt(np.vecdot(drawn, drawn))
        drawn *= np.minimum(1.0, settings.adjust_share * length / np.maximum(far, 1e-12))[:, None]
        most = settings.adjust_share * np.abs(moved[:, 2]) + settings.adjust_turn * length
        turned = np.minimum(np.maximum(share * wrapped_angle(facing - angle), -most), most)
        position, angle = position + drawn, angle + turned
        self._velocity = (position - self._position) / seconds
        self._rate = (angle - self._angle) / seconds
        self._position, self._angle = position, angle

    def _in_world(self) -> tuple[Array, Array]:
        """Local rotations and translations with the root put into the world, and feet held."""
        rotations, translations = (values.copy() for values in self._shown)
        half = 0.5 * self._angle
        turn = np.zeros((len(half), 4), np.float32)
        turn[:, 1], turn[:, 3] = np.sin(half), np.cos(half)
        rotations[:, 0] = quaternions.multiply(turn, rotations[:, 0])
        translations[:, 0] = quaternions.rotate(turn, translations[:, 0])
        translations[:, 0, ::2] += self._position
        if self.settings.foot_lock:
            self._local[:, self.playback.translated_joints] = translations
            left = np.zeros((len(half), 3))
            left[:, 0], left[:, 2] = np.cos(self._angle), -np.sin(self._angle)
            self._foot_lock.apply(
                rotations, self._local, self.playback.contacts[self.rows], left, self._seconds
            )
        return rotations, translations
