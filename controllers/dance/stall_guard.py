"""Dances that go on: whoever came to stand, or left all bounds, begins anew where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from controllers.dance.config import MUSIC
from controllers.dance.dancer import Dancer
from controllers.dance.restart_states import RestartStates
from controllers.data.initial_states import InitialStates
from controllers.runtime.characters import Characters, Tracks
from controllers.runtime.controller import Controller
from controllers.runtime.frame import CharacterSettings
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_beats import mean_joint_speed
from deepphase.evaluation.dance_body import STANDS
from deepphase.evaluation.dance_features import body_points
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.phase.parameters import PhaseParameters
from deepphase.steering.goal_sources import GoalSource
from deepphase.steering.inertialization import (
    angular_velocities,
    inertialized_rotations,
    rotation_offsets,
)
from deepphase.steering.root_states import RootStates
from deepphase.steering.run import Frame
from deepphase.steering.springs import decayed

# Seconds in which half of the difference is gone.
HALFLIFE_S = 0.3


class ShownPose(NamedTuple):
    """What characters show: the poses of this frame and of the one before, as `Frame` has them.

    Parameters
    ----------
    rotations_before, rotations
        (characters, joints, 4).
    translations_before, translations
        (characters, translated joints, 3) metres.
    positions, angles
        (characters, 2) m and (characters,) rad: the roots of this frame.
    """

    rotations_before: Array
    rotations: Array
    translations_before: Array
    translations: Array
    positions: Array
    angles: Array


class BlendedCharacter:
    """Characters that begin with moments of their own, at the place and in the pose of others.

    Parameters
    ----------
    controller, starts
        As of `Characters`.
    shown
        Where they are, and how they move.
    settings
        How they run; feet are not held.
    seed
        Of a network that draws.
    tracks
        As for `Characters.step`, of the first frame.
    """

    def __init__(
        self,
        controller: Controller,
        starts: InitialStates,
        shown: ShownPose,
        settings: CharacterSettings,
        seed: int,
        tracks: Tracks | None,
    ) -> None:
        self._character = Characters(
            controller,
            starts,
            positions=shown.positions,
            angles=shown.angles,
            settings=replace(settings, foot_ik=False),
            seed=seed,
        )
        self._seconds = 1.0 / controller.fps
        self._shown = shown
        # Stands for the frame that is shown: what the next one moves from.
        first = self._character.step(None, tracks)
        self._first: Frame | None = first
        self._turn = self._turning = self._shift = self._shifting = np.zeros(0)
        self._later_s = 0.0

    @property
    def phases(self) -> PhaseParameters | None:
        """As `Characters.phases`."""
        return self._character.phases

    @property
    def root_states(self) -> RootStates:
        """As `Characters.root_states`."""
        return self._character.root_states

    @property
    def network_inputs(self) -> tuple[Array, Array]:
        """As `Characters.seen`."""
        return self._character.network_inputs

    def step(self, goal_source: None = None, tracks: Tracks | None = None) -> Frame:
        """As `Characters.step`, with what is left of the difference."""
        frame = self._character.step(goal_source, tracks)
        if self._first is not None:
            self._begin(self._first, frame)
            self._first = None
        self._later_s += self._seconds
        rotations = inertialized_rotations(
            self._turn, self._turning, frame.rotations, HALFLIFE_S, self._later_s
        ).astype(np.float32)
        left, _ = decayed(self._shift, self._shifting, HALFLIFE_S, self._later_s)
        translations = (frame.translations + left).astype(np.float32)
        return replace(frame, rotations=rotations, translations=translations)

    def _begin(self, before: Frame, after: Frame) -> None:
        """Keep the difference between what was shown and the frame that stands for it."""
        old, seconds = self._shown, self._seconds
        self._turn, self._turning = rotation_offsets(
            old.rotations,
            angular_velocities(old.rotations_before, old.rotations, seconds),
            before.rotations,
            angular_velocities(before.rotations, after.rotations, seconds),
        )
        self._shift = old.translations - before.translations
        moved = old.translations - old.translations_before
        self._shifting = (moved - (after.translations - before.translations)) / seconds


# A dance stands that is slower, over so many seconds, than this share of the recorded dances'
# usual speed: with the share of the measure `standing` itself a body that freezes, but trembles,
# would dance on.
_STANDS, _SECONDS = 2.0 * STANDS, 2.0
# Seconds between looks, and between two beginnings at least.
_LOOK_S, _APART_S = 0.5, 4.0


class _Group:
    """Characters that step at once: which dance each is, and whether it still is."""

    def __init__(self, character: Characters | BlendedCharacter, dances: Array) -> None:
        self.character, self.dances = character, dances
        self.dancing = np.ones(len(dances), bool)

    def step(self, tracks: Tracks | None) -> Frame:
        own = None if tracks is None else {name: each[self.dances] for name, each in tracks.items()}
        return self.character.step(None, own)

    def leave(self, dances: Array) -> None:
        self.dancing &= ~np.isin(self.dances, dances)


class StallGuard:
    """What `Characters` is to a rollout, of dances that neither stay frozen nor stay out of bounds.

    As long as no dance stands it is the given characters', number by number. One that stands begins
    anew: at its place and facing, with a moment whose music is like what it hears, and the
    difference between the poses is blended out.

    Parameters
    ----------
    dancer
        Who dances.
    character
        One for each dance, before its first step.
    settings
        How they run.
    seeds
        Of each dance.

    Attributes
    ----------
    begun
        Of each dance the frames that it began anew at, from 0.
    """

    def __init__(
        self,
        dancer: Dancer,
        character: Characters,
        settings: CharacterSettings,
        seeds: Sequence[int],
    ) -> None:
        self._dancer, self._settings, self._seeds = dancer, settings, tuple(seeds)
        self._groups = [_Group(character, np.arange(len(seeds)))]
        self._starts = RestartStates(dancer, seeds)
        self.begun: list[list[int]] = [[] for _ in seeds]
        self._last_begun = np.zeros(len(seeds), np.int64)
        self._due = np.zeros(len(seeds), bool)
        # Frames since the last look, and two before them.
        self._shown: list[Frame] = []
        self._speeds: list[Array] = []
        self._steps = 0
        schema, skeleton = dancer.controller.schema, dancer.controller.skeleton
        self._roles = find_roles(skeleton, description=dict(schema.body))
        self._look = max(round(_LOOK_S * schema.fps), 1)
        self._slow = _STANDS * dancer.reference.usual_speed
        self.controller, self.spec = dancer.controller, character.spec

    def __len__(self) -> int:
        return len(self._seeds)

    @property
    def phases(self) -> PhaseParameters | None:
        """As `Characters.phases`."""
        return _joined([(group, group.character.phases) for group in self._groups])

    @property
    def root_states(self) -> RootStates:
        """As `Characters.root_states`."""
        joined: RootStates = _joined(
            [(group, group.character.root_states) for group in self._groups]
        )
        return joined

    def step(self, goal_source: GoalSource | None = None, tracks: Tracks | None = None) -> Frame:
        """As `Characters.step`; without a follower, since dances wish for nothing."""
        if goal_source is not None:
            raise ParameterError("a dance that follows", hint="leave out the follower")
        if self._due.any():
            self._restart(np.flatnonzero(self._due), tracks)
        frame: Frame = _joined([(group, group.step(tracks)) for group in self._groups])
        self._steps += 1
        self._watch(frame)
        return frame

    def _watch(self, frame: Frame) -> None:
        """See which dances have to begin anew with the next frame."""
        self._shown.append(frame)
        standing = np.zeros(len(self), bool)
        if len(self._shown) >= self._look + 2:
            self._speeds = [*self._speeds, self._moving()][-round(_SECONDS / _LOOK_S) :]
            # The last two are what a new beginning is blended with.
            self._shown = self._shown[-2:]
            if len(self._speeds) * _LOOK_S >= _SECONDS:
                standing = np.mean(self._speeds, axis=0) < self._slow
        # Who begins anew is given time to dance; who leaves all bounds for the first time is not.
        rested = self._steps - self._last_begun >= _APART_S * self.controller.fps
        self._due = (standing & rested) | (~frame.alive & (rested | (self._last_begun == 0)))

    def _moving(self) -> Array:
        """(dances,) m/s: mean joint speed since the last look, as dances are measured."""
        fps, skeleton = self.controller.fps, self.controller.skeleton
        speeds = []
        for dance in range(len(self)):
            clip = Clip(
                skeleton=skeleton,
                rotations=np.stack([each.rotations[dance] for each in self._shown]),
                translations=np.stack([each.translations[dance] for each in self._shown]),
                fps=fps,
                translated_joints=self.spec.translated_joints,
            )
            points = body_points(joint_positions(clip), self._roles)
            body = np.stack([points[name] for name in sorted(points)], axis=1)
            speeds.append(mean_joint_speed(body, fps).mean())
        return np.array(speeds)

    def _restart(self, dances: Array, tracks: Tracks | None) -> None:
        """Let some dances go on with another moment."""
        assert tracks is not None
        before, last = [*self._shown[:1], *self._shown][-2:]
        # Whose network has left all bounds has stopped at once: there is no movement to go on with.
        moving = last.alive[dances, None, None]
        shown = ShownPose(
            np.where(moving, before.rotations[dances], last.rotations[dances]),
            last.rotations[dances],
            np.where(moving, before.translations[dances], last.translations[dances]),
            last.translations[dances],
            last.positions[dances],
            last.angles[dances],
        )
        own = {name: each[dances] for name, each in tracks.items()}
        starts = self._starts.of(dances, own[MUSIC], self._seen(dances))
        character = BlendedCharacter(
            self.controller, starts, shown, self._settings, self._seeds[dances[0]], own
        )
        for group in self._groups:
            group.leave(dances)
        self._groups = [group for group in self._groups if group.dancing.any()]
        self._groups.append(_Group(character, dances))
        self._last_begun[dances] = self._steps
        for dance in dances.tolist():
            self.begun[dance].append(self._steps)

    def _seen(self, dances: Array) -> Array:
        """(n, dims) raw inputs of the last frame of some dances."""
        seen = np.zeros((len(self), self.controller.schema.dims.inputs), np.float32)
        for group in self._groups:
            seen[group.dances[group.dancing]] = group.character.network_inputs[0][group.dancing]
        return seen[dances]


def _joined(parts: Sequence[tuple[_Group, Any]]) -> Any:
    """Values of all groups as one, in the order of the dances: arrays, or records of arrays."""
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
    count = sum(int(each.dancing.sum()) for each, _ in parts)
    whole = np.zeros((count, *first.shape[1:]), first.dtype)
    for group, values in parts:
        whole[group.dances[group.dancing]] = values[group.dancing]
    return whole
