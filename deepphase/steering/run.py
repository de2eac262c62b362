"""Runs: the protocol of runners, their rollout along goals, and the recorded frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from deepphase.arrays import Array, counted, short_repr, timed
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.ball import Ball
from deepphase.motion.clip import Clip, Source
from deepphase.motion.root_trajectory import RootMotion, RootTrajectory, with_root_motion
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.parameters import PhaseParameters
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import (
    GamepadSettings,
    GoalSource,
    PathGoals,
    PathSettings,
    RootStates,
    VelocityCommands,
    side_by_side,
)
from deepphase.steering.path import GroundPath
from deepphase.steering.velocity_goals import GamepadGoals
from deepphase.terrain.heightmap import Heightmap
from deepphase.work import Progress, report

SQUARED = "squared_"
"""Beginning of the names of tracks with the parts of a squared cost, one for each feature."""


@dataclass(frozen=True, eq=False)
class Frame:
    """One frame of all characters of a runner."""

    # (characters, joints, 4) float32 local rotations of the skeleton, in the world. Where a joint
    # stands above the hips, the topmost one is the root: it stands on the ground at `positions` and
    # turns by `angles`.
    rotations: Array
    translations: Array  # (characters, translated joints, 3) metres
    # positions, angles: (characters, 2) m, x and z, and (characters,) rad about Y from +Z: the root
    # states.
    positions: Array
    angles: Array
    contacts: Array  # (characters, feet) in [0, 1]: feet on the floor
    alive: Array  # (characters,) bool: the values are those of a body
    # (characters,) mean metres between joints as predicted and as the limbs' lengths have them;
    # None where joints are not predicted.
    limb_errors: Array | None = None
    # (characters,) bool: the frame follows from a transition to another place of the captured
    # motion. None where there are no transitions.
    jumped: Array | None = None
    # (characters, experts or control points) weights that the frame was made with, or None.
    gating: Array | None = None
    phases: PhaseParameters | None = None  # (characters, channels) of this frame, or None
    # trajectory, trajectory_angles: (characters, samples, 2) m in the world and (characters,
    # samples) rad: the trajectory ahead that the frame was made with, at `RunnerSpec.offsets_s`.
    # None where it is the desired one alone.
    trajectory: Array | None = None
    trajectory_angles: Array | None = None
    # (characters, samples, 2) m in the world: the desired trajectory; None without goals.
    desired: Array | None = None
    # (characters,) bool: the goals were out of `goal_limits.GoalLimits`, and were limited. None
    # without goals.
    limited: Array | None = None
    # (characters, joints, 4) local rotations of `RunnerSpec.locked_joints` before foot locking;
    # None without it.
    unlocked: Array | None = None
    # Name -> (characters, ...) further values of this kind of runner.
    tracks: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RunnerSpec:
    """What a runner moves, and how its frames are to be read."""

    fps: float  # Frames per second
    # skeleton, translated_joints: Of the motion that comes out; (translated joints,) have
    # translations.
    skeleton: Skeleton
    translated_joints: Array
    # Names of the joints of the body, the hips first: what stands above them is left out.
    joints: tuple[str, ...]
    feet: tuple[str, ...]  # Names of the joints that `Frame.contacts` is of
    body: Mapping[str, str]  # Role -> joint name, as `find_roles` takes a description
    offsets_s: Array  # (samples,) seconds from now of the trajectory ahead; all above 0
    note: str  # Where the motion comes from, for `Clip.source`
    # (joints,) of the skeleton that foot locking turns; none by default.
    locked_joints: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    # Unit, up axis and rotation orders of the source clips' files, which writers use again.
    conventions: Source = Source()  # noqa: RUF009 (frozen)
    ground: Heightmap | None = None  # Uneven ground that the runner walks on; None on a flat floor
    # (2, limbs) metres of the limbs' last joints and tips over that ground while they stand.
    soles: Array | None = None
    # Properties of the characters' balls, whose places are tracks; None without balls.
    ball: Ball | None = None

    @property
    def joint_indices(self) -> Array:
        """(joints,) of `joints` in the skeleton."""
        return np.array([self.skeleton.index(name) for name in self.joints])


class Runner(Protocol):
    """Characters that move towards goals, one frame a step."""

    @property
    def spec(self) -> RunnerSpec:
        """What moves."""

    @property
    def root_states(self) -> RootStates:
        """Root states of the last frame."""

    def __len__(self) -> int: ...

    def step(self, goal_source: GoalSource | None = None) -> Frame:
        """Advance all characters by one frame.

        Raises ParameterError where the goals do not fit, or are needed and missing.
        """


AnyRunner = TypeVar("AnyRunner", bound=Runner, covariant=True)


class RunnerSource(Protocol[AnyRunner]):
    """Makes runners: a controller or a motion database, with the options of a run."""

    @property
    def spacing_m(self) -> float:
        """Metres between characters that start side by side."""

    @property
    def travelling_speed(self) -> float:
        """Median speed in m/s of the captured motion that travels; 0 where none does."""

    @property
    def data(self) -> Mapping[str, Any]:
        """Measures of the captured motion; see `deepphase.evaluation.motion_measures`."""

    @property
    def settings(self) -> Any:
        """The runner's settings, a dataclass."""

    @property
    def labels(self) -> Mapping[str, Any]:
        """Label -> value or values that the motion shall have."""

    @property
    def seed(self) -> int:
        """Random seed."""

    def start(self, goal_source: GoalSource, root_states: RootStates) -> AnyRunner:
        """A runner with these root states, about to follow these goals."""

    def columns(self, run: Run, character: int) -> Mapping[str, Sequence[object]]:
        """Name -> (frames,) values to stand in the table of a character's frames."""


def start_on_path(
    source: RunnerSource[AnyRunner],
    path: GroundPath,
    *,
    characters: int = 1,
    settings: PathSettings | None = None,
) -> tuple[AnyRunner, PathGoals]:
    """Characters at the beginning of a path, each on its own copy beside the others'.

    The path of the goals is `GroundPath.slowed_at_corners`.

    Raises
    ------
    ParameterError
        Where there is no character, and as the source does.
    """
    origins = side_by_side(characters, source.spacing_m)
    path = path.slowed_at_corners()
    goal_source = PathGoals(path, origins, settings)
    return source.start(goal_source, RootStates.on_path(path, origins)), goal_source


def start_under_gamepad(
    source: RunnerSource[AnyRunner],
    gamepad: Gamepad,
    *,
    characters: int = 1,
    settings: GamepadSettings | None = None,
) -> tuple[AnyRunner, GamepadGoals]:
    """Characters at rest, side by side, facing +Z, under one recorded gamepad.

    Raises as `start_on_path`.
    """
    root_states = RootStates.at_rest(side_by_side(characters, source.spacing_m))
    goal_source = GamepadGoals(gamepad, root_states, settings)
    return source.start(goal_source, root_states), goal_source


@dataclass(frozen=True, eq=False)
class Run:
    """Recorded frames of all characters; the first is one step after the start.

    Parameters
    ----------
    spec
        What moves.
    rotations, translations, positions, angles, contacts, alive, limb_errors, jumped, gating
        (characters, frames, ...) as `Frame` has them.
    phases
        (characters, frames, channels) each, or None.
    trajectory, trajectory_angles
        (characters, frames, samples, 2) m, world, and (characters, frames, samples) rad: the
        trajectory ahead at `spec.offsets_s`; None without one.
    desired_positions, desired_angles
        (characters, frames, 2) m and (characters, frames) rad: the desired root states; None
        without goals.
    tracks
        Name -> (characters, frames, ...).
    limited, unlocked
        (characters, frames, ...) as `Frame` has them, or None.
    commanded_velocities, commanded_angles
        (characters, frames, 2) m/s and (characters, frames) rad: the desired velocity and facing
        before any smoothing; None if the goals are not `VelocityCommands`.
    goals
        The goals that were followed, after the last frame; None without goals.
    """

    spec: RunnerSpec
    rotations: Array
    translations: Array
    positions: Array
    angles: Array
    contacts: Array
    alive: Array
    limb_errors: Array | None = None
    jumped: Array | None = None
    gating: Array | None = None
    phases: PhaseParameters | None = None
    trajectory: Array | None = None
    trajectory_angles: Array | None = None
    desired_positions: Array | None = None
    desired_angles: Array | None = None
    tracks: Mapping[str, Array] = field(default_factory=dict)
    limited: Array | None = None
    unlocked: Array | None = None
    commanded_velocities: Array | None = None
    commanded_angles: Array | None = None
    goals: GoalSource | None = None

    def __repr__(self) -> str:
        return short_repr(self, counted(self.characters, "character"), timed(len(self), self.fps))

    def __len__(self) -> int:
        return self.positions.shape[1]

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.spec.fps

    @property
    def characters(self) -> int:
        """Number of characters."""
        return len(self.positions)

    @property
    def path(self) -> GroundPath | None:
        """The path that was followed; None for other goals."""
        return self.goals.path if isinstance(self.goals, PathGoals) else None

    @property
    def origins(self) -> Array | None:
        """(characters, 2) metres: origin of each character's copy of the path."""
        return self.goals.origins if isinstance(self.goals, PathGoals) else None

    @property
    def path_delays(self) -> Array | None:
        """(characters,) s by which each is behind the times of its path at the end, which slows at
        corners and waits for characters that lag; None without a path."""
        if not isinstance(self.goals, PathGoals):
            return None
        clocks, times = self.goals.times, self.goals.path.times
        marks = times if self.goals.path.given_times is None else self.goals.path.given_times
        passed = np.interp(clocks, times, marks) - marks[0] + np.maximum(clocks - times[-1], 0.0)
        return np.asarray(np.maximum(len(self) / self.fps - passed, 0.0))

    @property
    def survived_s(self) -> Array:
        """(characters,) seconds that each was alive; the whole run if nothing went wrong."""
        return self.alive.sum(axis=1) / self.fps

    def lived(self, character: int) -> int:
        """Number of frames before a character's values were first not those of a body."""
        alive = self.alive[character]
        return len(alive) if alive.all() else int(alive.argmin())

    def root_trajectory(self, character: int = 0) -> RootTrajectory:
        """The root trajectory of one character."""
        return RootTrajectory.from_ground(
            self.positions[character].astype(np.float64), self.angles[character].astype(np.float64)
        )

    def clip(self, character: int = 0, name: str = "run", root_motion: RootMotion = "auto") -> Clip:
        """The motion of one character.

        `root_motion`: the joint that carries the travel, see :func:`with_root_motion`. By default
        it is the topmost joint: a root above the hips, which lies on the ground at `positions` and
        turns by `angles`, or the hips. Raises ParameterError if there is no such root motion.
        """
        notes = [self.spec.note]
        stop = self.lived(character)
        if stop < len(self):
            note = f"the values diverged at frame {stop}"
            again = self.alive[character, stop:].any()
            notes.append(note if again else f"{note}; it stands still from there")
        clip = Clip(
            skeleton=self.spec.skeleton,
            rotations=quaternions.sign_continuous(self.rotations[character]),
            translations=self.translations[character],
            fps=self.fps,
            translated_joints=self.spec.translated_joints,
            source=replace(self.spec.conventions, fps=self.fps, notes=tuple(notes)),
            name=name,
        )
        if root_motion == "auto":
            return clip
        return with_root_motion(
            clip, int(self.spec.joint_indices[0]), self.root_trajectory(character), root_motion
        )

    def without_foot_lock(self) -> Run | None:
        """The run with its feet as they were before foot locking; None if they were not locked."""
        if self.unlocked is None:
            return None
        rotations = self.rotations.copy()
        rotations[:, :, self.spec.locked_joints] = self.unlocked
        return replace(self, rotations=rotations, unlocked=None)

    def part(self, begin: int, end: int) -> Run:
        """Frames begin to end - 1 of all characters, without gating, phases and tracks."""
        changes: dict[str, Any] = {
            name: value[:, begin:end]
            for name in _RECORDED
            if (value := getattr(self, name)) is not None
        }
        return replace(self, **(changes | {"gating": None, "phases": None, "tracks": {}}))


def rollout(
    runner: Runner,
    goal_source: GoalSource | None,
    seconds: float,
    progress: Progress | None = None,
    *,
    step: Callable[[int], Frame] | None = None,
    is_over: Callable[[], bool] | None = None,
) -> Run:
    """Drive a runner along goals for some seconds, and record it.

    Parameters
    ----------
    goal_source
        The goals; None for a runner that needs none.
    step
        Makes frame i, counted from 0; by default `runner.step(goal_source)`. For runners whose step
        takes more than goals.
    is_over
        Whether the run ends with the frame that was made last, before the seconds are over.

    Raises
    ------
    ParameterError
        Where the seconds are not above 0, and as `Runner.step` does.
    """
    spec, count = runner.spec, len(runner)
    frames = round(seconds * spec.fps) if np.isfinite(seconds) else 0
    if frames < 1:
        raise ParameterError(f"a run has no frame in {seconds} s", hint="give seconds above 0")
    recorded: dict[str, Array] = {}
    everyone = np.arange(count)
    commands = goal_source if isinstance(goal_source, VelocityCommands) else None
    for index in range(frames):
        frame = runner.step(goal_source) if step is None else step(index)
        values = {name: getattr(frame, name, None) for name in _RECORDED}
        if frame.phases is not None:
            values |= {name: getattr(frame.phases, name) for name in _OF_PHASES}
        if goal_source is not None:
            values["desired_positions"], values["desired_angles"] = goal_source.target()
            if commands is not None:
                values["commanded_velocities"], values["commanded_angles"] = commands.command()
            if frame.trajectory is None:
                values["trajectory"], values["trajectory_angles"] = goal_source.trajectory(
                    runner.root_states, everyone, spec.offsets_s
                )
        values |= {f"{_TRACK}{name}": each for name, each in frame.tracks.items()}
        for name, value in values.items():
            if value is not None:
                if name not in recorded:
                    exact = name in _WIDE or value.dtype.kind in "biuU"
                    shape = (count, frames, *value.shape[1:])
                    recorded[name] = np.empty(shape, value.dtype if exact else np.float32)
                recorded[name][:, index] = value
        word = "" if frame.alive.all() else f"{int(frame.alive.sum())} of {count} alive"
        report(progress, "running", index + 1, frames, word)
        if is_over is not None and is_over():
            break
    arrays = {name: each[:, : index + 1] for name, each in recorded.items()}
    found = [arrays[name] for name in _OF_PHASES if name in arrays]
    phases = PhaseParameters(*found) if found else None
    known: dict[str, Any] = {name: arrays.get(name) for name in _RECORDED}
    tracks = {name[len(_TRACK) :]: each for name, each in arrays.items() if name.startswith(_TRACK)}
    return Run(spec=spec, phases=phases, tracks=tracks, goals=goal_source, **known)


_OF_PHASES = ("phase", "frequency", "amplitude", "offset")
_RECORDED = (
    *("rotations", "translations", "positions", "angles", "contacts", "alive", "limb_errors"),
    *("jumped", "gating", "trajectory", "trajectory_angles", "desired_positions", "desired_angles"),
    *("limited", "unlocked", "commanded_velocities", "commanded_angles"),
)
_TRACK = "track "
# Far from the origin, places in the world need more digits than float32 has.
_WIDE = ("positions", "angles", "desired_positions", "desired_angles", "commanded_angles")
