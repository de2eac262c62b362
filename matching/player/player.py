"""Characters that play a motion database towards what is wished: search, jump, steer, stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.runs import pose_distances
from deepphase.motion import quaternions
from deepphase.motion.foot_ik import LimbSolver
from deepphase.steering.foot_lock import FootLock, FootLockSettings
from deepphase.steering.goal_sources import GoalSource
from deepphase.steering.root_states import RootStates
from deepphase.steering.run import Frame, RunnerSpec
from deepphase.steering.springs import damping_share, spring_rate, wrapped_angle
from matching.database.database import MotionDatabase
from matching.player.playback import Playback, check_same_rows
from matching.player.trajectory_search import SearchPolicy, TrajectorySearch, offsets_ahead
from matching.player.transitions import PosePair, Transitions
from matching.search.searcher import Searcher

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
    min_improvement
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
    min_improvement: float = 0.3
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
        if not 0 <= self.min_improvement < 1:
            raise ParameterError(
                f"min_improvement {self.min_improvement}: it must be at least 0 and below 1"
            )
        for name in ("neighbourhood_s", "adjust_share", "adjust_turn"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"{name} {getattr(self, name)}: it must not be negative")


def runner_spec(database: MotionDatabase, playback: Playback) -> RunnerSpec:
    """What players of a database move."""
    skeleton = playback.skeleton
    return RunnerSpec(
        fps=playback.fps,
        skeleton=skeleton,
        translated_joints=playback.translated_joints,
        joints=tuple(skeleton.names[joint] for joint in playback.body),
        feet=tuple(skeleton.names[joint] for joint in playback.limbs.last),
        body=database.body,
        offsets_s=offsets_ahead(database.layout),
        note="played from a motion database",
    )


class Player:
    """Characters that play a database's motion. A `Runner`.

    Its frames have the tracks ``row``, the row of the database that plays, ``cost``, the distance
    between the goals of the last search and what plays since, and ``jump_distance``, the mean
    metres between corresponding joints of the poses on both sides of a jump, 0 without one.

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
        search_policy: SearchPolicy | None = None,
    ) -> None:
        check_same_rows(database, playback)
        self.spec = runner_spec(database, playback)
        self.playback, self.settings = playback, settings or PlayerSettings()
        self.rows = np.array(rows, np.int64).reshape(-1)
        count = len(self.rows)
        if not count or self.rows.min() < 0 or self.rows.max() >= len(database):
            raise ParameterError(f"rows to begin with, of a database of {len(database)}")
        self._next_rows = search_policy or TrajectorySearch(
            database,
            searcher,
            labels=labels,
            min_improvement=self.settings.min_improvement,
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
    def root_states(self) -> RootStates:
        """Where the characters are and how they move."""
        return RootStates(self._position, self._velocity, self._angle, self._rate)

    def step(self, goal_source: GoalSource | None = None) -> Frame:
        """Advance all characters by one frame, towards their goals.

        Raises ParameterError where there are none.
        """
        if goal_source is None:
            raise ParameterError(
                "motion matching searches for goals, and there are none",
                hint="give the follower of a path or of a recorded stick",
            )
        play, before = self.playback, self.rows.copy()
        changed = goal_source.advance(self.root_states, self._seconds)
        jumped = self._search(goal_source, changed)
        apart = self._jump_distances(before, jumped)
        moved = play.steps[self.rows] + self._seconds * self._transitions.root_velocity
        self._step = moved
        self.rows = self.rows + 1
        self._transitions.advance(self._seconds)
        self._before = self._shown
        self._shown = self._transitions.applied(self.rows)
        self._move(moved, goal_source)
        rotations, translations = self._in_world()
        return Frame(
            rotations,
            translations,
            self._position.copy(),
            self._angle.copy(),
            play.contacts[self.rows].astype(np.float32),
            np.ones(len(self.rows), bool),
            jumped=jumped,
            tracks={
                "row": self.rows.copy(),
                "cost": self._costs.copy(),
                "jump_distance": apart,
            },
        )

    def _jump_distances(self, before: Array, jumped: Array) -> Array:
        """(characters,) metres between the poses that played and those that play after jumps."""
        apart = np.zeros(len(self.rows))
        if jumped.any():
            play, rows = self.playback, np.stack([before[jumped], self.rows[jumped]])
            poses = play.positions(play.rotations[rows], play.translations[rows])
            apart[jumped] = pose_distances(*poses)
        return apart

    def _search(self, goal_source: GoalSource, changed: Array) -> Array:
        """Search for those whose turn it is; (characters,) bool: who jumps."""
        self._until_search -= self._seconds
        forced = self.rows + 1 >= self._stops
        # Half a frame: sums of frame times are not exact.
        due = (self._until_search < 0.5 * self._seconds) | changed | forced
        jumped = np.zeros(len(self.rows), bool)
        if not due.any():
            return jumped
        which = np.flatnonzero(due)
        labels = goal_source.labels()
        shown = PosePair(*self._before, *self._shown, self._step / self._seconds)
        ending = self.rows[which] + _ENDING_S / self._seconds >= self._stops[which]
        found, costs, smooth = self._next_rows.found(
            self.rows[which],
            ending,
            self._next_rows.goals(goal_source, self.root_states, which),
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

    def _move(self, moved: Array, goal_source: GoalSource) -> None:
        """Move the roots by the motion's steps, and draw them to where they should be."""
        settings, seconds = self.settings, self._seconds
        step = self._world(moved[:, :2])
        position, angle = self._position + step, self._angle + moved[:, 2]
        goal, facing = goal_source.target()
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
