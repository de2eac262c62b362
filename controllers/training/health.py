"""Did the training work? A controller's errors on clips held out: one step, and left to itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from controllers.data.controller_data import ControllerData
from controllers.data.samples import ControllerSamples
from controllers.runtime.controller import Controller
from controllers.schema.rotations_6d import from_six_numbers
from controllers.training.free_running import free_running_errors, joint_distance
from deepphase.arrays import Array
from deepphase.progress import Progress

_ONE_STEP_SAMPLES = 4096
# Below this share of the clips' own rotation a run dies out, above the other it shakes.
_DIES, _SHAKES = 0.6, 1.7


def training_health(
    controller: Controller, data: ControllerData, progress: Progress | None = None
) -> dict[str, Any]:
    """Errors on held-out clips, as plain numbers and words.

    ===================  ==========================================================================
    samples              held-out frames of the one-step errors
    explained            share of the variance of normalised outputs that one step explains
    position_cm          mean distance of joints one step later, root space
    still_position_cm    the same if the pose stood still
    rotation_degrees     mean angle between joint rotations one step later
    runs, seconds        runs left to themselves with the clip's own trajectory wished, how long
    run_position_cm      mean distance of joints from the clip's, root space, over the runs
    mean_position_cm     the same of the mean pose, which a network falls back to that fails
    run_path_cm          mean distance of the root from the clip's, over the runs
    run_movement         joint rotation a second over the clips' own
    alive                share of the runs in which all values stayed those of a body
    findings             what is out of the ordinary and what to try
    ===================  ==========================================================================
    """
    if progress is not None:
        progress("measuring", 0, 2, "one step on held-out clips")
    found = _one_step(controller, data.samples, data.split.held_out)
    if progress is not None:
        progress("measuring", 1, 2, "left to itself on held-out clips")
    found |= free_running_errors(controller, data)
    found["findings"] = _findings(found)
    if progress is not None:
        progress("measuring", 2, 2, "")
    return found


def words(health: Mapping[str, Any]) -> list[str]:
    """The measures as lines of plain words."""
    lines = [
        f"one step: joints {health['position_cm']:.2f} cm off on {health['samples']} held-out "
        f"frames (standing still: {health['still_position_cm']:.2f} cm), rotations "
        f"{health['rotation_degrees']:.2f} degrees; explains {health['explained']:.1%}"
    ]
    if health["runs"]:
        lines.append(
            f"left to itself for {health['seconds']:g} s in {health['runs']} runs: joints "
            f"{health['run_position_cm']:.1f} cm from the clips' (mean pose: "
            f"{health['mean_position_cm']:.1f} cm), root {health['run_path_cm']:.1f} cm, "
            f"{health['run_movement']:.0%} of the clips' movement, {health['alive']:.0%} alive"
        )
    return lines + list(health["findings"])


@torch.inference_mode()
def _one_step(controller: Controller, samples: ControllerSamples, rows: Array) -> dict[str, Any]:
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, _ONE_STEP_SAMPLES).astype(np.int64))]
    inputs, gate, outputs = (
        torch.from_numpy(np.asarray(each[rows]))
        for each in (samples.inputs, samples.gate, samples.outputs)
    )
    network = controller.network
    predicted = network(inputs, gate)
    target = network.target(outputs)
    unexplained = float((network.target(predicted) - target).square().sum())
    slices, seen = controller.schema.outputs.slices, controller.schema.inputs.slices
    made, truth = predicted.numpy(), outputs.numpy()
    place, turn = slices["joint_position"], slices["joint_rotation"]
    still = inputs.numpy()[:, seen["joint_position"]]
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


def _findings(found: Mapping[str, Any]) -> list[str]:
    findings = []
    if not found["runs"]:
        findings.append("held-out clips are too short to run along: hold out longer ones")
        return findings
    if found["alive"] < 1.0:
        findings.append(
            f"{1.0 - found['alive']:.0%} of the runs left all bounds: train longer, or raise "
            "training.pose_noise"
        )
    if found["run_position_cm"] > found["mean_position_cm"]:
        findings.append("left to itself it is no nearer than the mean pose: train longer")
    if found["run_movement"] < _DIES:
        findings.append("left to itself its movement dies out: train longer, or gate it by phases")
    if found["run_movement"] > _SHAKES:
        findings.append("left to itself it shakes: train longer, or raise training.pose_noise")
    return findings or ["nothing out of the ordinary"]
