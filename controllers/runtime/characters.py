"""Characters moved by a controller: any number in one batch, frame by frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.ball.running_balls import BallSettings, RunningBalls
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.runtime.body_pose import BodyPose, BodyPoses, CharacterFeet
from deepphase.controllers.runtime.captured_motion import CharacterDetail, CharacterRest
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.runtime.network_input import (
    FutureTrajectory,
    NetworkInput,
    TrajectoryBlend,
    TrajectoryReader,
)
from deepphase.controllers.runtime.network_state import RunningNetwork, running_phases
from deepphase.controllers.runtime.parts import (
    CharacterPart,
    DesiredLabels,
    FlatGround,
    StepInput,
    StepResult,
    UnevenGround,
    labels_of_each,
)
from deepphase.controllers.runtime.roots import PoseHistory, StandingRoots, goals_that_stand
from deepphase.errors import ParameterError
from deepphase.features.feature import complex_of, pairs
from deepphase.phase.parameters import PhaseParameters
from deepphase.steering.goal_sources import GoalSource, PathGoals, RootStates
from deepphase.steering.run import Frame, RunnerSpec
from deepphase.steering.springs import RootCorrection
from deepphase.terrain.heightmap import Heightmap

Tracks = Mapping[str, Array]
# Bound of all outputs in SI units; larger values mean that the network has diverged.
_MAX_OUTPUT = 1e3
# Radians per metre of their way by which roots turn towards a path at most, over the share.
_ADJUST_TURN = 2.5
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0], np.float32)


class Characters:
    """A batch of characters; one `step` is one frame. A `Runner`.

    Parameters
    ----------
    controller
        Controller of all characters.
    starts
        Initial state of each character.
    positions, angles
        (characters, 2) m, x and z, and (characters,) rad: initial root positions and facings, by
        default the origin and +Z.
    settings
        Settings of the run.
    seed
        Random seed of a stochastic network.
    labels
        Desired labels from the first frame on: label -> value, or a value for each character.
    ground
        Ground to walk on, for controllers with heights; a flat floor by default.
    balls
        Settings of the balls, for controllers with a ball.
    network
        Network that runs in place of the controller's own, for example one exported to ONNX;
        `seed` is then ignored.

    Raises
    ------
    ParameterError
        If the starts have another schema, shapes do not fit, or a label is unknown.
    """

    def __init__(
        self,
        controller: Controller,
        starts: InitialStates,
        *,
        positions: Array | None = None,
        angles: Array | None = None,
        settings: CharacterSettings | None = None,
        seed: int = 0,
        labels: Mapping[str, str | Sequence[str]] | None = None,
        ground: Heightmap | None = None,
        balls: BallSettings | None = None,
        network: RunningNetwork | None = None,
    ) -> None:
        self.controller, self.settings = controller, settings or CharacterSettings()
        schema, count = controller.schema, len(starts)
        _check_starts(starts, controller)
        places = _placed(positions, (count, 2), "positions")
        facing = _placed(angles, (count,), "angles")
        self._seconds = 1.0 / schema.fps
        self._slices = schema.outputs.slices
        self._input = NetworkInput(schema, starts.inputs, starts.gate)
        self._poses = BodyPoses(controller.skeleton, schema)
        self._feet = CharacterFeet(
            controller.skeleton,
            schema,
            count,
            ground,
            controller.poses,
            controller.data,
        )
        self._network = network or RunningNetwork(controller.network, count, seed)
        self._phases = running_phases(schema, starts.gate)
        whole = self._input.trajectory
        turn = np.exp(-1j * facing)[:, None]
        self._history = PoseHistory(
            schema,
            complex_of(places) + whole.places * turn,
            facing[:, None] + whole.angles,
            None if whole.velocities is None else whole.velocities * turn,
        )
        self._future = self._input.future
        self._reader = TrajectoryReader(schema.outputs, schema)
        self._blend = TrajectoryBlend(
            schema,
            self.settings.position_bias,
            self.settings.direction_bias,
            controller.goal_limits,
        )
        self._velocity, self._rate = self._history.velocity.copy(), self._history.rate
        self.balls = self._balls(starts, balls)
        self._labels = self._desired_labels(starts, labels)
        parts = [
            self._labels,
            self._uneven_ground(ground),
            self.balls,
        ]
        self._parts: tuple[CharacterPart, ...] = tuple(part for part in parts if part is not None)
        self._standing = StandingRoots(count, self._seconds)
        # Four feet slide more by it than the path gains.
        share = self.settings.adjust_share if len(self._feet.columns) == 2 else 0.0
        standing = controller.data.get("standing_speed", 0.0)
        self._correction = RootCorrection(
            count, self._seconds, share=share, turn=_ADJUST_TURN * share, standing_speed=standing
        )
        self._rest = None
        if controller.rest is not None:
            self._rest = CharacterRest(controller.rest, schema, count)
        self._detail = None
        if controller.detail is not None and self.settings.detail:
            self._detail = CharacterDetail(controller.detail, schema, count)
        self._alive = np.ones(count, bool)
        self._contacts = np.zeros((count, len(schema.feet)), np.float32)
        self._outputs = self._standing_outputs()
        self._checked: GoalSource | None = None
        fields = {name: value for part in self._parts for name, value in part.spec.items()}
        self.spec = RunnerSpec(
            fps=schema.fps,
            skeleton=controller.skeleton,
            translated_joints=self._poses.translated_joints,
            joints=schema.joints,
            feet=schema.feet,
            body=dict(schema.body),
            offsets_s=np.array([time for time in schema.config.later_s if time > 0.0]),
            note="made by a controller",
            locked_joints=self._feet.joints,
            conventions=controller.source,
            **fields,
        )

    def _desired_labels(
        self, starts: InitialStates, labels: Mapping[str, str | Sequence[str]] | None
    ) -> DesiredLabels:
        halflife_s = self.settings.label_halflife_s
        made = DesiredLabels(self.controller.schema, starts.inputs, halflife_s)
        if labels:
            made.set_goals(labels_of_each(labels, len(starts)))
        return made

    def _uneven_ground(self, ground: Heightmap | None) -> FlatGround | UnevenGround | None:
        if not self.controller.schema.config.heights:
            if ground is not None:
                raise ParameterError(
                    "the controller has no heights of the ground",
                    hint="train it with --terrain, or lay its motion on the ground",
                )
            return None
        return FlatGround() if ground is None else UnevenGround(ground, self._feet)

    def _balls(self, starts: InitialStates, settings: BallSettings | None) -> RunningBalls | None:
        if not self.controller.schema.config.ball:
            if settings is not None:
                raise ParameterError("the controller has no ball", hint="train it with --ball")
            return None
        return RunningBalls(
            self.controller,
            starts.inputs,
            self._history.place,
            self._history.angle,
            settings or BallSettings(),
        )

    def __len__(self) -> int:
        return len(self._alive)

    @property
    def root_states(self) -> RootStates:
        """Root states of the characters."""
        return RootStates(
            pairs(self._history.place),
            pairs(self._velocity),
            self._history.angle.copy(),
            self._rate,
        )

    @property
    def network_inputs(self) -> tuple[Array, Array]:
        """Raw inputs and gate, (characters, dims) each, of the last frame."""
        return self._input.inputs, self._input.gate

    @property
    def phases(self) -> PhaseParameters | None:
        """Phases of the last frame, (characters, channels) each; None if the network has none."""
        return None if self._phases is None else self._phases.parameters()

    def step(self, goal_source: GoalSource | None = None, tracks: Tracks | None = None) -> Frame:
        """Advance all characters by one frame.

        Parameters
        ----------
        goal_source
            Goals of the characters, limited by `Controller.goal_limits`. Without goals the network
            follows its own prediction.
        tracks
            Name -> (characters, offsets, values) at the schema's offsets; required for every track
            of the schema.

        Raises
        ------
        ParameterError
            If the goals have another number of characters, an unknown label or values that are not
            finite, or a track is missing or has another shape.
        """
        future, desired, limited = self._future, None, None
        stands, facings = np.zeros(len(self), bool), self._history.angle
        if goal_source is not None:
            self._check(goal_source)
            root_states, goals = self.root_states, goal_source
            for part in self._parts:
                goals = part.goals(goals)
            future, desired, limited, facings = self._blend.blended(future, goals, root_states)
            stands = goals_that_stand(desired, self.controller.schema.config.step_s)
            # The goals are those of the start of the step.
            goal_source.advance(root_states, self._seconds)
        trajectory, trajectory_angles = self._fill_input(future, tracks)
        gating = self._network.gating(self._input.gate) if self.settings.gating else None
        outputs = self._network.step(self._input.inputs, self._input.gate)
        if self._detail is not None:
            rests = np.zeros(len(self), bool) if self._rest is None else self._rest.resting
            given = self._input.inputs, self._input.gate
            self._detail.add(outputs, *given, rests, self._labels.goal_values)
        if self._rest is not None:
            speeds, angles = np.abs(self._velocity), self._history.angle
            styles = self._labels.goal_values
            self._rest.replace(outputs, stands, speeds, angles, facings, styles)
            # Captured rest sways about its place.
            stands &= ~self._rest.resting
        outputs = self._bounded(outputs)
        # Goals of a stick have no place.
        self._move(outputs, stands, goal_source if isinstance(goal_source, PathGoals) else None)
        pose, limb_errors = self._read_pose(outputs)
        contacts = np.clip(outputs[:, self._slices["contact"]], 0.0, 1.0)
        self._network.redraw(((contacts > 0.5) & (self._contacts <= 0.5)).any(axis=1))
        self._contacts = contacts
        if self._phases is not None:
            self._phases.advance(outputs)
        place, angle = self._history.place, self._history.angle
        level = _first(part.level(place, angle) for part in self._parts)
        rotations, translations = self._poses.in_world(pose, place, angle, level)
        unlocked = swinging = None
        if not self.settings.foot_ik:
            self._feet.hinges.constrain(rotations)
        else:
            unlocked = rotations[:, self._feet.joints]
            local = self._poses.local_positions(translations)
            moved = _first(part.foot_offsets for part in self._parts)
            resting = None if self._rest is None else self._rest.resting
            before = angle - self._seconds * self._rate
            captured = () if self._detail is None else self._detail.feet(before)
            touching = self._feet.touching(contacts)
            drop = self._feet.lock.apply(
                rotations, local, touching, self._seconds, moved, resting, *captured
            )
            if drop is not None:
                translations[:, 0, 1] -= drop
            contacts = np.where(self._feet.stepping, np.float32(0.0), contacts)
            swinging = self._feet.swinging(contacts)
        made = StepResult(outputs, place, angle, rotations, translations, swinging)
        return Frame(
            rotations,
            translations,
            pairs(place),
            angle.copy(),
            contacts,
            alive=self._alive.copy(),
            limb_errors=limb_errors,
            gating=gating,
            phases=self.phases,
            trajectory=trajectory,
            trajectory_angles=trajectory_angles,
            desired=desired,
            limited=limited,
            unlocked=unlocked,
            tracks={name: each for part in self._parts for name, each in part.step(made).items()},
        )

    def _fill_input(self, future: FutureTrajectory, tracks: Tracks | None) -> tuple[Array, Array]:
        """Write inputs and gate; the trajectory ahead in the world, as `Frame` has it."""
        place, angle = self._history.place, self._history.angle
        ahead, ahead_angles = future.in_world(place, angle)
        path = self._input.path(self._history, future)
        now = StepInput(place, angle, path[0], path[1], ahead, ahead_angles)
        blocks = {name: each for part in self._parts for name, each in part.blocks(now).items()}
        self._input.fill(path, blocks, self._phases, tracks)
        return ahead, ahead_angles

    def _check(self, goal_source: GoalSource) -> None:
        if goal_source is self._checked:
            return
        count = len(goal_source.target()[0])
        if count != len(self):
            raise ParameterError(
                f"goals for {count} characters, but there are {len(self)}",
                hint="make the goal source with one origin or root state for each character",
            )
        self._checked = goal_source

    def _bounded(self, outputs: Array) -> Array:
        """The outputs; where they have diverged, the last valid ones at rest."""
        # Comparisons are false for NaN. Two numbers tell where all characters are well.
        if not (outputs.min() > -_MAX_OUTPUT and outputs.max() < _MAX_OUTPUT):
            self._alive &= (np.abs(outputs) < _MAX_OUTPUT).all(axis=1)
        if not self._alive.all():
            outputs = np.where(self._alive[:, None], outputs, _at_rest(self._outputs, self._slices))
        self._outputs = outputs
        return outputs

    def _move(self, outputs: Array, stands: Array, path: PathGoals | None) -> None:
        """Move the roots by the predicted step, and read the future trajectory from there.

        `stands` is (characters,) bool: the goal stands. Steps are corrected towards a path.
        """
        place, angle = self._history.place, self._history.angle
        velocity = complex_of(outputs[:, self._slices["root_velocity"]])[:, 0]
        velocity = self._standing.steadied(velocity, stands)
        step = self._seconds * velocity * np.exp(-1j * angle)
        turn = self._seconds * outputs[:, self._slices["root_turn"]][:, 0].astype(np.float64)
        if path is not None:
            target, facing = path.target()
            gap = complex_of(target)[:, 0] - place - step
            turn = self._correction.turn(turn, step / self._seconds, angle, gap, facing)
            step = step + self._correction.shift(step, gap)
        goal = place + step
        self._rate, self._velocity = turn / self._seconds, step / self._seconds
        self._future = self._reader.read(outputs)
        turned = angle + turn
        now = self._future.velocities[:, 0] * np.exp(-1j * turned)
        self._history.record(goal, turned, now)

    def _read_pose(self, outputs: Array) -> tuple[BodyPose, Array]:
        """The pose of the outputs, which is the next input, and its `Frame.limb_errors`."""
        predicted = outputs[:, self._slices["joint_position"]]
        joints = predicted.reshape(len(predicted), -1, 3)
        numbers = outputs[:, self._slices["joint_rotation"]]
        pose = self._poses.read(numbers, joints[:, 0])
        apart = pose.positions - joints
        velocity = outputs[:, self._slices["joint_velocity"]]
        if self.settings.feedback == "pose":
            predicted = pose.positions.reshape(predicted.shape)
            numbers = pose.numbers.reshape(numbers.shape)
        self._input.set_pose(predicted, velocity, numbers)
        return pose, np.sqrt(np.vecdot(apart, apart)).mean(axis=1)

    def _standing_outputs(self) -> Array:
        """(characters, dims) outputs of the initial pose at rest, as far as the inputs have it."""
        outputs = np.zeros((len(self), self.controller.schema.outputs.dims), np.float32)
        rotation = self._slices["joint_rotation"]
        outputs[:, rotation] = np.resize(_IDENTITY, rotation.stop - rotation.start)
        for name, block in self._input.pose.items():
            outputs[:, self._slices[name]] = block
        return outputs


def _first(values: Iterable[Array | None]) -> Array | None:
    """The first of the values that is not None."""
    return next((value for value in values if value is not None), None)


def _at_rest(outputs: Array, slices: Mapping[str, slice]) -> Array:
    """The outputs with all velocities and rates set to 0."""
    rest = outputs.copy()
    for name, block in slices.items():
        if name.startswith(
            ("trajectory", "root_", "joint_velocity", "ball_velocity", "phase_rate", "phase_freq")
        ):
            rest[:, block] = 0.0
    return rest


def _check_starts(starts: InitialStates, controller: Controller) -> None:
    dims, count = controller.schema.dims, len(starts)
    found = (starts.inputs.shape[1], starts.gate.shape[1])
    if found != (dims.inputs, dims.gate):
        raise ParameterError(
            f"starts with {found[0]} inputs and {found[1]} gate values; the controller "
            f"{controller.name!r} has {dims.inputs} and {dims.gate}",
            hint="make them with the controller's own schema",
        )
    if not count:
        raise ParameterError("there is no start", hint="give one start for each character")
    if not (np.isfinite(starts.inputs).all() and np.isfinite(starts.gate).all()):
        raise ParameterError("a start has a value that is not finite", hint="leave this start out")


def _placed(values: Array | None, shape: tuple[int, ...], name: str) -> Array:
    placed = np.zeros(shape) if values is None else np.array(values, np.float64)
    if placed.shape != shape or not np.isfinite(placed).all():
        raise ParameterError(
            f"{name} of characters have shape {placed.shape}, expected {shape}, finite"
        )
    return placed
