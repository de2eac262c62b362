"""Health of a trained controller: errors on held-out clips, in one step and free-running."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from deepphase.arrays import Array
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.data.samples import ControllerSamples
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.training.course import course_run, direction_speeds
from deepphase.evaluation.findings import ANSWERED
from deepphase.evaluation.motion_measures import below, joint_rotation_rates
from deepphase.motion.clip import joint_positions
from deepphase.motion.quaternions import from_six_numbers
from deepphase.motion.resample import BANDS_HZ
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import RootTrajectory, root_trajectory, to_root_space
from deepphase.steering.goal_sources import RootStates
from deepphase.steering.run import Frame, Run, rollout
from deepphase.work import Progress, report


class RecordedGoals:
    """Goals from recorded `positions` and `angles` (characters, frames), whatever characters do."""

    def __init__(
        self,
        positions: Array,
        angles: Array,
        fps: float,
        labels: list[dict[str, str]] | None = None,
    ) -> None:
        self._positions = np.asarray(positions, np.float64)
        self._angles = np.asarray(angles, np.float64)
        self._fps, self._time = fps, 0.0
        self._labels = labels or [{} for _ in angles]

    def advance(self, root_states: RootStates, seconds: float) -> Array:
        """As `GoalSource.advance`; recorded goals never jump."""
        self._time += seconds
        return np.zeros(len(self._angles), bool)

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        return self._at(self._time + np.asarray(offsets_s), which)

    def target(self) -> tuple[Array, Array]:
        positions, angles = self._at(np.array([self._time]), np.arange(len(self._angles)))
        return positions[:, 0], angles[:, 0]

    def labels(self) -> list[dict[str, str]]:
        return self._labels

    def _at(self, times: Array, which: Array) -> tuple[Array, Array]:
        place = np.maximum(times * self._fps, 0.0)
        before = np.minimum(place.astype(np.int64), self._angles.shape[1] - 2)
        share = place - before
        positions, angles = self._positions[which], self._angles[which]
        moved = positions[:, before + 1] - positions[:, before]
        turned = angles[:, before + 1] - angles[:, before]
        return positions[:, before] + share[:, None] * moved, angles[:, before] + share * turned


_MAX_RUNS, _MIN_RUNS = 48, 8
# Candidate lengths of the runs; the longest that enough held-out clips have is used.
_SECONDS = (4.0, 2.0, 1.0, 0.5, 0.25)


def _held_out_run(controller: Controller, data: ControllerData) -> tuple[Run, Array, Array] | None:
    """A run along held-out clips, with their own trajectories as goals; (runs,) row of the first
    sample of each, and deg/s of the joints in the clips. None if they are too short."""
    samples, schema = data.samples, controller.schema
    rows, frames = _start_rows(samples, data.split.held_out, schema.fps)
    if not len(rows):
        return None
    starts = InitialStates.from_samples(samples, rows)
    recorded = _recorded(data, samples.run_of(rows), starts.frames, frames)
    goal_source, movement = recorded
    positions, angles = goal_source.target()
    characters = Characters(controller, starts, positions=positions, angles=angles)

    def tracks(step: int) -> dict[str, Array]:
        now = np.asarray(samples.inputs[rows + step])
        offsets = len(schema.config.offsets_s)
        return {
            name: now[:, schema.inputs.slices[name]].reshape(len(rows), offsets, -1)
            for name in schema.config.tracks
        }

    def step(index: int) -> Frame:
        return characters.step(goal_source, tracks(index))

    run = rollout(characters, goal_source, frames / schema.fps, step=step)
    return run, rows, movement


def free_running_errors(controller: Controller, data: ControllerData) -> dict[str, Any]:
    """Errors over runs that start at held-out frames; see `training_health`."""
    free = _held_out_run(controller, data)
    if free is None:
        return {"runs": 0}
    samples, schema, (run, rows, movement) = data.samples, controller.schema, free
    # Frame k of a run corresponds to the outputs of row + k.
    later = (rows[:, None] + np.arange(len(run))).reshape(-1)
    place = schema.outputs.slices["joint_position"]
    truth = np.asarray(samples.outputs[later][:, place])
    given = schema.inputs.slices["joint_position"]
    mean = controller.network.get_buffer("inputs_mean").cpu().numpy()[given]
    desired = run.positions if run.desired_positions is None else run.desired_positions
    away = np.linalg.norm(run.positions - desired, axis=-1)
    joints = [controller.skeleton.names.index(name) for name in schema.joints]
    moved = [joint_rotation_rates(each[:, joints], schema.fps).mean() for each in run.rotations]
    poses = _poses(run, joints)
    return {
        "runs": run.characters,
        "seconds": len(run) / schema.fps,
        "run_position_cm": 100.0 * joint_distance(poses, truth),
        "mean_position_cm": 100.0 * joint_distance(np.broadcast_to(mean, truth.shape), truth),
        "run_path_cm": 100.0 * float(away.mean()),
        "run_movement": float(np.mean(moved)) / max(float(movement.mean()), 1e-6),
        "alive": float(run.alive[:, -1].mean()),
    }


def joint_distance(positions: Array, others: Array) -> float:
    """Mean distance of joints (samples, 3 * joints)."""
    return float(np.linalg.norm((positions - others).reshape(len(others), -1, 3), axis=-1).mean())


def _start_rows(samples: ControllerSamples, held_out: Array, fps: float) -> tuple[Array, int]:
    """First rows of the runs, and the number of frames that follow all of them."""
    left = samples.following(held_out)
    for seconds in _SECONDS:
        frames = round(seconds * fps)
        rows = held_out[left >= frames]
        # One start in every stretch of that length, so that the runs cover different motion.
        rows = rows[np.unique(rows // frames, return_index=True)[1]]
        if len(rows) >= _MIN_RUNS or (seconds == _SECONDS[-1] and len(rows)):
            return rows[
                np.unique(np.linspace(0, len(rows) - 1, _MAX_RUNS).astype(np.int64))
            ], frames
    return np.zeros(0, np.int64), 0


def _recorded(
    data: ControllerData, runs: Array, first: Array, frames: int
) -> tuple[RecordedGoals, Array]:
    """The clips' trajectories from those frames on, and their mean rotation rates."""
    store, samples, schema = data.store, data.samples, data.schema
    places = {name: index for index, name in enumerate(store.names)}
    reach = round(schema.config.offsets_s[-1] * schema.fps)
    positions = np.empty((len(runs), frames + reach + 1, 2))
    angles = np.empty(positions.shape[:2])
    labels, moved = [], []
    joints = [store.skeleton.names.index(name) for name in schema.joints]
    steps = np.arange(positions.shape[1])
    for index, (run, start) in enumerate(zip(runs.tolist(), first.tolist(), strict=True)):
        clip = store.clip(places[samples.names[run]])
        root = root_trajectory(clip, find_roles(clip.skeleton, description=dict(schema.body)))
        # The mirror image turns to the other side.
        sign = -1.0 if samples.mirrored[run] else 1.0
        last = len(clip) - 1
        here, beyond = np.minimum(start + steps, last), np.maximum(start + steps - last, 0)
        way = root.positions[here] + beyond[:, None] * (root.positions[-1] - root.positions[-2])
        positions[index] = way[:, [0, 2]] * (sign, 1.0)
        angles[index] = sign * root.angles[here]
        name = schema.config.label
        labels.append({name: clip.labels[name]} if name else {})
        rotations = clip.rotations[start : start + frames + 1][:, joints]
        moved.append(joint_rotation_rates(rotations, clip.fps).mean())
    goals = RecordedGoals(positions, angles, schema.fps, labels)
    return goals, np.array(moved)


def _poses(run: Run, joints: list[int]) -> Array:
    """(characters * frames, 3 * joints) in root space."""
    poses = []
    for index in range(run.characters):
        root = RootTrajectory.from_ground(run.positions[index], run.angles[index])
        poses.append(to_root_space(joint_positions(run.clip(index))[:, joints], root))
    return np.concatenate(poses).reshape(run.characters * len(run), -1)


_ONE_STEP_SAMPLES = 4096
_RATIOS = {"rotation_ratio": "joint rotation", "jerk_ratio": "jerk"}
# Measures of runs along the course.
_ON_COURSE = (
    *("survived", "clock_error", "worst_clock_error", "runaways", "speed", "desired_speed"),
    *(name for ratio in _RATIOS for name in (ratio, *(below(ratio, edge) for edge in BANDS_HZ))),
    *("skating", "idle_ratio"),
)
# Shares of the clips' own joint rotation: below the first the motion fades out, above the second
# it jitters.
_FADES, _JITTERS = 0.6, 1.7


def training_health(
    controller: Controller, data: ControllerData, progress: Progress | None = None
) -> dict[str, Any]:
    """Errors on held-out clips, as numbers and texts.

    ===================  ==========================================================================
    samples              number of held-out frames for the one-step errors
    explained            explained share of the variance of normalised outputs, one step
    position_cm          mean distance of joints one step later, root space
    still_position_cm    the same for a pose that does not change
    rotation_degrees     mean angle between joint rotations one step later
    runs, seconds        number and length of free runs with the clip's own trajectory as goal
    run_position_cm      mean distance of joints from the clip's, root space, over the runs
    mean_position_cm     the same for the mean pose, to which failing networks converge
    run_path_cm          mean distance of the root from the clip's, over the runs
    run_movement         joint rotation rate divided by that of the clips
    alive                share of the runs without diverged values
    course               measures of a run along `deepphase.controllers.training.course`, if
                         weights were chosen by it: its score, and some of `RUN_MEASURES`
    directions           direction -> (desired, reached) m/s, if there is a course
    findings             problems and what to try against them
    ===================  ==========================================================================
    """
    report(progress, "measuring", 0, 3, "one step on held-out clips")
    found = _one_step(controller, data.samples, data.split.held_out)
    report(progress, "measuring", 1, 3, "free runs on held-out clips")
    found |= free_running_errors(controller, data)
    findings = [*_findings(found), *_data_findings(controller)]
    if controller.provenance.get("run_checks"):
        report(progress, "measuring", 2, 3, "a run along a course")
        run = course_run(controller)
        found["course"] = {
            "score": run.score.total,
            "seconds": round(len(run.run) / run.run.fps, 1),
        } | {name: run.measures.get(name) for name in _ON_COURSE}
        found["directions"] = direction_speeds(controller)
        findings += [*run.findings, *_direction_findings(found["directions"])]
    found["findings"] = findings or ["nothing out of the ordinary"]
    report(progress, "measuring", 3, 3)
    return found


def health_lines(health: Mapping[str, Any]) -> list[str]:
    """The measures as lines of text."""
    lines = [
        f"one step: joint error {health['position_cm']:.2f} cm on {health['samples']} held-out "
        f"frames (constant pose: {health['still_position_cm']:.2f} cm), rotations "
        f"{health['rotation_degrees']:.2f} degrees; explained variance {health['explained']:.1%}"
    ]
    if health["runs"]:
        lines.append(
            f"free-running for {health['seconds']:g} s in {health['runs']} runs: joints "
            f"{health['run_position_cm']:.1f} cm from the clips' (mean pose: "
            f"{health['mean_position_cm']:.1f} cm), root {health['run_path_cm']:.1f} cm, "
            f"{health['run_movement']:.0%} of the clips' movement, {health['alive']:.0%} alive"
        )
    if course := health.get("course"):
        lines.append(_course_line(course))
    if directions := health.get("directions"):
        reached = [
            f"{name} {own:.2f} of {wanted:.2f}" for name, (wanted, own) in directions.items()
        ]
        lines.append(f"m/s reached of those desired, facing ahead: {', '.join(reached)}")
    return lines + list(health["findings"])


def _course_line(course: Mapping[str, Any]) -> str:
    parts = []
    if course["clock_error"] is not None:
        parts.append(
            f"{100.0 * course['clock_error']:.0f} cm from the path by the clock (worst character "
            f"{100.0 * course['worst_clock_error']:.0f} cm), {course['runaways']:.0%} run away"
        )
        parts.append(f"{course['speed']:.2f} m/s of {course['desired_speed']:.2f} m/s")
    for name, text in _RATIOS.items():
        if course[name] is not None:
            slow = [f"{edge:g} Hz {course[below(name, edge)]:.2f}" for edge in BANDS_HZ]
            parts.append(f"{text} {course[name]:.2f} of the data's (below {', '.join(slow)})")
    if course["skating"] is not None:
        parts.append(f"skating {course['skating']:.2f}")
    measured = ", ".join(parts) or "no character lived"
    return f"along a course of {course['seconds']:g} s: {measured}; score {course['score']:.2f}"


@torch.inference_mode()
def _one_step(controller: Controller, samples: ControllerSamples, rows: Array) -> dict[str, Any]:
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, _ONE_STEP_SAMPLES).astype(np.int64))]
    inputs, gate, outputs = (
        torch.from_numpy(np.asarray(each[rows]))
        for each in (samples.inputs, samples.gate, samples.outputs)
    )
    network = controller.network
    predicted = network(inputs, gate)
    target = network.target(outputs, inputs)
    unexplained = float((network.target(predicted, inputs) - target).square().sum())
    slices, input_slices = controller.schema.outputs.slices, controller.schema.inputs.slices
    made, truth = predicted.numpy(), outputs.numpy()
    place, turn = slices["joint_position"], slices["joint_rotation"]
    still = inputs.numpy()[:, input_slices["joint_position"]]
    cosines = np.abs(np.vecdot(_rotations(made[:, turn]), _rotations(truth[:, turn])))
    return {
        "samples": len(rows),
        "explained": 1.0 - unexplained / max(float(target.square().sum()), 1e-12),
        "position_cm": 100.0 * joint_distance(made[:, place], truth[:, place]),
        "still_position_cm": 100.0 * joint_distance(still, truth[:, place]),
        "rotation_degrees": float(np.degrees(2.0 * np.arccos(np.minimum(cosines, 1.0))).mean()),
    }


def _rotations(numbers: Array) -> Array:
    """(samples, 6 * joints) -> (samples, joints, 4)."""
    return from_six_numbers(numbers.reshape(len(numbers), -1, 6))


def _data_findings(controller: Controller) -> list[str]:
    """What the training clips lack."""
    findings, spans = [], controller.goal_limits.spans
    if controller.rest is not None and not controller.rest.captured:
        findings.append(
            "no clip stands at rest: characters hold the quietest moment, with slow noise; add "
            "clips that stand"
        )
    if spans and controller.data["travelling_speed"] > 0:
        ranges = [" to ".join(f"{np.degrees(end):.0f}" for end in span) for span in spans]
        findings.append(
            f"the clips travel {' and '.join(ranges)} degrees from the facing to the left alone: "
            "goals in other directions turn the facing; add clips that walk there"
        )
    return findings


def _direction_findings(directions: Mapping[str, tuple[float, float]]) -> list[str]:
    """The sentence on directions in which less is reached than the clips go."""
    slow = [
        f"{name} {max(own / wanted, 0.0):.0%} of {wanted:.2f} m/s"
        for name, (wanted, own) in directions.items()
        if own < ANSWERED * wanted
    ]
    said = (
        f"characters do not go as fast as the clips: {', '.join(slow)}; try a motion database "
        "(`deepphase match build`), which plays the clips, or a longer training"
    )
    return [said] if slow else []


def _findings(found: Mapping[str, Any]) -> list[str]:
    findings = []
    if found["position_cm"] > found["still_position_cm"]:
        findings.append(
            f"one step is worse than standing still: {found['position_cm']:.2f} cm from the clips, "
            f"where a pose that does not change is {found['still_position_cm']:.2f} cm away: judge "
            "by the free runs, and train longer or with more clips"
        )
    if not found["runs"]:
        findings.append("held-out clips are too short for free runs: hold out longer ones")
        return findings
    if found["alive"] < 1.0:
        findings.append(
            f"{1.0 - found['alive']:.0%} of the runs diverged; try a longer training, or a larger "
            "training.pose_noise"
        )
    if found["run_position_cm"] > found["mean_position_cm"]:
        findings.append(
            "free runs are no closer to the clips than the mean pose; try a longer training"
        )
    if found["run_movement"] < _FADES:
        findings.append("free runs fade out; try a longer training, or a network with phases")
    if found["run_movement"] > _JITTERS:
        findings.append("free runs jitter; try a longer training, or a larger training.pose_noise")
    return findings
