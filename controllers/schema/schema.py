"""Schema of a controller: the named blocks of its inputs, gate and outputs.

From `inputs` and `gate` of frame i the network predicts `outputs` of frame i + 1:

=====================  ===========  ================================================================
block                  in           content, relative to the root of the same frame
=====================  ===========  ================================================================
trajectory_position    i (gate) o   (x, z) of the root at `offsets_s` from the frame, m
trajectory_direction   i (gate) o   its facing at these times
trajectory_velocity    i (gate) o   its world velocity at these times, m/s, in root axes
trajectory_height      i            ground left of, below and right of the trajectory at these
                                    times, m over the level of the ground under the root
ball_position          i        o   ball at `offsets_s`, m over the floor; o from 0 on
ball_velocity          i        o   its world velocity at these times, m/s, in root axes
joint_position         i        o   joints, m, root space; with heights, over that level
joint_velocity         i        o   world velocities, m/s, in root axes
joint_rotation         i        o   each joint's rotation in root space as six numbers
<label>                i (gate)     one-hot value of the label to steer by, at `offsets_s`
<tracks>               i            any tracks of the motion (music), at `offsets_s`
phase                  gate         one phase, cycles, growing with time
phase_manifold         gate     o   (A sin, A cos) interleaved, from 0 on
foot_velocity          gate         joint velocities of the feet
root_velocity                   o   (x, z) m/s of the step to this frame, relative to its start
root_turn                       o   rad/s of that step about Y
contact                         o   1 if a foot is on the floor
phase_rate                      o   cycles per second of that step (gates of one phase)
phase_frequency,                o   Hz and amplitude of every channel, from 0 on; inputs of
phase_amplitude                     `updated_phases` together with phase_manifold
=====================  ===========  ================================================================

`normalised.normalisation_of` normalises raw values: blocks in cycles stay unchanged; from all
others the mean is subtracted, and each block has one scale, which contains the block's weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.config import checked_count, checked_labels, checked_texts
from deepphase.controllers.networks.network import NetworkDims
from deepphase.controllers.schema.config import (
    AUTO,
    BALL_BLOCKS,
    CYCLES_UNIT,
    GATES_OF_PHASES,
    POSE_BLOCKS,
    TRAJECTORY_HEIGHT,
    Gate,
    SchemaConfig,
)
from deepphase.errors import ParameterError, SkeletonError
from deepphase.features.feature import TRAJECTORY_PATH, TRAJECTORY_VELOCITY
from deepphase.features.layout import Feature, FeatureLayout
from deepphase.formats.array_file import checked_joints, checked_rate, fitting_parts
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import find_roles
from deepphase.phase.signals import JointVelocities
from deepphase.terrain.heightmap import SIDES

# Numbers of a rotation: its x and y axis.
_ROTATION_NUMBERS = 6


@dataclass(frozen=True)
class SchemaBlocks:
    """Makes the layouts of a schema for one skeleton."""

    config: SchemaConfig
    joints: tuple[str, ...]
    feet: tuple[str, ...]
    channels: int
    label_values: int
    track_widths: Mapping[str, int]

    def inputs(self) -> FeatureLayout:
        """Layout of the inputs."""
        config = self.config
        blocks = self._trajectory(config.offsets_s, config.trajectory_velocity)
        if config.heights:
            blocks.append(_track(TRAJECTORY_HEIGHT, SIDES, "m", offsets_s=config.offsets_s))
        blocks += self._ball(config.offsets_s)
        for name in config.tracks:
            if name not in self.track_widths:
                raise ParameterError(
                    f"there is no track {name!r}",
                    hint=f"tracks: {', '.join(self.track_widths) or 'none'}",
                )
            width = self.track_widths[name]
            blocks.append(_track(name, width, "1", offsets_s=config.offsets_s))
        blocks += self._label(config.offsets_s)
        blocks += self._pose(config.pose_weight, rotation=config.input_rotation)
        return FeatureLayout(*blocks)

    def gate(self, gate: Gate) -> FeatureLayout | None:
        """Layout of the gate: what the weights of the network depend on."""
        later = self.config.later_s
        if gate == "phase":
            return FeatureLayout(_track("phase", 1, CYCLES_UNIT))
        if gate == "manifold":
            # Without past phases, which DeepPhase has: those of runs are the network's own, while
            # training shows captured ones, and rare gaits fade with every second of a run.
            return FeatureLayout(Feature("phase_manifold", channels=self.channels, offsets_s=later))
        if gate == "feet":
            # Zhang et al. 2018: the feet's velocities, the desired velocity and the action.
            feet = Feature("foot_velocity", joints=self.feet)
            return FeatureLayout(
                feet, _track(TRAJECTORY_VELOCITY, 2, "m/s", offsets_s=later), *self._label(later)
            )
        if gate == "goal":
            return FeatureLayout(*self._trajectory(later, True), *self._label(later))
        return None

    def outputs(self, gate: Gate) -> FeatureLayout:
        """Layout of the outputs."""
        config = self.config
        offsets = config.later_s if config.predicts == "future" else config.offsets_s
        blocks = self._trajectory(offsets, config.trajectory_velocity)
        blocks += self._pose(1.0, rotation=True)
        blocks += [
            _track("root_velocity", 2, "m/s"),
            _track("root_turn", 1, "rad/s"),
            _track("contact", len(self.feet), "1"),
        ]
        blocks += self._ball(config.later_s)
        if gate == "phase":
            blocks.append(_track("phase_rate", 1, "Hz"))
        if gate == "manifold":
            later, channels = config.later_s, self.channels
            blocks += [
                Feature("phase_manifold", channels=channels, offsets_s=later),
                _track("phase_frequency", channels, "Hz", offsets_s=later),
                _track("phase_amplitude", channels, "1", offsets_s=later),
            ]
        return FeatureLayout(*blocks)

    def _trajectory(self, offsets_s: tuple[float, ...], velocity: bool) -> list[Feature]:
        blocks = [Feature(name, offsets_s=offsets_s) for name in TRAJECTORY_PATH]
        if velocity:
            blocks.append(_track(TRAJECTORY_VELOCITY, 2, "m/s", offsets_s=offsets_s))
        return blocks

    def _ball(self, offsets_s: tuple[float, ...]) -> list[Feature]:
        if not self.config.ball:
            return []
        return [
            _track(name, 3, unit, offsets_s=offsets_s)
            for name, unit in zip(BALL_BLOCKS, ("m", "m/s"), strict=True)
        ]

    def _label(self, offsets_s: tuple[float, ...]) -> list[Feature]:
        if not self.config.label:
            return []
        return [_track(self.config.label, self.label_values, "1", offsets_s=offsets_s)]

    def _pose(self, weight: float, *, rotation: bool) -> list[Feature]:
        blocks = [
            Feature(name, joints=self.joints, weight=weight)
            for name in ("joint_position", "joint_velocity")
        ]
        if rotation:
            width = _ROTATION_NUMBERS * len(self.joints)
            blocks.append(_track("joint_rotation", width, "1", weight=weight))
        return blocks


def _track(name: str, channels: int, unit: str, **values: Any) -> Feature:
    return Feature(name, kind="track", channels=channels, unit=unit, **values)


@brief_repr
@dataclass(frozen=True)
class ControllerSchema:
    """Inputs, gate and outputs of a controller for one skeleton.

    Parameters
    ----------
    config
        Config of the schema.
    fps
        Frames per second.
    joints
        Names of the body's joints; the hips are the first.
    feet
        Names of the foot joints whose contacts are predicted.
    body
        (role, joint name) of the joints that define the facing, and ("kind", ...).
    channels
        Number of channels of the phase model; 0 if there is none.
    label_values
        Values of the label, in the order of the one-hot encoding.
    inputs, outputs
        Layouts; see the module's table.
    gate
        The gate's layout; None for networks without a gate.
    """

    config: SchemaConfig
    fps: float
    joints: tuple[str, ...]
    feet: tuple[str, ...]
    body: tuple[tuple[str, str], ...]
    channels: int
    label_values: tuple[str, ...]
    inputs: FeatureLayout
    gate: FeatureLayout | None
    outputs: FeatureLayout

    @classmethod
    def from_clip(
        cls,
        clip: Clip,
        gate: Gate,
        config: SchemaConfig | None = None,
        *,
        channels: int = 0,
        label_values: Sequence[str] = (),
        track_widths: Mapping[str, int] | None = None,
        description: Mapping[str, Any] | None = None,
    ) -> ControllerSchema:
        """The schema for a clip's skeleton.

        `gate` says what the network's weights depend on, see `registry.NETWORKS`. `channels` of the
        phase model count only for gates that need phases. `label_values` are those of the config's
        label, `track_widths` the values per frame of its tracks.

        Raises SkeletonError where the body has no feet, and ParameterError where phases, values of
        the label or a track are missing.
        """
        config = config or SchemaConfig()
        if gate not in get_args(Gate):
            raise ParameterError(
                f"there is no gate {gate!r}", hint=f"gates: {', '.join(get_args(Gate))}"
            )
        roles = find_roles(clip.skeleton, description=description, clip=clip)
        signals = JointVelocities.from_clip(clip, roles)
        feet = tuple(clip.skeleton.names[joint] for joint in foot_contacts(clip, roles).joints)
        if gate not in GATES_OF_PHASES:
            channels = 0
        elif gate == "phase" and config.phase_channel is None:
            config = replace(config, phase_channel=0)
        _check_phases(gate, channels, config.phase_channel)
        if config.label == AUTO:
            config = replace(config, label="")
        if bool(config.label) != bool(label_values):
            raise ParameterError(
                f"no values for the label {config.label!r}"
                if config.label
                else f"label values {list(label_values)}, but the config has no label"
            )
        made = SchemaBlocks(
            config, signals.joints, feet, channels, len(label_values), track_widths or {}
        )
        return cls(
            config=config,
            fps=float(clip.fps),
            joints=signals.joints,
            feet=feet,
            body=tuple(sorted(signals.body.items())),
            channels=channels,
            label_values=tuple(str(value) for value in label_values),
            inputs=made.inputs(),
            gate=made.gate(gate),
            outputs=made.outputs(gate),
        )

    @property
    def dims(self) -> NetworkDims:
        """Dimensions of a network with this schema."""
        gate = 0 if self.gate is None else self.gate.dims
        return NetworkDims(self.inputs.dims, gate, self.outputs.dims)

    @property
    def carried(self) -> tuple[Array, Array] | None:
        """What outputs add to, of the inputs; None if they are predicted as they are.

        Returns
        -------
        columns, shares : (outputs,)
            Column of the inputs of each output, and the share of it that is added; shares are 0
            for outputs that are not a pose, and where the inputs lack the block.
        """
        share = self.config.pose_residual
        if not share:
            return None
        columns, shares = np.zeros(self.outputs.dims, np.int64), np.zeros(self.outputs.dims)
        for name in POSE_BLOCKS:
            if name in self.inputs.slices:
                given, made = self.inputs.slices[name], self.outputs.slices[name]
                columns[made], shares[made] = np.arange(given.start, given.stop), share
        return columns, shares.astype(np.float32)

    def check_clip(self, clip: Clip) -> None:
        """Raise SkeletonError or ParameterError if a clip has another body or frame rate."""
        missing = [name for name in self.joints if name not in clip.skeleton.names]
        if missing:
            raise SkeletonError(
                f"{clip.name}: this is another skeleton than the controller's: "
                f"it has no joint {missing[0]!r}",
                hint=f"the controller moves {', '.join(self.joints)}; "
                f"the clip has {', '.join(clip.skeleton.names)}",
                path=clip.source.path or None,
            )
        if clip.fps != self.fps:
            raise ParameterError(
                f"{clip.name}: {clip.fps:g} frames per second, the controller has {self.fps:g}",
                hint=f"prepare the clips with --fps {self.fps:g}",
            )

    def as_mapping(self) -> dict[str, Any]:
        """Nested mappings for `from_mapping`, as the headers of files hold them."""
        plain = ("fps", "joints", "feet", "channels", "label_values")
        values: dict[str, Any] = {name: _listed(getattr(self, name)) for name in plain}
        values["body"] = dict(self.body)
        values["config"] = {
            item.name: _listed(getattr(self.config, item.name)) for item in fields(SchemaConfig)
        }
        for name in ("inputs", "gate", "outputs"):
            layout = getattr(self, name)
            values[name] = None if layout is None else layout.as_mapping()
        return values

    @classmethod
    def from_mapping(cls, content: Any) -> ControllerSchema:
        """The schema of `as_mapping`; CheckpointError if the content is not a schema."""
        with fitting_parts("controller's schema", "train it again"):
            gate = content["gate"]
            return cls(
                config=SchemaConfig(**content["config"]),
                fps=checked_rate(content["fps"]),
                joints=checked_joints(content["joints"]),
                feet=checked_texts(content["feet"], "feet"),
                body=tuple(sorted(checked_labels(content["body"], "body").items())),
                channels=checked_count(content["channels"], "channels"),
                label_values=checked_texts(content["label_values"], "label_values"),
                inputs=FeatureLayout.from_mapping(content["inputs"]),
                gate=None if gate is None else FeatureLayout.from_mapping(gate),
                outputs=FeatureLayout.from_mapping(content["outputs"]),
            )


def _check_phases(gate: Gate, channels: int, channel: int | None) -> None:
    if gate in GATES_OF_PHASES and channels < 1:
        raise ParameterError(
            f"the gate {gate!r} needs phases, but no phase model is given",
            hint="give a phase model, or choose a network without phases",
        )
    if gate == "phase" and channel is not None and channel >= channels:
        raise ParameterError(
            f"phase_channel {channel}: the phase model has channels 0 to {channels - 1}"
        )


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
