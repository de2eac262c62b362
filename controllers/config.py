"""Config of a controller: its network, its schema and its training, as YAML files hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from deepphase.arrays import brief_repr
from deepphase.config import (
    ABOVE_0,
    BELOW_1,
    BELOW_90,
    as_mapping,
    check_known,
    load_config,
    require,
    require_in,
    require_one_of,
    section,
)
from deepphase.controllers.networks.network import ControllerNetworkConfig
from deepphase.controllers.networks.registry import network_kind
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.errors import ParameterError

Optimizer = Literal["adamw", "muon"]
Schedule = Literal["cosine", "restarts", "constant"]
ActionsRule = Literal["auto", "left_out", "kept"]

# Values of a training by the rule that they follow.
_SHARES = ("drift", "sudden_goals", "slow_gaits", "balance")
_WEIGHTS = ("weight_magnitude", "pose_noise", "detail_minutes")
RECORDED_SHARE = 0.4
"""Share of a training with goals in its unrolled frames that is on recorded frames only."""


@brief_repr
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
    unroll_frames
        Number of frames over which other networks are unrolled in training: from the second on,
        the network's own pose, trajectory and phases are its input. 1 trains on recorded frames
        only, as the papers do.
    unroll_goals
        Whether unrolled inputs have the clip's trajectory, relative to where the network has moved
        the body, blended with the predicted one as in runs. Otherwise they have the predicted one.
        The first `RECORDED_SHARE` of the training is then on recorded frames only; after it the
        number of unrolled frames doubles from 2 to `unroll_frames`, in stages of equal length, and
        dropout, which damps the motion, falls to 0.
    phase_weight
        Weight in the loss of each value of the phases, relative to the other outputs.
    optimizer
        Optimizer of the weights. "muon" makes the changes of blended layers orthogonal, over the
        inputs that their experts share, and leaves the other weights to "adamw".
    learning_rate
        Highest learning rate. The papers have 1e-4, with AdamW.
    weight_decay
        Decoupled weight decay, as a factor on the learning rate; with "muon" of the blended layers
        alone.
    schedule
        Learning rate schedule. "cosine" rises linearly, then falls along a cosine to a hundredth;
        "restarts" repeats a cosine that falls to 0 (AdamWR), over 10, 20, 40 epochs and so on.
    weight_magnitude
        Weight of the mean absolute network weight in the loss; PFNN's paper has 0.01.
    pose_noise
        Standard deviation of the noise added to the pose inputs, in units of their own standard
        deviation. It trains the network to recover from its own errors.
    drift
        Share of the frame sequences in which the body moves less or more than captured while its
        goal stays the clip's: the network learns to bring it back; see
        `deepphase.controllers.training.closed_loop`.
    mirror
        Whether to train on the mirror image of every clip as well.
    actions
        Frames of an action, such as a bow or a blow, by `deepphase.features.moment_kinds`, are
        "left_out" or "kept". No goal says when a controller shall begin one, so that it may where
        it should stand. "auto" leaves them out of clips whose frames are mostly idle or locomotion,
        if there is no label and there are no tracks.
    made_stops
        Share of the training frames in made starts and stops, of idle moments and locomotion of the
        training clips; see `deepphase.controllers.data.starts_and_stops`. 0 makes none; nor are any
        made where the clips have no idle moment or are all of one file.
    sudden_goals
        Share of the made starts and stops that are shown as by a stick, without warning, and are
        quick; see `deepphase.controllers.schema.frame_blocks`. The others are seen coming, as on a
        path.
    slow_gaits
        Share of the made starts and stops whose locomotion is slowed down to .12 to .5 of the
        clips' median speed: most clips have no slow gaits.
    balance
        Exponent with which frame pairs are repeated in training the more often, the rarer their
        speed and direction of travel relative to the facing are; 0 repeats none, 1 makes all about
        equally frequent.
    detail_minutes
        Minutes of captured detail that the controller has: what its steps leave of captured motion,
        which runs add again. A minute takes half a megabyte. See
        `deepphase.controllers.data.captured_rows`.
    held_out
        Fraction of the source files that are held out of training for measurement.
    seed
        Random seed for the initial weights, the order of the frame pairs and the noise.
    """

    samples: int = 1_500_000
    epochs: float = 20.0
    batch_size: int = 256
    unroll_frames: int = 1
    unroll_goals: bool = False
    phase_weight: float = 1.0
    optimizer: Optimizer = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    schedule: Schedule = "cosine"
    weight_magnitude: float = 0.0
    pose_noise: float = 0.0
    drift: float = 0.0
    mirror: bool = False
    actions: ActionsRule = "kept"
    made_stops: float = 0.0
    sudden_goals: float = 0.0
    slow_gaits: float = 0.0
    balance: float = 0.0
    detail_minutes: float = 0.0
    held_out: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        given = self.samples >= 0 and (self.samples > 0 or self.epochs > 0)
        require(given, "either samples or epochs must be positive")
        shares, weights = dict.fromkeys(_SHARES, (0, 1)), dict.fromkeys(_WEIGHTS, (0, 1e9))
        require_in(
            self, epochs=(0, 1e6), batch_size=(1, 1e9), unroll_frames=(1, 1e9),
            learning_rate=(ABOVE_0, BELOW_1), made_stops=(0, BELOW_1), held_out=(ABOVE_0, BELOW_90),
            phase_weight=(ABOVE_0, 1e9), seed=(0, 2**31 - 1), **shares, **weights,
        )  # fmt: skip
        product = "weight_decay must be 0 or more, and its product with learning_rate below 0.5"
        decays = 0 <= self.weight_decay * self.learning_rate < 0.5
        require(decays, f"{product}, not {self.weight_decay}")
        require_one_of(self, optimizer=Optimizer, schedule=Schedule, actions=ActionsRule)

    @property
    def unroll_stages(self) -> tuple[tuple[float, int], ...]:
        """(fraction of the training, number of unrolled frames from there on) of each stage."""
        if not self.unroll_goals or self.unroll_frames == 1:
            return ((0.0, self.unroll_frames),)
        doublings = (self.unroll_frames - 1).bit_length()
        length = (1.0 - RECORDED_SHARE) / doublings
        return (
            (0.0, 1),
            *(
                (RECORDED_SHARE + stage * length, min(2 ** (stage + 1), self.unroll_frames))
                for stage in range(doublings)
            ),
        )


@brief_repr
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
                known = {field.name for field in fields(network_kind(str(values["name"])).config)}
                for key in [*values]:
                    if key not in known and key != "name" and f"network.{key}" not in changes:
                        del values[key]
            return cls.from_mapping(content)

        return load_config("controller", config, changes, read)

    @classmethod
    def from_header(cls, content: Mapping[str, Any]) -> ControllerConfig:
        """The config of a controller file, without keys of the training of earlier versions."""
        known = {item.name for item in fields(ControllerTraining)}
        training = {k: v for k, v in content.get("training", {}).items() if k in known}
        return cls.from_mapping({**content, "training": training})

    @classmethod
    def from_mapping(cls, content: Any) -> ControllerConfig:
        """The config from nested mappings, as in YAML files."""
        sections = as_mapping(content, "the config")
        check_known(sections, ("network", "schema", "training"), "the config")
        values = dict(as_mapping(sections.get("network"), "network"))
        if "name" not in values:
            raise ParameterError(
                "the network has no name", hint="name one of the registered networks"
            )
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
