"""Motion-matching player: periodic search, transitions, root correction and foot locking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.feature import complex_of, pairs
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.playback import Playback, check_same_rows
from deepphase.matching.player.settings import CONSTANTS, PlayerSettings
from deepphase.matching.player.trajectory_queries import HeldFacings, future_offsets
from deepphase.matching.player.trajectory_search import JumpRequest, SearchPolicy, style_of
from deepphase.matching.player.transitions import PosePair, RootSteps, Transitions
from deepphase.motion import quaternions
from deepphase.steering.foot_lock import FootGround, FootLock
from deepphase.steering.goal_limits import LimitedGoals
from deepphase.steering.goal_sources import GoalSource, RootStates
from deepphase.steering.rest import CONSTANTS as REST
from deepphase.steering.rest import RestChain, standing_goals
from deepphase.steering.run import SQUARED, Frame, RunnerSpec
from deepphase.terrain.heightmap import Heightmap, ground_level


def runner_spec(database: MotionDatabase, playback: Playback) -> RunnerSpec:
    """Body, rate and goal times of the players of a database."""
    skeleton = playback.skeleton
    return RunnerSpec(
        fps=playback.fps,
        skeleton=skeleton,
        translated_joints=playback.translated_joints,
        joints=tuple(skeleton.names[joint] for joint in playback.body),
        feet=tuple(skeleton.names[joint] for joint in playback.limbs.last),
        body=database.body,
        offsets_s=future_offsets(database.layout),
        note="played from a motion database",
        locked_joints=playback.limb_solver.joints,
        conventions=playback.source,
    )


class Player:
    """Characters that play a database's motion. A `Runner`.

    Its frames have the tracks ``row``, the row of the database that plays; ``cost``, the distance
    between the query of the last search and the row that it found, and ``squared_`` with the name
    of each feature, its part of the square of the cost; ``jump_distance``, the mean distance in
    metres of corresponding joints on both sides of a jump, 0 without one; and ``facing_replaced``,
    whether it faces its direction of travel because the motion cannot travel with the desired one.

    Parameters
    ----------
    database, playback
        The database and its motion.
    search_policy
        Chooses the rows to jump to, such as a `TrajectorySearch` of the database.
    rows
        (characters,) rows to start with.
    positions, angles
        (characters, 2) m, x and z, and (characters,) rad: root positions and facings to start
        with; the origin and +Z by default.
    settings
        Intervals, halflives and limits.
    ground
        Uneven ground to walk on: the body follows its level, and feet are moved to it. A flat floor
        by default.

    Raises
    ------
    ParameterError
        Where a row does not exist, or database and motion have different rows.
    """

    def __init__(
        self,
        database: MotionDatabase,
        playback: Playback,
        search_policy: SearchPolicy,
        rows: Array,
        *,
        positions: Array | None = None,
        angles: Array | None = None,
        settings: PlayerSettings | None = None,
        ground: Heightmap | None = None,
    ) -> None:
        check_same_rows(database, playback)
        self._database = database
        self.spec = runner_spec(database, playback)
        self.playback, self.settings = playback, settings or PlayerSettings()
        self.rows = np.array(rows, np.int64).reshape(-1)
        count = len(self.rows)
        if not count or self.rows.min() < 0 or self.rows.max() >= len(database):
            raise ParameterError(f"start rows must lie between 0 and {len(database) - 1}")
        self._search_policy = search_policy
        self._ground, under = ground, None
        if ground is not None:
            under = FootGround(ground, playback.soles, len(self.rows))
            self.spec = replace(self.spec, ground=ground, soles=playback.soles)
        self._seconds = 1.0 / playback.fps
        self._ranges = database.ranges_of
        starts, self._stops = self._ranges(self.rows)
        # A character that starts at a clip's last frame starts one frame earlier.
        self.rows = np.maximum(np.minimum(self.rows, self._stops - 2), starts)
        self._position = np.zeros((count, 2)) if positions is None else np.array(positions, float)
        self._angle = np.zeros(count) if angles is None else np.array(angles, float)
        # Searches are spread over frames, so that no frame searches for all characters.
        self._until_search = self.settings.search_interval_s * (np.arange(count) % 7) / 7.0
        self._kept: list[dict[str, str]] = [{} for _ in range(count)]
        self._keep_labels(np.arange(count))
        self._coverage = playback.facing_coverage(self._search_policy.playable)
        self._ways = np.full(count, np.nan)
        self._since_change = np.full(count, np.inf)
        self._since_jump = np.zeros(count)
        self._waited_s = np.zeros(count)
        self._costs = np.zeros(count)
        self._terms = np.zeros((count, len(database.layout.features)))
        # Seconds since the goals last travelled.
        self._since_travel = np.zeros(count)
        moments = search_policy.rest(playback, self.settings.keep)
        self._rest: RestChain | None = None
        if moments is not None and len(moments):
            self._rest = RestChain(moments, count, playback.fps)
        self._limited = np.zeros(count, bool)
        self._transitions = Transitions(
            playback, count, self.settings.transition_halflife_s, self._ranges
        )
        self._poses = self._transitions.applied(self.rows)
        self._poses_before = self._poses
        self._step = np.zeros((count, 3))
        own = complex_of(playback.steps[self.rows][:, :2])[:, 0] * np.exp(-1j * self._angle)
        self._velocity = pairs(own / self._seconds)
        self._rate = playback.steps[self.rows][:, 2] / self._seconds
        self._root_steps = RootSteps(
            playback,
            self._poses,
            self._seconds,
            share=self.settings.adjust_share,
            turn=self.settings.adjust_turn,
        )
        self._local = np.broadcast_to(
            playback.skeleton.offsets.astype(np.float32), (count, len(playback.skeleton), 3)
        ).copy()
        self._foot_lock = FootLock(
            playback.limb_solver,
            count,
            self.settings.foot_lock_settings,
            under,
            playback.lowest_tips if under is None else None,
            playback.fastest,
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def root_states(self) -> RootStates:
        """Root positions, velocities, angles and turning rates of the characters."""
        return RootStates(self._position, self._velocity, self._angle, self._rate)

    def step(self, goal_source: GoalSource | None = None) -> Frame:
        """Advance all characters by one frame, towards their goals.

        Goals are limited by `Playback.goal_limits`.

        Raises ParameterError where no goals are given.
        """
        if goal_source is None:
            raise ParameterError(
                "motion matching needs goals to search for, and none are given",
                hint="give the follower of a path or of a recorded gamepad",
            )
        play, before = self.playback, self.rows.copy()
        goal_source = HeldFacings(goal_source, self._coverage, self._ways)
        changed = goal_source.advance(self.root_states, self._seconds)
        jumped = self._search(goal_source, changed)
        self._since_jump = np.where(jumped, 0.0, self._since_jump + self._seconds)
        if self._rest is not None:
            self._rest.advance()
        jump_distance = self._jump_distances(before, jumped)
        held_s = np.zeros(len(self.rows)) if self._rest is None else self._rest.held_s
        played, plays = self.rows, held_s == 0.0
        self._root_steps.begin(jumped, self._transitions.root_velocity[jumped, :2])
        self.rows = played + plays
        free = self._transitions.root_velocity.copy()
        self._transitions.advance(self._seconds)
        self._poses_before = self._poses
        self._poses = self._transitions.applied(self.rows)
        if held_s.any():
            play.breathe(*self._poses, held_s)
        self._move(played, plays, free, goal_source)
        rotations, translations, unlocked = self._in_world()
        return Frame(
            rotations,
            translations,
            self._position.copy(),
            self._angle.copy(),
            (play.contacts[self.rows] & ~self._foot_lock.stepping).astype(np.float32),
            np.ones(len(self.rows), bool),
            jumped=jumped,
            limited=self._limited.copy(),
            unlocked=unlocked,
            tracks={
                "row": self.rows.copy(),
                "cost": self._costs.copy(),
                "jump_distance": jump_distance,
                "facing_replaced": np.isfinite(self._ways),
                **{
                    f"{SQUARED}{name}": terms.copy()
                    for name, terms in zip(self._database.layout.slices, self._terms.T, strict=True)
                },
            },
        )

    def _jump_distances(self, before: Array, jumped: Array) -> Array:
        """(characters,) mean metres between joints before and after a jump; 0 without one."""
        distances = np.zeros(len(self.rows))
        if jumped.any():
            play, rows = self.playback, np.stack([before[jumped], self.rows[jumped]])
            here, there = play.positions(play.rotations[rows], play.translations[rows])
            distances[jumped] = np.linalg.norm(here - there, axis=-1).mean(axis=-1)
        return distances

    def _search(self, goal_source: GoalSource, changed: Array) -> Array:
        """Search for the characters that are due; (characters,) bool: those that jump."""
        self._until_search -= self._seconds
        self._since_travel += self._seconds
        self._since_change = np.where(changed, 0.0, self._since_change + self._seconds)
        forced = self.rows + 1 >= self._stops
        if self._rest is not None:
            forced |= self._rest.ending(self.rows)
        # Half a frame: sums of frame times are not exact.
        due = (self._until_search < 0.5 * self._seconds) | changed | forced
        jumped = np.zeros(len(self.rows), bool)
        if not due.any():
            return jumped
        which = np.flatnonzero(due)
        labels = goal_source.labels()
        current = PosePair(*self._poses_before, *self._poses, self._step / self._seconds)
        limited = LimitedGoals(goal_source, self.playback.goal_limits, self._limited)
        goals = self._search_policy.goals(limited, self.root_states, which)
        if self._rest is not None:
            rests = self._stand(self._rest, which, goals, labels, current, jumped)
            which, goals = which[~rests], tuple(each[~rests] for each in goals)
            if not which.size:
                return jumped
        ending = self.rows[which] + CONSTANTS.ending_s / self._seconds >= self._stops[which]
        settings = self.settings
        improvements = np.where(
            self._since_change[which] < CONSTANTS.change_s,
            CONSTANTS.change_improvement,
            settings.min_improvement,
        )
        request = JumpRequest(
            which,
            self.rows[which],
            ending,
            improvements,
            [labels[index] for index in which],
            [self._kept[index] for index in which],
            np.minimum(
                CONSTANTS.smooth + CONSTANTS.smooth_per_s * self._waited_s[which],
                CONSTANTS.least_smooth,
            ),
            lambda some, rows: self._transitions.costs(rows, current.of(which[some])),
            np.where(self._since_jump[which] > CONSTANTS.long_s, CONSTANTS.long_share, 1.0),
        )
        targets, costs, smooth, terms = self._search_policy.search(request, goals)
        self._until_search[which] = np.where(smooth, settings.search_interval_s, CONSTANTS.retry_s)
        self._waited_s[which] = np.where(smooth, 0.0, self._waited_s[which] + CONSTANTS.retry_s)
        self._costs[which], self._terms[which] = costs, terms
        # A transition that is not smooth is put off, up to the clip's last frame.
        jumps = (targets >= 0) & (smooth | forced[which])
        which, rows = which[jumps], targets[jumps]
        if which.size:
            jumped[which] = True
            self._transitions.begin(which, rows, current.of(which))
            self.rows[which], self._stops[which] = rows, self._ranges(rows)[1]
            self._keep_labels(which)
        return jumped

    def _stand(
        self,
        rest: RestChain,
        which: Array,
        goals: tuple[Array, Array, Array, Array],
        labels: Sequence[Mapping[str, str]],
        current: PosePair,
        jumped: Array,
    ) -> Array:
        """Let characters rest whose goals stand; (which,) bool: those that do."""
        places, directions, _, _ = goals
        stands = standing_goals(
            places[..., ::2],
            np.arctan2(directions[..., 0], directions[..., 2]),
            self._position[which],
            self._angle[which],
            self.spec.offsets_s,
        )
        self._since_travel[which[~stands]] = 0.0
        slow = np.linalg.norm(self._velocity[which], axis=1) < self.playback.standing_speed
        slow |= self._since_travel[which] > REST.braking_s
        resting = rest.resting[which]
        rests = stands & (resting | slow)
        rest.end(which[resting & ~rests])
        self._until_search[which[rests]] = self.settings.search_interval_s
        new = which[rests & (~resting | rest.ending(self.rows)[which])]
        if new.size:
            held = rest.resting[new]
            keep = self.settings.keep
            styles = [style_of({**self._kept[index], **labels[index]}, keep) for index in new]
            poses = current.of(new)
            rows = rest.choose(new, self.rows[new], self.playback.positions(*poses[2:4]), styles)
            jumps = rows != self.rows[new]
            for group, hold in ((jumps & ~held, False), (jumps & held, True)):
                some = new[group]
                if not some.size:
                    continue
                self._transitions.begin(some, rows[group], poses.of(group), hold=hold)
                self.rows[some], self._stops[some] = rows[group], self._ranges(rows[group])[1]
                jumped[some] = True
        return rests

    def _keep_labels(self, which: Array) -> None:
        """Take over the labels to keep from the rows that characters play, unless these idle."""
        keep, database = self.settings.keep, self._database
        if not (keep and self.settings.keep_improvement):
            return
        moving = which[~database.idle(self.rows[which])]
        for index, labels in zip(
            moving.tolist(), database.labels_of(self.rows[moving]), strict=True
        ):
            self._kept[index] = {name: labels[name] for name in keep if name in labels}

    def _move(self, played: Array, plays: Array, free: Array, goal_source: GoalSource) -> None:
        """Move the roots by the steps of the played rows, corrected towards the target."""
        play, own = self.playback, self.playback.steps[played] * plays[:, None]
        seconds, steps = self._seconds, self._root_steps
        target, facing = goal_source.target()
        # As complex numbers x + i z, in which a positive turn about Y has a negative angle.
        turned, place = np.exp(-1j * self._angle), complex_of(self._position)[:, 0]
        moved = own + seconds * free
        velocity = complex_of(moved[:, :2])[:, 0] * turned / seconds
        gap = complex_of(target)[:, 0] - place
        turns = steps.turn(moved[:, 2], velocity, self._angle, gap, facing)
        resting = None if self._rest is None else self._rest.resting
        slips = complex_of(play.slips[played])[..., 0] * plays[:, None]
        local = steps.step(
            own[:, :2], (played, self.rows), self._poses, turns, free[:, :2], slips, resting
        )
        self._step = np.column_stack([pairs(local), moved[:, 2]])
        step = local * turned
        there = place + step + steps.shift(step, gap - step)
        position, angle = pairs(there), self._angle + turns
        self._velocity = (position - self._position) / seconds
        self._rate = turns / seconds
        # Metres in the world by which feet on the floor move in the clips.
        self._slips = pairs(slips * turned[:, None])
        self._position, self._angle = position, angle

    def _in_world(self) -> tuple[Array, Array, Array | None]:
        """Local rotations and translations in the world, feet locked, and legs before that, if
        locked."""
        rotations, translations = (values.copy() for values in self._poses)
        half = 0.5 * self._angle
        turn = np.zeros((len(half), 4), np.float32)
        turn[:, 1], turn[:, 3] = np.sin(half), np.cos(half)
        rotations[:, 0] = quaternions.multiply(turn, rotations[:, 0])
        translations[:, 0] = quaternions.rotate(turn, translations[:, 0])
        translations[:, 0, ::2] += self._position
        if self._ground is not None:
            ahead = np.stack([np.sin(self._angle), np.cos(self._angle)], axis=-1)
            translations[:, 0, 1] += ground_level(self._ground, self._position, ahead)
        unlocked = None
        if not self.settings.foot_lock:
            self.playback.limb_solver.hinges.constrain(rotations)
        else:
            unlocked = rotations[:, self.spec.locked_joints]
            self._local[:, self.playback.translated_joints] = translations
            drop = self._foot_lock.apply(
                rotations,
                self._local,
                self.playback.contacts[self.rows],
                self._seconds,
                resting=None if self._rest is None else self._rest.resting,
                slips=self._slips,
            )
            if drop is not None:
                translations[:, 0, 1] -= drop
        return rotations, translations, unlocked
