"""Controllers for programs that run them elsewhere: their description, and their network as ONNX.

The description has everything beside the network that one frame needs; docs/engines.md explains
each entry.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.interpolate import CubicSpline
from torch import Tensor, nn

from deepphase.arrays import Array
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.runtime.body_pose import CharacterFeet
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.runtime.network_state import PHASE_BLEND
from deepphase.controllers.runtime.roots import history_times
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.export.onnx_file import PARITY_BATCHES, Parity, export_onnx
from deepphase.features.feature import TRAJECTORY_VELOCITY
from deepphase.features.layout import FeatureLayout
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.steering.goal_sources import GamepadSettings

# Feet stand in the lowest of this share of the start states.
_STANDING = 0.1
# Roles that are not the index of a joint.
_NO_JOINT = ("pairs", "kind", "tail", "notes")


def describe_controller(controller: Controller) -> dict[str, Any]:
    """Nested mappings of numbers, texts and arrays; arrays are float64 or int64."""
    schema, config = controller.schema, controller.schema.config
    skeleton = controller.skeleton
    roles = find_roles(skeleton, description=dict(schema.body))
    settings = CharacterSettings()
    places = controller.starts.inputs[:, schema.inputs.slices["joint_position"]]
    return {
        "name": controller.name,
        "frame_rate": schema.fps,
        "skeleton": describe_skeleton(skeleton, roles),
        # Metres: of the highest joint in the start states.
        "height": float(np.median(places[:, 1::3].max(axis=1))),
        "joints": [skeleton.index(name) for name in schema.joints],
        "feet": [skeleton.index(name) for name in schema.feet],
        "facing": dict(schema.body),
        "offsets_s": list(config.offsets_s),
        "step_s": config.step_s,
        "channels": schema.channels,
        "label": {"name": config.label, "values": list(schema.label_values)},
        "tracks": list(config.tracks),
        "layouts": {
            "inputs": _blocks(schema.inputs),
            "gate": None if schema.gate is None else _blocks(schema.gate),
            "outputs": _blocks(schema.outputs),
        },
        **_limbs(controller),
        "history": _history(controller),
        "limits": asdict(controller.goal_limits),
        "speeds": {
            "walk": float(controller.data.get("travelling_speed", 0.0)),
            "run": float(controller.data.get("top_speed", 0.0)),
        },
        "settings": {
            "phase_blend": PHASE_BLEND,
            "label_halflife_s": settings.label_halflife_s,
            "feedback": settings.feedback,
            **goal_settings(),
        },
        "ground": _ground(controller),
    }


def goal_settings() -> dict[str, float]:
    """Response to a stick: half-lives in seconds, the abrupt change of a stick and the leash."""
    stick = GamepadSettings()
    return {
        "goal_halflife_s": stick.halflife_s,
        "goal_facing_halflife_s": stick.facing_halflife_s,
        "goal_jump": stick.jump,
        "goal_leash_m": stick.leash_m,
    }


def describe_skeleton(skeleton: Skeleton, roles: Roles) -> dict[str, Any]:
    """Names, parents and rest offsets of a skeleton, its end sites, and the roles of its joints."""
    joints = {name: each for name, each in vars(roles).items() if name not in _NO_JOINT}
    return {
        "names": list(skeleton.names),
        "parents": skeleton.parents,
        "offsets": skeleton.offsets,
        "end_parents": skeleton.end_parents,
        "end_offsets": skeleton.end_offsets,
        "kind": roles.kind,
        "roles": {name: int(each) for name, each in joints.items() if each is not None},
    }


def _blocks(layout: FeatureLayout) -> dict[str, list[int]]:
    """Block -> its first column and the one after its last."""
    return {name: [place.start, place.stop] for name, place in layout.slices.items()}


def _limbs(controller: Controller) -> dict[str, dict[str, Array]]:
    """Joints (legs, 4) of each leg from the hip to the tip, with its contact column, and the
    hinges of knees, elbows and hocks."""
    feet = CharacterFeet(
        controller.skeleton, controller.schema, 1, poses=controller.poses, measures=controller.data
    )
    limbs, rates = feet.limbs, feet.fastest
    legs = {
        "lowest": feet.lowest,
        "fastest": None if rates is None else rates.reshape(3, -1).T,
        "ends": feet.ends,
        "joints": np.stack([limbs.upper, limbs.middle, limbs.last, limbs.tips], axis=1),
        "contacts": feet.columns,
    }
    return {"legs": legs, "hinges": asdict(feet.hinges)}


def _ground(controller: Controller) -> dict[str, Any]:
    """Soles (2, legs), metres of ankles and toes over the ground."""
    schema, skeleton = controller.schema, controller.skeleton
    feet = CharacterFeet(skeleton, schema, 1, measures=controller.data)
    soles = feet.soles
    if soles is None:
        # Controllers without heights have no measured ones: the lowest places of the start states.
        block = controller.starts.inputs[:, schema.inputs.slices["joint_position"]]
        lowest = np.quantile(block[:, 1::3], _STANDING, axis=0)
        place = {skeleton.index(name): lowest[at] for at, name in enumerate(schema.joints)}
        limbs = feet.limbs
        ankles = [place[int(last)] for last in limbs.last]
        below = np.linalg.norm(feet.ends, axis=1)
        toes = [
            place.get(int(tip), ankle) - down
            for tip, ankle, down in zip(limbs.tips, ankles, below, strict=True)
        ]
        soles = np.array([ankles, toes])
    return {"soles": soles}


def _history(controller: Controller) -> dict[str, Any]:
    """Matrices from the samples of a start state to the frames before it.

    ``values`` (frames, samples) are those of a cubic spline through the samples, ``slopes`` those
    of its derivative; `slopes` is None if the inputs contain the velocities themselves.
    """
    schema = controller.schema
    offsets = np.array(schema.config.offsets_s)
    spline = CubicSpline(offsets, np.eye(len(offsets)))
    times = history_times(schema)
    moving = TRAJECTORY_VELOCITY in schema.inputs.slices
    return {"values": spline(times), "slopes": None if moving else spline.derivative()(times)}


def engine_metadata(controller: Controller) -> dict[str, str]:
    """What an ONNX file of a controller holds beside the network, as texts.

    Returns ``controller``: JSON of `describe_controller`. ``starts_inputs`` and ``starts_gate``:
    the raw inputs and gates of the start states, row by row, as base64 of little-endian float32.
    """
    starts = controller.starts
    return {
        "controller": json.dumps(describe_controller(controller), default=methodcaller("tolist")),
        "starts_inputs": _base64(starts.inputs),
        "starts_gate": _base64(starts.gate),
    }


def _base64(values: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()


class ExportedStep(nn.Module):
    """One frame as a function of tensors: inputs, gate if there is one, and state tensors."""

    def __init__(self, controller: NormalisedController) -> None:
        super().__init__()
        self.controller = controller
        self.gated = controller.network.dims.gate > 0

    def forward(
        self,
        inputs: Tensor,
        second: Tensor | None = None,
        third: Tensor | None = None,
        fourth: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Raw outputs and the next state, from inputs and the gate and state that there are."""
        # The exporter does not support a variable number of arguments.
        others = tuple(values for values in (second, third, fourth) if values is not None)
        gate, state = (others[0], others[1:]) if self.gated else (inputs[:, :0], others)
        outputs, state = self.controller.step(inputs, gate, state)
        # Outputs of the graph must not be its inputs, so an unchanged state is not returned.
        changed = () if self.controller.network.state_is_kept else state
        return (outputs, *changed)


def export_controller(
    controller: NormalisedController,
    schema: ControllerSchema,
    path: str | Path,
    *,
    metadata: Mapping[str, str] | None = None,
) -> list[Parity]:
    """Write a controller as ONNX.

    Inputs are `inputs`, `gate` (if there is one) and the network's `state_names`. Outputs are
    `outputs` and, for networks with a state, each of its tensors with the prefix `next_`. The
    file's metadata holds the schema and the names of all columns, and further entries such as
    those of `engine_metadata`.

    Returns
    -------
    Differences at batches of 1, 7 and 32, for values with the distribution of the training data.

    Raises
    ------
    ParameterError
        If packages are missing.
    CheckpointError
        As for `export_onnx`.
    """
    network = controller.network
    rows, keeps = max(PARITY_BATCHES), network.state_is_kept
    state = dict(zip(network.state_names, network.initial_state(rows), strict=True))
    tensors = _random_rows(controller, rows) | state
    names = ["inputs", *(["gate"] if schema.gate is not None else []), *network.state_names]
    outputs = ["outputs", *(f"next_{name}" for name in network.state_names if not keeps)]
    entries = {
        **(metadata or {}),
        "format": "deepphase.controller_step",
        "version": "1",
        "schema": json.dumps(schema.as_mapping()),
    }
    for name in ("inputs", "gate", "outputs"):
        if (layout := getattr(schema, name)) is not None:
            entries[f"{name}_columns"] = json.dumps(layout.value_names)
    return export_onnx(
        ExportedStep(controller),
        path,
        inputs={name: tensors[name] for name in names},
        outputs=outputs,
        metadata=entries,
    )


def _random_rows(controller: NormalisedController, rows: int) -> dict[str, Tensor]:
    """Raw inputs and gate from a normal distribution with the training data's mean and scale."""
    generator = torch.Generator().manual_seed(0)
    rows_of = {}
    for name in ("inputs", "gate"):
        mean, scale = controller.get_buffer(f"{name}_mean"), controller.get_buffer(f"{name}_scale")
        noise = torch.randn(rows, len(mean), generator=generator)
        rows_of[name] = mean + noise / torch.where(scale > 0, scale, torch.ones(()))
    return rows_of
