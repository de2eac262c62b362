"""Balls of running characters: predicted near the feet, and free elsewhere.

A ball's velocity is blended between that of the network's prediction and that of physics by the
distance of the nearest foot (Starke et al. 2022, football dribbling). No blend makes a ball faster
than it is, unless a foot that moves as fast touches it. A foot that touches sends the ball, within
what a foot gives, to where the goals will need it, and a foot that swings reaches for a ball that
goes astray (`deepphase.controllers.ball.reaching`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array, smoothstep
from deepphase.controllers.ball.fitting import FOOT_RADIUS_M, leg_points
from deepphase.controllers.ball.reaching import (
    GIVES,
    NEXT_TOUCH_S,
    FetchingGoals,
    ReachingFeet,
    aims_of,
    fetching_speed,
    given_velocities,
    velocities_to,
)
from deepphase.controllers.runtime.body_pose import BodyPoses
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.parts import CharacterPart, StepInput, StepResult
from deepphase.controllers.schema.config import BALL_BLOCKS
from deepphase.errors import ParameterError
from deepphase.motion.ball import Ball, BallState, advanced, touched
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles
from deepphase.steering.goal_sources import GoalSource

LOST_M, FOUND_M = 1.0, 0.6
"""Metres from the nearest foot at which a ball is lost, and found again."""
# Characters turn towards a ball that is farther away than this, metres, and more the nearer it is
# to being lost. Those that turn to a nearer one circle around it without a touch.
_LOSING_M = 0.5
# A touch: the foot is this near to the ball's surface, metres, and changes its velocity by this.
_TOUCH_M, _TOUCHED = 0.06, 0.25
# Physics alone moves the ball from this distance to the nearest foot on, metres.
_NEAR_M = 0.5
# Speed of the ball towards its predicted place, for each metre.
_TO_PLACE_PER_S = 2.0
# Collisions of feet that were not predicted: restitution.
_SOFT = 0.1
# The network has never seen a ball that is farther away or faster.
_FARTHEST_M, _FASTEST = 1.2, 6.0
# After a kick the ball is left alone for this time, seconds; a foot kicks at most this hard, m/s.
_FREE_S, _HARDEST = 0.8, 14.0


# Kind of event -> number of values.
_VALUES = {"kick": 1, "pass": 2, "place": 2}
_HINT = "write kick@SECONDS:SPEED, pass@SECONDS:X:Z or place@SECONDS:X:Z, as in kick@5:8"


@dataclass(frozen=True)
class BallEvent:
    """An event of all balls of a run: a kick ahead or a pass by the next touch, or a new place."""

    time_s: float
    kind: str  # "kick", "pass" or "place"
    values: tuple[float, ...]  # m/s of a kick, or x and z in metres


def parse_ball_events(text: str | None) -> list[BallEvent]:
    """Events of a text, such as "kick@5:8,pass@10:0:6", in order of time."""
    return sorted(
        (_parsed(part.strip()) for part in (text or "").split(",") if part.strip()),
        key=lambda event: event.time_s,
    )


def _parsed(text: str) -> BallEvent:
    kind, _, rest = text.partition("@")
    try:
        time, *values = (float(value) for value in rest.split(":"))
    except ValueError:
        raise ParameterError(f"an event {text!r} of the ball is not possible", hint=_HINT) from None
    finite = np.isfinite([time, *values]).all()
    if kind not in _VALUES or len(values) != _VALUES[kind] or not finite or time < 0:
        raise ParameterError(f"an event {text!r} of the ball is not possible", hint=_HINT)
    return BallEvent(time, kind, tuple(values))


@dataclass(frozen=True)
class BallSettings:
    """Settings of balls at run time."""

    ball: Ball | None = None  # None: that of the training data
    events: tuple[BallEvent, ...] = ()


class RunningBalls(CharacterPart):
    """The balls of characters, one each.

    Of the initial states are raw `inputs` (characters, dims), and roots at `places` (characters,)
    in complex metres with `angles`. `state` has positions and velocities (characters, 3) over the
    floor; `fetching` (characters,) is the share of the way to the ball in the goals, more than 0
    where the ball gets away, and 1 where it is `lost`.
    """

    def __init__(
        self,
        controller: Controller,
        inputs: Array,
        places: Array,
        angles: Array,
        settings: BallSettings,
    ) -> None:
        schema, self._skeleton = controller.schema, controller.skeleton
        # Height of the floor under the feet of the training data.
        floor = float(controller.data.get("ball", {}).get("floor", 0.0))
        self._floor = np.array([0.0, floor, 0.0])
        self.ball = settings.ball or controller.ball
        self._fetch_speed = fetching_speed(controller.data)
        self._fps, self._seconds = schema.fps, 1.0 / schema.fps
        self._translated = BodyPoses(self._skeleton, schema).translated_joints
        self._roles = find_roles(self._skeleton, description=dict(schema.body))
        offsets = np.array(schema.config.offsets_s)
        self._past = np.round(-offsets[offsets < 0] * schema.fps).astype(np.int64)
        self._later, count = len(schema.config.later_s), len(inputs)
        self._outputs = [schema.outputs.slices[name] for name in BALL_BLOCKS]
        slices = schema.inputs.slices
        blocks = [inputs[:, slices[name]].reshape(count, -1, 3) for name in BALL_BLOCKS]
        world = [
            _in_world(block, places, angles, moved=moved)
            for block, moved in zip(blocks, (False, True), strict=True)
        ]
        now = len(offsets) - self._later
        position, velocity = (values[:, now] for values in world)
        self.state = BallState(position, velocity)
        length = int(self._past.max(initial=0)) + 1
        times = np.arange(1 - length, 1) / schema.fps
        self._history = [
            np.stack([_samples_at(values[row, : now + 1], offsets[: now + 1], times)
                      for row in range(count)], axis=1)
            for values in world
        ]  # fmt: skip
        self._future = [block[:, now:].copy() for block in blocks]
        self.lost, self.fetching = np.zeros(count, bool), np.zeros(count)
        self._free = np.zeros(count)
        self._kicks: list[Array | None] = [None] * count
        self._points: Array | None = None
        self._aims = np.full((count, 2), np.nan)
        self.reaching = ReachingFeet(count)
        ahead = offsets[offsets > 0]
        # Weights of the trajectory's samples at the time of the next touch.
        weights = [np.interp(NEXT_TOUCH_S, ahead, sample) for sample in np.eye(len(ahead))]
        self._at_touch = np.array(weights)
        self._events, self._frame = list(settings.events), 0

    def kick(self, character: int, velocity: Array) -> None:
        """Kick a character's ball with its next touch, to (3,) m/s."""
        velocity = np.asarray(velocity, np.float64)
        self._check_character(character)
        speed = float(np.linalg.norm(velocity)) if velocity.shape == (3,) else np.inf
        if not speed <= _HARDEST:
            raise ParameterError(
                f"a kick of {speed:g} m/s is not possible",
                hint=f"give at most {_HARDEST:g} m/s, (x, y, z)",
            )
        self._kicks[character] = velocity

    def pass_to(self, character: int, place: Array) -> None:
        """Kick it with its next touch to a place (2,), or as far as the hardest kick goes."""
        self._check_character(character)
        self._kicks[character] = _checked_place(place)

    def place(self, character: int, position: Array) -> None:
        """Put a character's ball at rest on the ground at (2,), x and z."""
        position = _checked_place(position)
        places, speeds = self.state.position.copy(), self.state.velocity.copy()
        places[character], speeds[character] = self.ball.resting(position), 0.0
        self.state = BallState(places, speeds)
        self._free[character] = 0.0

    def _check_character(self, character: int) -> None:
        if not 0 <= character < len(self._kicks):
            raise ParameterError(
                f"there is no character {character}",
                hint=f"give a number from 0 to {len(self._kicks) - 1}",
            )

    def _apply_events(self, angles: Array) -> None:
        """Apply the events that are due; kicks go ahead of the bodies, by their facings."""
        while self._events and self._events[0].time_s <= self._frame * self._seconds:
            event = self._events.pop(0)
            values = np.array(event.values)
            for character, angle in enumerate(angles):
                if event.kind == "kick":
                    self.kick(character, values[0] * np.array([np.sin(angle), 0.0, np.cos(angle)]))
                elif event.kind == "pass":
                    self.pass_to(character, values)
                else:
                    self.place(character, values)
        self._frame += 1

    @property
    def spec(self) -> dict[str, Any]:
        """As `CharacterPart.spec`."""
        return {"ball": self.ball}

    def goals(self, goal_source: GoalSource) -> GoalSource:
        """As `CharacterPart.goals`: the ball where it is lost."""
        if not self.fetching.any():
            return goal_source

        def found() -> tuple[Array, Array, Array]:
            return self.state.position[:, ::2], self.state.velocity[:, ::2], self.fetching

        return FetchingGoals(goal_source, found, self._fetch_speed)

    def blocks(self, now: StepInput) -> dict[str, Array]:
        """As `CharacterPart.blocks`; aims the next touches at where bodies will need the balls."""
        self._aims = np.einsum("s,csk->ck", self._at_touch, aims_of(now.ahead, now.ahead_angles))
        states, blocks = (self.state.position, self.state.velocity), {}
        for name, past, current, future, moved in zip(
            BALL_BLOCKS, self._history, states, self._future, (False, True), strict=True
        ):
            rows = past[len(past) - 1 - self._past].swapaxes(0, 1)
            rows = np.concatenate([rows, current[:, None]], axis=1)
            rows = _in_root_space(rows, now.place, now.angle, moved=moved)
            rows = np.concatenate([rows, future[:, 1:]], axis=1)
            limit = _FASTEST if moved else _FARTHEST_M
            size = np.sqrt(np.square(rows[..., ::2]).sum(axis=-1, keepdims=True))
            rows[..., ::2] *= np.minimum(1.0, limit / np.maximum(size, 1e-9))
            blocks[name] = rows.reshape(len(rows), -1)
        return blocks

    @property
    def foot_offsets(self) -> Array:
        """As `CharacterPart.foot_offsets`: those of feet that reach for a ball."""
        return self.reaching.offsets

    def step(self, made: StepResult) -> dict[str, Array]:
        """As `CharacterPart.step`: moves the balls by one frame.

        ``ball`` (characters, 3) is in metres, ``ball_touch`` (characters,) the index of the foot
        that touches, or -1, and ``ball_gap`` (characters,) metres to the nearest foot.
        """
        outputs, places, angles = made.outputs, made.place, made.angle
        count, ball = len(outputs), self.ball
        self._apply_events(angles)
        pose = Clip(
            self._skeleton,
            made.rotations,
            made.translations,
            fps=self._fps,
            translated_joints=self._translated,
        )
        points, foremost = leg_points(pose, self._roles)
        points -= self._floor
        before = points if self._points is None else self._points
        point_velocities = (points - before) / self._seconds
        self._points = points
        blocks = [outputs[:, block].reshape(count, -1, 3).astype(np.float64)
                  for block in self._outputs]  # fmt: skip
        self._future = blocks
        predicted, moved = (
            _in_world(block[:, :1], places, angles, moved=is_moved)[:, 0]
            for block, is_moved in zip(blocks, (False, True), strict=True)
        )
        free = advanced(self.state, ball, self._seconds)
        gaps = np.linalg.norm(points - free.position[:, None], axis=-1)
        gaps = gaps - ball.radius_m - FOOT_RADIUS_M
        nearest = gaps.argmin(axis=1)
        gap = gaps[np.arange(count), nearest]
        foot_velocity = point_velocities[np.arange(count), nearest]
        near = np.clip(1.0 - np.maximum(gap, 0.0) / _NEAR_M, 0.0, 1.0)
        share = smoothstep(near)
        share = np.where((self._free > 0) | ~np.isfinite(moved).all(axis=1), 0.0, share)
        wanted = moved + _TO_PLACE_PER_S * (predicted - free.position)
        # The prediction is of a ball on flat ground; what flies is left to physics.
        wanted[:, 1] = free.velocity[:, 1]
        velocity = free.velocity + share[:, None] * (wanted - free.velocity)
        to_aim = velocities_to(self._aims, free.position[:, ::2], ball)
        aimed = (gap < _TOUCH_M) & (self._free <= 0) & np.isfinite(to_aim).all(axis=1)
        given = given_velocities(free.velocity[:, ::2], to_aim, foot_velocity[:, ::2])
        velocity[:, ::2] = np.where(aimed[:, None], given, velocity[:, ::2])
        # Energy comes from feet alone.
        size = np.sqrt(np.square(velocity).sum(axis=1))
        most = free.speed
        direction = velocity / np.maximum(size, 1e-9)[:, None]
        given = GIVES * np.maximum((foot_velocity * direction).sum(axis=1), 0.0)
        most = np.where(gap < _TOUCH_M, np.maximum(most, given), most)
        velocity = direction * np.minimum(size, most)[:, None]
        # A touch ends the frame; a prediction counts from its beginning.
        moved_s = np.where(aimed, 0.0, self._seconds)[:, None]
        position = free.position + (velocity - free.velocity) * moved_s
        position[:, 1] += np.maximum(-ball.height(position), 0.0)
        state, impulses = touched(
            BallState(position, velocity), ball, points, point_velocities,
            radius_m=FOOT_RADIUS_M, restitution=_SOFT,
        )  # fmt: skip
        kicked = self._kicked(state, gap)
        self.state = BallState(state.position, np.where(kicked, self._kick_velocity, state.velocity)
                               if kicked.any() else state.velocity)  # fmt: skip
        change = np.sqrt(np.square(self.state.velocity - free.velocity).sum(axis=1))
        touching = (gap < _TOUCH_M) & (
            (change > _TOUCHED) | (impulses.sum(axis=1) > _TOUCHED * ball.mass_kg)
        )
        touch = np.where(touching | kicked[:, 0], nearest // (points.shape[1] // 2), -1)
        if made.swinging is not None:
            self._reach(points[:, list(foremost), ::2], made.swinging)
        self._free = np.maximum(self._free - self._seconds, 0.0)
        away = np.linalg.norm((points - self.state.position[:, None])[..., ::2], axis=-1).min(1)
        self.lost = np.where(self.lost, away > FOUND_M, away > LOST_M)
        losing = np.clip((away - _LOSING_M) / (LOST_M - _LOSING_M), 0.0, 1.0)
        self.fetching = np.where(self.lost, 1.0, losing)
        for past, current in zip(
            self._history, (self.state.position, self.state.velocity), strict=True
        ):
            past[:-1] = past[1:]
            past[-1] = current
        return {
            "ball": self.state.position + self._floor,
            "ball_velocity": self.state.velocity,
            "ball_touch": touch,
            "ball_lost": self.lost.copy(),
            "ball_gap": np.linalg.norm(points - self.state.position[:, None], axis=-1).min(axis=1)
            - ball.radius_m
            - FOOT_RADIUS_M,
        }

    def _reach(self, tips: Array, swinging: Array) -> None:
        """Let feet with these ends (characters, 2, 2) reach for the balls."""
        places, velocities = (part[:, ::2] for part in (self.state.position, self.state.velocity))
        wanted = velocities_to(self._aims, places, self.ball)
        wanted[self._free > 0] = np.nan
        self.reaching.move(tips, swinging, places, velocities, wanted, self._seconds)

    def _kicked(self, state: BallState, gap: Array) -> Array:
        """(characters, 1) bool: the ball is kicked now."""
        kicked = np.zeros((len(gap), 1), bool)
        self._kick_velocity = state.velocity.copy()
        for character, velocity in enumerate(self._kicks):
            # A velocity (3,), or the place (2,) of a pass.
            if velocity is not None and gap[character] < _TOUCH_M:
                kicked[character] = True
                if len(velocity) == 2:
                    velocity = self._velocity_to(velocity, state.position[character])
                self._kick_velocity[character] = velocity
                self._kicks[character] = None
                self._free[character] = _FREE_S
        return kicked

    def _velocity_to(self, place: Array, position: Array) -> Array:
        """(3,) m/s that a ball rolls to a place (2,) with."""
        way = place - position[::2]
        distance = float(np.hypot(*way))
        speed = min(float(self.ball.speed_to_roll(distance)), _HARDEST)
        direction = way / max(distance, 1e-9)
        return np.array([speed * direction[0], 0.0, speed * direction[1]])


def _checked_place(place: Array) -> Array:
    place = np.asarray(place, np.float64)
    if place.shape != (2,) or not np.isfinite(place).all():
        raise ParameterError(
            f"a place {place} of a ball is not possible", hint="give x and z in metres"
        )
    return place


def _samples_at(values: Array, offsets: Array, times: Array) -> Array:
    """(times, 3) values (samples, 3) between their offsets."""
    return np.stack([np.interp(times, offsets, axis) for axis in values.T], axis=1)


def _in_world(values: Array, places: Array, angles: Array, *, moved: bool) -> Array:
    """(characters, n, 3) of values in root space; velocities if `moved`."""
    ground = (values[..., 0] + 1j * values[..., 2]) * np.exp(-1j * angles)[:, None]
    if not moved:
        ground = ground + places[:, None]
    return np.stack([ground.real, values[..., 1].astype(np.float64), ground.imag], axis=-1)


def _in_root_space(values: Array, places: Array, angles: Array, *, moved: bool) -> Array:
    ground = values[..., 0] + 1j * values[..., 2]
    if not moved:
        ground = ground - places[:, None]
    ground = ground * np.exp(1j * angles)[:, None]
    return np.stack([ground.real, values[..., 1], ground.imag], axis=-1)
