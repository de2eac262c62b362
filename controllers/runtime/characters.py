"""Characters that a controller moves: any number at once, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from controllers.data.initial_states import InitialStates
from controllers.runtime.body_pose import BodyPose, BodyPoses, CharacterFeet
from controllers.runtime.controller import Controller
from controllers.runtime.frame import CharacterSettings
from controllers.runtime.future_trajectory import (
    FutureTrajectory,
    TrajectoryBlend,
    TrajectoryReader,
)
from controllers.runtime.network_input import (
    DesiredLabels,
    NetworkInput,
    PoseHistory,
    labels_of_each,
)
from controllers.runtime.network_state import RunningNetwork, running_phases
from controllers.runtime.obstacles import Obstacles
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.trajectory import complex_of, pairs
from deepphase.phase.parameters import PhaseParameters
from deepphase.steering.goal_sources import GoalSource
from deepphase.steering.root_states import RootStates
from deepphase.steering.run import Frame, RunnerSpec

Tracks = Mapping[str, Array]
# No value of a body in metres and seconds is larger: the network has left what it learnt.
_LARGEST = 1e3
_NO_TURN = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0], np.float32)


class Characters:
    """Characters, each from a start of its own; one `step` is one frame. A `Runner`.

    Parameters
    ----------
    controller
        What moves them.
    starts
        A moment for each; what they see there is all that they know of it.
    positions, angles
        (characters, 2) m, x and z, and (characters,) rad: where they begin, and facing where;
        the origin and +Z by default.
    settings
        How they run.
    seed
        Of a network that draws.
    labels
        Label -> value, or a value for each character: wished from the beginning.
    obstacles
        Walls that they do not pass, and pits that they stop at.
    network
        What steps in place of the controller's own network, as `onnx_network.OnnxNetwork` does;
        `seed` is its own then.

    Raises
    ------
    ParameterError
        Where the starts are of another schema, shapes do not fit, a label is unknown, or a
        character begins inside an obstacle.
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
        obstacles: Obstacles | None = None,
        network: RunningNetwork | None = None,
    ) -> None:
        self.controller, self.settings = controller, settings or CharacterSettings()
        self.obstacles = obstacles
        schema, count = controller.schema, len(starts)
        _check_starts(starts, controller)
        places = _placed(positions, (count, 2), "positions")
        facing = _placed(angles, (count,), "angles")
        if obstacles is not None:
            obstacles.check_free(places)
        self._seconds = 1.0 / schema.fps
        self._slices = schema.outputs.slices
        self._seen = NetworkInput(schema, starts.inputs, starts.gate)
        self._poses = BodyPoses(controller.skeleton, schema)
        self._feet = CharacterFeet(controller.skeleton, schema, count)
        self._network = network or RunningNetwork(controller.network, count, seed)
        self._phases = running_phases(schema, starts.gate, self.settings.phase_blend)
        self._labels = DesiredLabels(schema, self._seen.label, self.settings.label_halflife_s)
        if labels:
            self._labels.goal(labels_of_each(labels, count))
        whole = self._seen.trajectory
        turn = np.exp(-1j * facing)[:, None]
        self._past = PoseHistory(
            schema,
            complex_of(places) + whole.places * turn,
            facing[:, None] + whole.angles,
            None if whole.velocities is None else whole.velocities * turn,
            self._seen.label,
        )
        self._ahead = self._seen.ahead
        self._reader = TrajectoryReader(schema.outputs, schema)
        self._blend = TrajectoryBlend(
            schema, self.settings.position_bias, self.settings.direction_bias
        )
        self._velocity, self._rate = self._past.velocity.copy(), self._past.rate
        self._alive = np.ones(count, bool)
        self._contacts = np.zeros((count, len(schema.feet)), np.float32)
        self._outputs = self._standing_outputs()
        self._checked: GoalSource | None = None
        self.spec = RunnerSpec(
            fps=schema.fps,
            skeleton=controller.skeleton,
            translated_joints=self._poses.translated_joints,
            joints=schema.joints,
            feet=schema.feet,
            body=dict(schema.body),
            offsets_s=np.array([each for each in schema.config.later_s if each > 0.0]),
            note="made by a controller",
        )

    def __len__(self) -> int:
        return len(self._alive)

    @property
    def root_states(self) -> RootStates:
        """Where the characters are and how they move."""
        return RootStates(
            pairs(self._past.place), pairs(self._velocity), self._past.angle.copy(), self._rate
        )

    @property
    def network_inputs(self) -> tuple[Array, Array]:
        """Raw inputs and gate (characters, dims) that the last frame was made of."""
        return self._seen.inputs, self._seen.gate

    @property
    def phases(self) -> PhaseParameters | None:
        """(characters, channels) each, of the last frame; None where there are none."""
        return None if self._phases is None else self._phases.parameters()

    def step(self, goal_source: GoalSource | None = None, tracks: Tracks | None = None) -> Frame:
        """Advance all characters by one frame.

        Parameters
        ----------
        follower
            What they wish; without one the network goes where it will.
        tracks
            Name -> (characters, offsets, values) at the schema's offsets from now: needed where
            the schema names some.

        Raises
        ------
        ParameterError
            Where the follower has another number of characters, wishes what the controller does
            not know or what is not finite, or a track is missing or of another shape.
        """
        ahead, desired = self._ahead, None
        if goal_source is not None:
            self._check(goal_source)
            root_states = self.root_states
            ahead, desired = self._blend.blended(ahead, goal_source, root_states)
            self._labels.goal(goal_source.labels())
            # The wish is of the moment that the step begins with, the step leads to the next.
            goal_source.advance(root_states, self._seconds)
        if self.obstacles is not None:
            ahead = self._before_obstacles(ahead, self.obstacles)
        shown, shown_angles = ahead.in_world(self._past.place, self._past.angle)
        self._labels.advance()
        self._seen.fill(self._past, ahead, self._labels.now, self._phases, tracks)
        gating = self._network.gating(self._seen.gate) if self.settings.gating else None
        outputs = self._living(self._network.step(self._seen.inputs, self._seen.gate))
        self._move(outputs)
        pose, limb_errors = self._posed(outputs)
        contacts = np.clip(outputs[:, self._slices["contact"]], 0.0, 1.0)
        self._network.redraw(((contacts > 0.5) & (self._contacts <= 0.5)).any(axis=1))
        self._contacts = contacts
        if self._phases is not None:
            self._phases.advance(outputs)
        place, angle = self._past.place, self._past.angle
        rotations, translations = self._poses.in_world(pose, place, angle)
        if self.settings.foot_ik:
            local = self._poses.local_positions(translations)
            self._feet.hold(rotations, local, contacts, angle, self._seconds)
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
            trajectory=shown,
            trajectory_angles=shown_angles,
            desired=desired,
        )

    def _check(self, goal_source: GoalSource) -> None:
        if goal_source is self._checked:
            return
        found = len(goal_source.target()[0])
        if found != len(self):
            raise ParameterError(
                f"a wish for {found} characters, and there are {len(self)}",
                hint="make the follower with one origin, or one mover, for each character",
            )
        self._checked = goal_source

    def _before_obstacles(self, ahead: FutureTrajectory, obstacles: Obstacles) -> FutureTrajectory:
        """What lies ahead, kept off obstacles; slower where it is held up."""
        here, turn = self._past.place, np.exp(1j * self._past.angle)[:, None]
        places = obstacles.kept_off(here, here[:, None] + ahead.places / turn)
        places = (places - here[:, None]) * turn
        lost = np.diff(places - ahead.places, axis=1, prepend=0.0)
        velocities = ahead.velocities.copy()
        velocities[:, 1:] += lost / self.controller.schema.config.step_s
        return FutureTrajectory(places, ahead.angles, velocities)

    def _living(self, outputs: Array) -> Array:
        """The outputs, with the last ones of those whose network has left all bounds."""
        # Not a number is no smaller than anything.
        bounded = (np.abs(outputs) < _LARGEST).all(axis=1)
        self._alive &= bounded
        if not self._alive.all():
            outputs = np.where(self._alive[:, None], outputs, _at_rest(self._outputs, self._slices))
        self._outputs = outputs
        return outputs

    def _move(self, outputs: Array) -> None:
        """Move the roots by the predicted step, and take what lies ahead from where they are."""
        place, angle = self._past.place, self._past.angle
        velocity = complex_of(outputs[:, self._slices["root_velocity"]])[:, 0]
        goal = place + self._seconds * velocity * np.exp(-1j * angle)
        if self.obstacles is not None:
            goal = self.obstacles.kept_off(place, goal[:, None])[:, 0]
        self._rate = outputs[:, self._slices["root_turn"]][:, 0].astype(np.float64)
        self._velocity = (goal - place) / self._seconds
        self._ahead = self._reader.read(outputs)
        turned = angle + self._seconds * self._rate
        now = self._ahead.velocities[:, 0] * np.exp(-1j * turned)
        self._past.record(goal, turned, now, self._labels.now)

    def _posed(self, outputs: Array) -> tuple[BodyPose, Array]:
        """The pose of the outputs, which the network sees next, and its `Frame.limb_errors`."""
        predicted = outputs[:, self._slices["joint_position"]]
        joints = predicted.reshape(len(predicted), -1, 3)
        numbers = outputs[:, self._slices["joint_rotation"]]
        pose = self._poses.read(numbers, joints[:, 0])
        apart = pose.positions - joints
        velocity = outputs[:, self._slices["joint_velocity"]]
        if self.settings.feedback == "pose":
            predicted = pose.positions.reshape(predicted.shape)
            numbers = pose.numbers.reshape(numbers.shape)
        self._seen.set_pose(predicted, velocity, numbers)
        return pose, np.sqrt(np.vecdot(apart, apart)).mean(axis=1)

    def _standing_outputs(self) -> Array:
        """(characters, dims) outputs of a body that stays as it begins, as far as it is known."""
        outputs = np.zeros((len(self), self.controller.schema.outputs.dims), np.float32)
        rotation = self._slices["joint_rotation"]
        outputs[:, rotation] = np.resize(_NO_TURN, rotation.stop - rotation.start)
        for name, block in self._seen.pose.items():
            outputs[:, self._slices[name]] = block
        return outputs


def _at_rest(outputs: Array, slices: Mapping[str, slice]) -> Array:
    """The same poses, standing still."""
    rest = outputs.copy()
    for name, block in slices.items():
        if name.startswith(("trajectory", "root_", "joint_velocity", "phase_rate", "phase_freq")):
            rest[:, block] = 0.0
    return rest


def _check_starts(starts: InitialStates, controller: Controller) -> None:
    dims, count = controller.schema.dims, len(starts)
    found = (starts.inputs.shape[1], starts.gate.shape[1])
    if found != (dims.inputs, dims.gate):
        raise ParameterError(
            f"starts of {found[0]} inputs and {found[1]} numbers of a gate, the controller "
            f"{controller.name!r} has {dims.inputs} and {dims.gate}",
            hint="make them with the controller's own schema",
        )
    if not count:
        raise ParameterError("no start: no character")
    if not (np.isfinite(starts.inputs).all() and np.isfinite(starts.gate).all()):
        raise ParameterError("a start with a value that is not finite")


def _placed(values: Array | None, shape: tuple[int, ...], name: str) -> Array:
    found = np.zeros(shape) if values is None else np.array(values, np.float64)
    if found.shape != shape or not np.isfinite(found).all():
        raise ParameterError(f"{name} {found.shape} of characters: expected {shape}, finite")
    return found
