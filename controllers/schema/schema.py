"""What goes into a controller and what comes out: named blocks, written once, checked everywhere.

Of a frame i the network sees `inputs` and `gate`, and it predicts `outputs` of frame i + 1:

=====================  ===========  ================================================================
block                  in           what it holds, seen from the root of its own frame
=====================  ===========  ================================================================
trajectory_position    i (gate) o   (x, z) of the root at `offsets_s` from the frame, m
trajectory_direction   i (gate) o   its facing there
trajectory_velocity    i (gate) o   its velocity there, m/s relative to the world
joint_position         i        o   joints, m, root space
joint_velocity         i        o   m/s relative to the world, turned into root space
joint_rotation         i        o   each joint's rotation in root space as six numbers
<label>                i (gate)     one-hot value of the label that is steered by, at `offsets_s`
<tracks>               i            any tracks of the motion (music), at `offsets_s`
phase                  gate         one phase, cycles, growing with time
phase_manifold         gate     o   (A sin, A cos) interleaved; gate at `offsets_s`, o now and later
foot_velocity          gate         joint velocities of the feet
root_velocity                   o   (x, z) m/s of the step that led here, seen from where it began
root_turn                       o   rad/s of that step about Y
contact                         o   1 where a foot is on the floor
phase_rate                      o   cycles a second of that step (gates of one phase)
phase_frequency,                o   Hz and amplitude of every channel, now and later: with
phase_amplitude                     phase_manifold what `networks.phase_update` needs
=====================  ===========  ================================================================

Raw values become the network's by `normalised.normalisation_of`: blocks in cycles stay as they
are, the rest has its mean taken off and one scale a block, with the block's weight in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from controllers.networks.network import NetworkDims
from controllers.schema.blocks import SchemaBlocks
from controllers.schema.config import GATES_OF_PHASES, Gate, SchemaConfig
from deepphase.config import current_keys
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError, SkeletonError
from deepphase.features.layout import FeatureLayout
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import find_roles
from deepphase.phase.signals import JointVelocities


@dataclass(frozen=True)
class ControllerSchema:
    """Inputs, gate and outputs of a controller for one skeleton.

    Parameters
    ----------
    config
        What they were made of.
    fps
        Frames a second.
    joints
        Names of the body's joints, from the hips on.
    feet
        Names of the joints whose contacts are predicted.
    body
        (role, joint name) of what the facing is found by, and ("kind", ...).
    channels
        Phase channels of the phase model; 0 where there is none.
    label_values
        Values of the label, in the order of their one-hot numbers.
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
    def of_clip(
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

        Parameters
        ----------
        gate
            What the network's weights depend on: `registry.NETWORKS` says.
        channels
            Phase channels of the phase model; not looked at where the gate needs no phases.
        label_values
            Values of the label that the configuration names.
        track_widths
            Numbers a frame of the tracks that the configuration names.
        description
            A skeleton description.

        Raises
        ------
        SkeletonError
            Where the body has no feet.
        ParameterError
            Where the gate needs phases and there are none, a label has no values, or a track is
            missing.
        """
        config = config or SchemaConfig()
        if gate not in get_args(Gate):
            raise ParameterError(f"no gate {gate!r}", hint=f"gates: {', '.join(get_args(Gate))}")
        roles = find_roles(clip.skeleton, description=description, clip=clip)
        signals = JointVelocities.of_clip(clip, roles)
        feet = tuple(clip.skeleton.names[joint] for joint in foot_contacts(clip, roles).joints)
        if gate not in GATES_OF_PHASES:
            channels = 0
        elif gate == "phase" and config.phase_channel is None:
            config = replace(config, phase_channel=0)
        _check_phases(gate, channels, config.phase_channel)
        if bool(config.label) != bool(label_values):
            raise ParameterError(
                f"no values for the label {config.label!r}"
                if config.label
                else f"values {list(label_values)} of no label"
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
        """What a network of this schema takes and gives."""
        gate = 0 if self.gate is None else self.gate.dims
        return NetworkDims(self.inputs.dims, gate, self.outputs.dims)

    def check_same(self, other: ControllerSchema, *, ours: str, theirs: str) -> None:
        """Raise ParameterError, which shows both, unless the schemas are the same.

        `ours` and `theirs` say what has them, as in "the controller".
        """
        for name in ("fps", "joints", "feet", "body", "channels", "label_values"):
            mine, yours = getattr(self, name), getattr(other, name)
            if mine != yours:
                raise ParameterError(
                    f"{ours} and {theirs} differ in {name}",
                    hint=f"{ours}: {_shown(mine)}\n  {theirs}: {_shown(yours)}",
                )
        for name in ("inputs", "gate", "outputs"):
            mine, yours = getattr(self, name), getattr(other, name)
            if mine != yours:
                raise ParameterError(
                    f"the {name} of {ours} and {theirs} differ",
                    hint=f"{ours}:\n{_indented(mine)}\n  {theirs}:\n{_indented(yours)}",
                )

    def check_clip(self, clip: Clip) -> None:
        """Raise SkeletonError or ParameterError where a clip has another body or rate."""
        missing = [name for name in self.joints if name not in clip.skeleton.names]
        if missing:
            raise SkeletonError(
                f"{clip.name}: another skeleton: it has no joint {missing[0]!r}",
                hint=f"the controller moves {', '.join(self.joints)}; "
                f"the clip has {', '.join(clip.skeleton.names)}",
                path=clip.source.path or None,
            )
        if clip.fps != self.fps:
            raise ParameterError(
                f"{clip.name}: {clip.fps:g} frames a second, the controller has {self.fps:g}",
                hint=f"prepare the clips with --fps {self.fps:g}",
            )

    def as_mapping(self) -> dict[str, Any]:
        """What `from_mapping` reads, and a file's header holds."""
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
        """The schema that `as_mapping` wrote; CheckpointError where it is none."""
        try:
            gate = content["gate"]
            names = [item.name for item in fields(SchemaConfig)]
            return cls(
                config=SchemaConfig(**current_keys(content["config"], names)),
                fps=float(content["fps"]),
                joints=tuple(content["joints"]),
                feet=tuple(content["feet"]),
                body=tuple(sorted(content["body"].items())),
                channels=int(content["channels"]),
                label_values=tuple(content["label_values"]),
                inputs=FeatureLayout.from_mapping(content["inputs"]),
                gate=None if gate is None else FeatureLayout.from_mapping(gate),
                outputs=FeatureLayout.from_mapping(content["outputs"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, DeepPhaseError) as error:
            raise CheckpointError(
                f"no schema of a controller: {' '.join(str(error).split())[:200]}",
                hint="the file was changed after it was written: train again or take a copy",
            ) from None


def _check_phases(gate: Gate, channels: int, channel: int | None) -> None:
    if gate in GATES_OF_PHASES and channels < 1:
        raise ParameterError(
            f"the gate {gate!r} needs phases, and there is no phase model",
            hint="give a model, or choose a network without phases",
        )
    if gate == "phase" and channel is not None and channel >= channels:
        raise ParameterError(
            f"phase_channel {channel}, but the phase model has {channels} channels, from 0"
        )


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _indented(layout: FeatureLayout | None) -> str:
    return "\n".join(f"    {line}" for line in str(layout or "none").splitlines())


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
