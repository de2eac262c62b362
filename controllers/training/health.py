"""Health of a trained controller: errors on held-out clips, in one step and free-running."""

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
    findings             problems and what to try against them
    ===================  ==========================================================================
    """
    if progress is not None:
        progress("measuring", 0, 2, "one step on held-out clips")
    found = _one_step(controller, data.samples, data.split.held_out)
    if progress is not None:
        progress("measuring", 1, 2, "free runs on held-out clips")
    found |= free_running_errors(controller, data)
    found["findings"] = _findings(found)
    if progress is not None:
        progress("measuring", 2, 2, "")
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


def _findings(found: Mapping[str, Any]) -> list[str]:
    findings = []
    if not found["runs"]:
        findings.append("held-out clips are too short for free runs: hold out longer ones")
        return findings
    if found["alive"] < 1.0:
        findings.append(
            f"{1.0 - found['alive']:.0%} of the runs diverged: train longer, or raise "
            "training.pose_noise"
        )
    if found["run_position_cm"] > found["mean_position_cm"]:
        findings.append("free runs are no closer to the clips than the mean pose: train longer")
    if found["run_movement"] < _FADES:
        findings.append("free runs fade out: train longer, or use a network with phases")
    if found["run_movement"] > _JITTERS:
        findings.append("free runs jitter: train longer, or raise training.pose_noise")
    return findings or ["nothing out of the ordinary"]
