"""Stall guard of generated dances: restarts of dances that froze or left all bounds.

A network that has left its training distribution does not recover by itself. A stalled dance is
therefore restarted from a training pose whose music is similar, at the place where it stands, and
the difference between both poses is blended out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.dance.config import MUSIC
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.starts import STALL_S, STALL_SHARE, RestartStates
from deepphase.controllers.runtime.characters import Characters, Tracks
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.errors import ParameterError
from deepphase.evaluation.dance import body_of_clip, mean_joint_speed
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles
from deepphase.phase.parameters import PhaseParameters
from deepphase.steering.goal_sources import GoalSource, RootStates
from deepphase.steering.run import Frame
from deepphase.steering.springs import (
    angular_velocities,
    decayed,
    inertialized_rotations,
    rotation_offsets,
)

# Halflife of the blend from the old pose to the new one.
HALFLIFE_S = 0.3


class _Blend:
    """Blends dances that were restarted in from the poses that they had before.

    `rotations`, `translations`: those of the last two frames before the restart. `initial`: the new
    dances at the time of the last one: their difference is what is blended out.
    """

    def __init__(
        self,
        rotations: tuple[Array, Array],
        translations: tuple[Array, Array],
        initial: Frame,
        seconds: float,
    ) -> None:
        self._rotations, self._translations = rotations, translations
        self._initial, self._seconds, self._elapsed_s = initial, seconds, 0.0

    def added_to(self, frame: Frame) -> Frame:
        """The next frame, with the remaining difference added."""
        if not self._elapsed_s:
            self._begin(frame)
        self._elapsed_s += self._seconds
        rotations = inertialized_rotations(
            self._rotation, self._angular_velocity, frame.rotations, HALFLIFE_S, self._elapsed_s
        ).astype(np.float32)
        offset, _ = decayed(self._translation, self._velocity, HALFLIFE_S, self._elapsed_s)
        translations = (frame.translations + offset).astype(np.float32)
        return replace(frame, rotations=rotations, translations=translations)

    def _begin(self, following: Frame) -> None:
        initial, seconds = self._initial, self._seconds
        self._rotation, self._angular_velocity = rotation_offsets(
            self._rotations[1],
            angular_velocities(*self._rotations, seconds),
            initial.rotations,
            angular_velocities(initial.rotations, following.rotations, seconds),
        )
        before, last = self._translations
        self._translation = last - initial.translations
        step = following.translations - initial.translations
        self._velocity = (last - before - step) / seconds


# Seconds between two checks, and minimum between two restarts of a dance.
_CHECK_S, _MIN_INTERVAL_S = 0.5, 4.0


class _Group:
    """Characters that step as one batch, the dance of each, and whether it is still in use."""

    def __init__(self, character: Characters, dances: Array, blend: _Blend | None = None) -> None:
        self.character, self.dances, self._blend = character, dances, blend
        self.active = np.ones(len(dances), bool)

    def step(self, tracks: Tracks | None) -> Frame:
        if tracks is not None:
            tracks = {name: each[self.dances] for name, each in tracks.items()}
        frame = self.character.step(None, tracks)
        return frame if self._blend is None else self._blend.added_to(frame)

    def release(self, dances: Array) -> None:
        self.active &= ~np.isin(self.dances, dances)


class StallGuard:
    """Runner of a batch of dances that restarts those that stall or leave all bounds.

    It is used in place of `Characters`, whose frames it returns as long as no dance stalls. A
    stalled dance is restarted at its place and facing, from a training pose whose music is similar,
    and the difference between the poses is blended out. `restarts`: for each dance, the frames of
    its restarts after a stall.
    """

    def __init__(
        self,
        dancer: Dancer,
        character: Characters,
        settings: CharacterSettings,
        seeds: Sequence[int],
        changes_s: Sequence[float] | None = None,
    ) -> None:
        self._dancer, self._settings, self._seeds = dancer, settings, tuple(seeds)
        self._groups = [_Group(character, np.arange(len(seeds)))]
        self._restart_states = RestartStates(dancer, seeds)
        self.restarts: list[list[int]] = [[] for _ in seeds]
        self.changes: list[list[int]] = [[] for _ in seeds]
        never = np.full(len(seeds), np.inf)
        self._change_frames = dancer.controller.fps * (
            never if changes_s is None else np.asarray(changes_s, np.float64)
        )
        self._stalled = np.zeros(len(seeds), bool)
        self._last_restart = np.zeros(len(seeds), np.int64)
        self._due = np.zeros(len(seeds), bool)
        # Frames since the last check, and two before them.
        self._recent: list[Frame] = []
        self._speeds: list[Array] = []
        self._steps = 0
        schema, skeleton = dancer.controller.schema, dancer.controller.skeleton
        self._roles = find_roles(skeleton, description=dict(schema.body))
        self._check_frames = max(round(_CHECK_S * schema.fps), 1)
        self._stall_speed = STALL_SHARE * dancer.reference.usual_speed
        self.controller, self.spec = dancer.controller, character.spec

    def __len__(self) -> int:
        return len(self._seeds)

    @property
    def phases(self) -> PhaseParameters | None:
        return _joined([(group, group.character.phases) for group in self._groups])

    @property
    def root_states(self) -> RootStates:
        joined: RootStates = _joined(
            [(group, group.character.root_states) for group in self._groups]
        )
        return joined

    def step(self, goal_source: GoalSource | None = None, tracks: Tracks | None = None) -> Frame:
        """As `Characters.step`, without goals: dances follow none."""
        if goal_source is not None:
            raise ParameterError("dances have no goals", hint="leave out goal_source")
        if self._due.any():
            self._restart(np.flatnonzero(self._due), tracks)
        frame: Frame = _joined([(group, group.step(tracks)) for group in self._groups])
        self._steps += 1
        self._watch(frame)
        return frame

    def _watch(self, frame: Frame) -> None:
        """Decide which dances are restarted with the next frame."""
        self._recent.append(frame)
        stalled = np.zeros(len(self), bool)
        if len(self._recent) >= self._check_frames + 2:
            window = round(STALL_S / _CHECK_S)
            self._speeds = [*self._speeds, self._recent_speeds()][-window:]
            # A restart blends from the last two frames.
            self._recent = self._recent[-2:]
            if len(self._speeds) * _CHECK_S >= STALL_S:
                stalled = np.mean(self._speeds, axis=0) < self._stall_speed
        # Restarts of a dance keep an interval, except for the first one of a dance out of bounds.
        rested = self._steps - self._last_restart >= _MIN_INTERVAL_S * self.controller.fps
        self._stalled = (stalled & rested) | (~frame.alive & (rested | (self._last_restart == 0)))
        self._due = self._stalled | (self._steps - self._last_restart >= self._change_frames)

    def _recent_speeds(self) -> Array:
        """(dances,) m/s: mean joint speed since the last check."""
        fps, skeleton = self.controller.fps, self.controller.skeleton
        speeds = []
        for dance in range(len(self)):
            clip = Clip(
                skeleton=skeleton,
                rotations=np.stack([pose.rotations[dance] for pose in self._recent]),
                translations=np.stack([pose.translations[dance] for pose in self._recent]),
                fps=fps,
                translated_joints=self.spec.translated_joints,
            )
            speeds.append(mean_joint_speed(body_of_clip(clip, self._roles)[1], fps).mean())
        return np.array(speeds)

    def _restart(self, dances: Array, tracks: Tracks | None) -> None:
        """Restart some dances from other training poses."""
        assert tracks is not None
        before, last = [*self._recent[:1], *self._recent][-2:]
        # A dance out of bounds stops at once: it has no velocity to continue with.
        moving = last.alive[dances, None, None]
        rotations, translations = (
            (np.where(moving, first[dances], second[dances]), second[dances])
            for first, second in (
                (before.rotations, last.rotations),
                (before.translations, last.translations),
            )
        )
        tracks = {name: each[dances] for name, each in tracks.items()}
        starts = self._restart_states.choose(
            dances, tracks[MUSIC], self._inputs(dances), self._stalled[dances]
        )
        character = Characters(
            self.controller,
            starts,
            positions=last.positions[dances],
            angles=last.angles[dances],
            settings=replace(self._settings, foot_ik=False),
            seed=self._seeds[dances[0]],
        )
        initial = character.step(None, tracks)
        blend = _Blend(rotations, translations, initial, 1.0 / self.controller.fps)
        for group in self._groups:
            group.release(dances)
        self._groups = [group for group in self._groups if group.active.any()]
        self._groups.append(_Group(character, dances, blend))
        self._last_restart[dances] = self._steps
        for dance in dances.tolist():
            (self.restarts if self._stalled[dance] else self.changes)[dance].append(self._steps)

    def _inputs(self, dances: Array) -> Array:
        """(n, dims) raw network inputs of some dances at the last frame."""
        inputs = np.zeros((len(self), self.controller.schema.dims.inputs), np.float32)
        for group in self._groups:
            inputs[group.dances[group.active]] = group.character.network_inputs[0][group.active]
        return inputs[dances]


def _joined(parts: Sequence[tuple[_Group, Any]]) -> Any:
    """Values of all groups, joined in the order of the dances: arrays, or records of arrays."""
    group, first = parts[0]
    if len(parts) == 1 or first is None:
        return first
    if is_dataclass(first) and not isinstance(first, type):
        names = [item.name for item in fields(first)]
        joined = {
            name: _joined([(each, getattr(value, name)) for each, value in parts]) for name in names
        }
        return replace(first, **joined)
    if isinstance(first, Mapping):
        return {name: _joined([(each, value[name]) for each, value in parts]) for name in first}
    count = sum(int(each.active.sum()) for each, _ in parts)
    whole = np.zeros((count, *first.shape[1:]), first.dtype)
    for group, values in parts:
        whole[group.dances[group.active]] = values[group.active]
    return whole
