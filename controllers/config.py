"""Config of a controller: its network, its schema and its training, as YAML files hold them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from controllers.networks.network import ControllerNetworkConfig
from controllers.networks.registry import network_kind
from controllers.schema.config import SchemaConfig
from deepphase.config import as_mapping, check_known, load_config, section
from deepphase.errors import ParameterError

Schedule = Literal["cosine", "restarts", "constant"]
EndsRule = Literal["auto", "left_out", "continued"]


@dataclass(frozen=True)
class ControllerTraining:
    """Training of the controller.

    Parameters
    ----------
    samples
        Total number of frame pairs to train on; 0 means `epochs` passes over the training clips.
    epochs
        Number of passes over all frame pairs, if `samples` is 0. PFNN's paper has 20, DeepPhase
        150.
    batch_size
        Number of frame pairs in a batch, on each device. The papers have 32.
    sequence_frames
        Length in frames of the sequences that recurrent networks are trained on.
    unroll_frames
        Number of frames over which other networks are unrolled in training: from the second on,
        the network's own pose, trajectory and phases are its input. 1 trains on recorded frames
        only, as the papers do.
    learning_rate
        Highest learning rate of AdamW. The papers have 1e-4.
    weight_decay
        Weight decay of AdamW.
    schedule
        Learning rate schedule. "cosine" rises linearly during `warmup`, then falls along a cosine
        to `final_rate`; "restarts" repeats a cosine that falls to 0 (AdamWR).
    warmup
        Length of the warm-up as a fraction of the training.
    final_rate
        Last learning rate as a fraction of the highest.
    restart_epochs
        Length of the first cycle of the schedule "restarts" in epochs; DeepPhase has 10.
    restart_factor
        Each cycle of the schedule "restarts" is this many times as long as the one before;
        DeepPhase has 2.
    weight_magnitude
        Weight of the mean absolute network weight in the loss; PFNN's paper has 0.01.
    pose_noise
        Standard deviation of the noise added to the pose inputs, in units of their own standard
        deviation. It trains the network to recover from its own errors.
    mirror
        Whether to train on the mirror image of every clip as well.
    ends
        Frames whose trajectory or phase window reaches past an end of their clip are "left_out",
        or their trajectory is "continued" in a straight line. "auto" continues it if more than
        half of the frames would be left out.
    held_out
        Fraction of the source files that are held out of training for measurement.
    seed
        Random seed for the initial weights, the order of the frame pairs and the noise.
    split_seed
        Random seed for the choice of the files that are held out.
    """

    samples: int = 1_500_000
    epochs: float = 20.0
    batch_size: int = 256
    sequence_frames: int = 16
    unroll_frames: int = 1
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    schedule: Schedule = "cosine"
    warmup: float = 0.02
    final_rate: float = 0.01
    restart_epochs: float = 10.0
    restart_factor: float = 2.0
    weight_magnitude: float = 0.0
    pose_noise: float = 0.0
    mirror: bool = False
    ends: EndsRule = "auto"
    held_out: float = 0.1
    seed: int = 0
    split_seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch_size", "sequence_frames", "unroll_frames"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} must be positive, not {getattr(self, name)}")
        if self.samples < 0 or not (self.samples or self.epochs > 0):
            raise ParameterError("either samples or epochs must be positive")
        if not 0 < self.learning_rate < 1:
            raise ParameterError(
                f"learning_rate must lie between 0 and 1, not {self.learning_rate}"
            )
        for name in ("weight_decay", "warmup", "held_out"):
            if not 0 <= getattr(self, name) < 1:
                raise ParameterError(f"{name} must lie in 0 to 1, not {getattr(self, name)}")
        if not 0 < self.held_out < 0.9:
            raise ParameterError(f"held_out must lie in 0 to 0.9, not {self.held_out}")
        if not 0 <= self.final_rate <= 1:
            raise ParameterError(f"final_rate must lie in 0 to 1, not {self.final_rate}")
        for name in ("weight_magnitude", "pose_noise"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ParameterError(f"{name} must not be negative, not {getattr(self, name)}")
        if not (self.restart_epochs > 0 and self.restart_factor >= 1):
            raise ParameterError("restart_epochs must be positive, restart_factor at least 1")
        for name, kind in (("schedule", Schedule), ("ends", EndsRule)):
            if getattr(self, name) not in get_args(kind):
                raise ParameterError(
                    f"{name} {getattr(self, name)!r}", hint=f"one of {', '.join(get_args(kind))}"
                )
        for name in ("seed", "split_seed"):
            if not 0 <= getattr(self, name) < 2**31:
                raise ParameterError(f"{name} must lie in 0 to 2147483647")


@dataclass(frozen=True)
class ControllerConfig:
    """Config of a controller: the network, its inputs and outputs, and its training.

    Parameters
    ----------
    name
        Name of the network in `networks.registry`.
    network
        Config of the network.
    schema
        Config of its inputs and outputs.
    training
        Config of its training.
    """

    name: str
    network: ControllerNetworkConfig
    schema: SchemaConfig = field(default_factory=SchemaConfig)
    training: ControllerTraining = field(default_factory=ControllerTraining)

    @classmethod
    def load(cls, config: str | Path, **changes: Any) -> ControllerConfig:
        """The shipped config of that name, or the YAML file at that path, with dotted `changes`.

        ``ControllerConfig.load("experts", **{"network.experts": 4, "schema.label": "style"})``

        Where "network.name" changes, values that the new network does not have are left out:
        ``ControllerConfig.load("nn", **{"network.name": "mine"})``.

        Raises
        ------
        ParameterError
            If there is no such config, its network is not registered, a key is unknown or a value
            is invalid.
        """

        def read(content: Any) -> ControllerConfig:
            values = content.get("network")
            if "network.name" in changes and isinstance(values, dict):
                known = {each.name for each in fields(network_kind(str(values["name"])).config)}
                for key in [*values]:
                    if key not in known and key != "name" and f"network.{key}" not in changes:
                        del values[key]
            return cls.from_mapping(content)

        return load_config("controller", config, changes, read)

    @classmethod
    def from_mapping(cls, content: Any) -> ControllerConfig:
        """The config from nested mappings, as in YAML files and headers of controller files."""
        sections = as_mapping(content, "the config")
        check_known(sections, ("network", "schema", "training"), "the config")
        values = dict(as_mapping(sections.get("network"), "network"))
        if "name" not in values:
            raise ParameterError("network: no name", hint="name one of the registered networks")
        name = str(values.pop("name"))
        kind = network_kind(name)
        return cls(
            name,
            section(kind.config, values, "network", kind.make_config),
            section(SchemaConfig, sections.get("schema"), "schema"),
            section(ControllerTraining, sections.get("training"), "training"),
        )

    def as_mapping(self) -> dict[str, Any]:
        """Nested mappings for `from_mapping`."""
        return {
            "network": {"name": self.name, **_plain(asdict(self.network))},
            "schema": _plain(asdict(self.schema)),
            "training": asdict(self.training),
        }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {key: list(each) if isinstance(each, tuple) else each for key, each in values.items()}
