"""Trained controllers and their files, which hold everything that a run needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array, counted, short_repr
from deepphase.config import checked_mapping, checked_texts
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.captured_rows import ARRAYS, DetailRows, RestRows, rest_layout
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import make_network
from deepphase.controllers.runtime.body_pose import BodyPoses
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import CheckpointError
from deepphase.features.feature import TRAJECTORY_POSITION
from deepphase.features.layout import Normalisation
from deepphase.formats.array_file import (
    checked_joints,
    checked_source,
    fitting_parts,
    read_arrays,
    write_arrays,
)
from deepphase.formats.reading import checked_skeleton
from deepphase.motion.ball import Ball
from deepphase.motion.clip import Source
from deepphase.motion.skeleton import Skeleton
from deepphase.phase.model import load_weights
from deepphase.steering.goal_limits import GoalLimits

FORMAT, VERSION = "deepphase.controller", 3
_NORMALISED = ("inputs", "gate", "outputs")
# Metres in the trajectory's time that are always within reach.
_MIN_REACH_M = 0.1
# Deviations of the desired place from its mean that stand for the data's reach.
_REACH = 3.0
_SKELETON = ("parents", "offsets", "end_parents", "end_offsets")
_SOURCE = ("unit_m", "up", "rotation_orders")
_TYPES = {
    **dict.fromkeys(
        ("skeleton.parents", "skeleton.end_parents", "starts.frames", "rest.stops"), "I64"
    ),
    **dict.fromkeys(("skeleton.offsets", "skeleton.end_offsets"), "F64"),
    "starts.*": "F32",
    "rest.outputs": "F32",
    "detail.residuals": "I8",
    **dict.fromkeys(("detail.feet", "detail.keys"), "F16"),
    **dict.fromkeys(("detail.units", "detail.projection", "detail.bias"), "F32"),
    "detail.stops": "I64",
    "inputs.*": "F32",
    "gate.*": "F32",
    "outputs.*": "F32",
}


@dataclass(eq=False)
class Controller:
    """A network with its schema, its skeleton and initial states.

    Parameters
    ----------
    config
        Config that it was trained with.
    schema
        Layouts of its inputs, gate and outputs.
    network
        Network for raw values, in evaluation mode.
    skeleton
        Skeleton of the motion.
    starts
        Initial states from its training clips.
    rest
        Moments of rest from its training clips, which characters that stand play; None for
        controllers that read tracks or have a ball.
    detail
        Captured detail of its training clips, which runs add to its outputs; None without.
    phases
        ``sha256`` and ``format`` of the phase model that it was trained with; empty if it reads no
        phases.
    data
        Measures of its training clips, to compare those of runs with.
    health
        Errors on held-out clips; see `training_health`.
    provenance
        Data, package versions and seed of its training.
    source
        Unit, up axis and rotation orders of the training clips' files, for those that are written.
    """

    config: ControllerConfig
    schema: ControllerSchema
    network: NormalisedController
    skeleton: Skeleton
    starts: InitialStates
    rest: RestRows | None = None
    detail: DetailRows | None = None
    phases: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    health: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    source: Source = Source()  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        self.network.eval()

    @property
    def name(self) -> str:
        """Name of its network."""
        return self.config.name

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.schema.fps

    @cached_property
    def poses(self) -> Array | None:
        """(states, joints, 4) local rotations of the initial states; None where they have none."""
        block = self.schema.inputs.slices.get("joint_rotation")
        if block is None:
            return None
        count, poses = len(self.starts), BodyPoses(self.skeleton, self.schema)
        pose = poses.read(self.starts.inputs[:, block], np.zeros((count, 3)))
        return poses.in_world(pose, np.zeros(count, complex), np.zeros(count))[0]

    @property
    def ball(self) -> Ball:
        """The ball of its training clips; a football if they have none."""
        return Ball.from_mapping(self.data["ball"]["ball"]) if "ball" in self.data else Ball()

    @property
    def goal_limits(self) -> GoalLimits:
        """Limits of goals, from the top speeds of the training clips, in all and by direction.

        Without measures of the clips, the top speed is estimated from the normalisation of the
        place at the end of the trajectory.
        """
        speeds = [float(self.data.get(name, 0.0)) for name in ("top_speed", "standing_speed")]
        if max(speeds) > 0:
            limits = GoalLimits.from_top_speed(max(speeds))
            return limits.with_speeds(self.data.get("direction_speeds", ()))
        block = self.schema.inputs.slices[TRAJECTORY_POSITION]
        last = slice(block.stop - 2, block.stop)
        mean = self.network.get_buffer("inputs_mean")[last].cpu().numpy()
        weight = self.schema.inputs[TRAJECTORY_POSITION].weight
        scale = float(self.network.get_buffer("inputs_scale")[last][0])
        reach = float(np.hypot(*mean)) + (_REACH * weight / scale if scale > 0 else 0.0)
        return GoalLimits.from_top_speed(
            max(reach, _MIN_REACH_M) / self.schema.config.offsets_s[-1]
        )

    def __repr__(self) -> str:
        return short_repr(
            self,
            self.name,
            counted(len(self.skeleton), "joint"),
            f"{self.fps:g} Hz",
            f"{self.schema.inputs.dims} inputs",
            f"{self.schema.outputs.dims} outputs",
        )

    def save(self, path: str | Path) -> None:
        """Write the controller's file, atomically."""
        arrays: dict[str, Array] = {
            f"network.{name}": tensor.detach().cpu().numpy()
            for name, tensor in self.network.network.state_dict().items()
        }
        for name in _NORMALISED:
            for part in ("mean", "scale"):
                buffer = self.network.get_buffer(f"{name}_{part}")
                arrays[f"{name}.{part}"] = buffer.cpu().numpy()
        arrays |= {f"skeleton.{name}": getattr(self.skeleton, name) for name in _SKELETON}
        starts = self.starts
        arrays |= {
            "starts.inputs": starts.inputs,
            "starts.gate": starts.gate,
            "starts.frames": starts.frames,
        }
        header = {
            "config": self.config.as_mapping(),
            "schema": self.schema.as_mapping(),
            "skeleton": {"names": list(self.skeleton.names)},
            "starts": list(starts.names),
            "rest": None,
            "detail": None,
            "phases": dict(self.phases),
            "data": dict(self.data),
            "health": dict(self.health),
            "provenance": dict(self.provenance),
            "source": {name: getattr(self.source, name) for name in _SOURCE},
        }
        if (rest := self.rest) is not None:
            arrays |= {"rest.outputs": rest.outputs, "rest.stops": rest.stops}
            header["rest"] = {"styles": list(rest.styles), "captured": rest.captured}
        if (detail := self.detail) is not None:
            arrays |= {f"detail.{name}": getattr(detail, name) for name in ARRAYS}
            styles = list(detail.styles)
            header["detail"] = {"styles": styles, "step": detail.step, "reach": detail.reach}
        write_arrays(path, arrays, header, format=FORMAT, version=VERSION)

    @classmethod
    def load(cls, path: str | Path) -> Controller:
        """Read a controller's file.

        Raises
        ------
        CheckpointError
            If the file is damaged, has another format or does not fit its own schema, or its
            network is not registered.
        """
        arrays, header = read_arrays(path, format=FORMAT, version=VERSION, types=_TYPES)
        if header["version"] < VERSION:
            raise CheckpointError(
                f"the controller's file has version {header['version']}, without moments of rest, "
                f"and version {VERSION} is needed",
                hint="train the controller again",
                path=path,
            )
        with fitting_parts("controller", "train it again", path):
            config = ControllerConfig.from_header(header["config"])
            schema = ControllerSchema.from_mapping(header["schema"])
            _check_dims(schema, arrays)
            names = checked_joints(header["skeleton"]["names"])
            if not {*schema.joints, *schema.feet} <= set(names):
                raise ValueError("joints of the schema that are not in the skeleton")
            network = make_network(config.name, schema.dims, config.network)
            load_weights(network, arrays)
            inputs, gate, outputs = (
                Normalisation(np.array(arrays[f"{name}.mean"]), np.array(arrays[f"{name}.scale"]))
                for name in _NORMALISED
            )
            starts = InitialStates(
                np.array(arrays["starts.inputs"]),
                np.array(arrays["starts.gate"]),
                checked_texts(header["starts"], "starts"),
                np.array(arrays["starts.frames"]),
            )
            _check_starts(starts, schema)
            rest = None
            if header["rest"] is not None:
                rest = RestRows(
                    np.array(arrays["rest.outputs"]),
                    np.array(arrays["rest.stops"]),
                    checked_texts(header["rest"]["styles"], "rest"),
                    bool(header["rest"]["captured"]),
                )
                _check_rest(rest, schema)
            detail = None
            # Files of earlier releases have no detail.
            if header.get("detail") is not None:
                detail = DetailRows(
                    **{name: np.array(arrays[f"detail.{name}"]) for name in ARRAYS},
                    styles=checked_texts(header["detail"]["styles"], "detail"),
                    step=int(header["detail"]["step"]),
                    reach=float(header["detail"]["reach"]),
                )
                detail.check(schema)
            return cls(
                config,
                schema,
                NormalisedController(network, inputs, gate, outputs, schema.carried),
                checked_skeleton(
                    Skeleton(names, *(np.array(arrays[f"skeleton.{name}"]) for name in _SKELETON))
                ),
                starts,
                rest,
                detail,
                **{
                    name: checked_mapping(header[name], name)
                    for name in ("phases", "data", "health", "provenance")
                },
                # Files of earlier releases have no source: metres and Y up.
                source=checked_source(header.get("source", {})).conventions,
            )


def _check_dims(schema: ControllerSchema, arrays: Mapping[str, Array]) -> None:
    """Compare the schema with the arrays, before a network of its size is made."""
    dims = schema.dims
    for name, expected in zip(_NORMALISED, (dims.inputs, dims.gate, dims.outputs), strict=True):
        for part in ("mean", "scale"):
            found = arrays[f"{name}.{part}"].shape
            if found != (expected,):
                raise ValueError(f"{name}.{part} {found}, but the schema has {expected} values")


def _check_starts(starts: InitialStates, schema: ControllerSchema) -> None:
    count, dims = len(starts.names), schema.dims
    expected = ((count, dims.inputs), (count, dims.gate), (count,))
    if (starts.inputs.shape, starts.gate.shape, starts.frames.shape) != expected or not count:
        raise ValueError("the initial states do not have the schema's dimensions")


def _check_rest(rest: RestRows, schema: ControllerSchema) -> None:
    stops, dims = rest.stops, rest_layout(schema).dims
    if (
        rest.outputs.shape != (stops[-1], dims)
        or (np.diff(stops, prepend=0) < 2).any()
        or len(rest.styles) != len(stops)
    ):
        raise ValueError("the moments of rest do not have the schema's dimensions")
