"""Config of a dancer: the content of configs/dance/*.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from deepphase.config import load_config, section
from deepphase.controllers.config import ControllerConfig, ControllerTraining
from deepphase.controllers.networks.network import ControllerNetworkConfig
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.errors import ParameterError
from deepphase.music.features import check_names
from deepphase.short_repr import brief_repr

HeldOutBy = Literal["song", "segment"]
DanceTiming = Literal["bars", "recorded"]

MUSIC = "music"
"""The track of a dancer's schema that holds the song."""


@brief_repr
@dataclass(frozen=True)
class MusicConfig:
    """Audio features of the dancer.

    Parameters
    ----------
    features
        Names of the audio features that are inputs: mel, mfcc, chroma, spectral_flux,
        onset_strength, beat, zero_crossing_rate, beat_phase, bar_phase, beat_cycle, bar_cycle,
        tempo_bpm.
    """

    features: tuple[str, ...] = ("onset_strength", "spectral_flux", "beat_cycle", "bar_cycle")

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        check_names(self.features)


@brief_repr
@dataclass(frozen=True)
class DanceTraining:
    """Training data of the dancer.

    Parameters
    ----------
    held_out_by
        What is held out of training for measurement: "song" holds out whole songs, "segment"
        captured segments of movement, in every song that they occur in.
    timing
        The clock of dances: "bars" re-times each dance to the bars of its song, by one rate and one
        offset, where the height of the hips shows the bars clearly; recordings drift by a beat a
        minute and more. "recorded" leaves all dances as they are.
    tempo_copies
        Number of copies of each training dance and its song at other tempi, spread evenly over
        `slowest` to `fastest`.
    slowest
        Lowest tempo of the copies, as a multiple of the song's.
    fastest
        Highest tempo of the copies, as a multiple of the song's.
    measured_seeds
        Number of dances to each held-out song by which the dancer is measured, at most eight
        songs of 30 s; 0 leaves out the trials with silence and with songs at other tempi.
    """

    held_out_by: HeldOutBy = "song"
    timing: DanceTiming = "bars"
    tempo_copies: int = 0
    slowest: float = 0.8
    fastest: float = 1.25
    measured_seeds: int = 8

    def __post_init__(self) -> None:
        if self.timing not in get_args(DanceTiming):
            raise ParameterError(
                f"timing {self.timing!r} is not possible",
                hint=f"one of {', '.join(get_args(DanceTiming))}",
            )
        for name in ("tempo_copies", "measured_seeds"):
            if not 0 <= getattr(self, name) <= 64:
                raise ParameterError(f"{name} must lie in 0 to 64, not {getattr(self, name)}")
        if not 0.5 <= self.slowest <= self.fastest <= 2.0:
            raise ParameterError(
                f"slowest {self.slowest} and fastest {self.fastest} must lie in 0.5 to 2, in order"
            )
        if self.held_out_by not in get_args(HeldOutBy):
            raise ParameterError(
                f"held_out_by {self.held_out_by!r} is not possible",
                hint=f"one of {', '.join(get_args(HeldOutBy))}",
            )


@brief_repr
@dataclass(frozen=True)
class DanceConfig:
    """Config of a dancer: a controller's config, its audio features and its training data.

    Parameters
    ----------
    controller
        Network, inputs and outputs, and training of the controller.
    music
        Audio features that the controller is conditioned on.
    dance
        Training data.

    Raises
    ------
    ParameterError
        If the schema has no track "music", or another one.
    """

    controller: ControllerConfig
    music: MusicConfig = field(default_factory=MusicConfig)
    dance: DanceTraining = field(default_factory=DanceTraining)

    def __post_init__(self) -> None:
        if MUSIC not in self.schema.tracks:
            raise ParameterError(
                "a dancer needs music: its schema has no track 'music'",
                hint="schema: {tracks: [music]}",
            )
        if unknown := set(self.schema.tracks) - {MUSIC}:
            raise ParameterError(
                f"a dancer has no track {min(unknown)!r}", hint="schema: {tracks: [music]}"
            )

    @property
    def network(self) -> ControllerNetworkConfig:
        """Sizes of the network."""
        return self.controller.network

    @property
    def schema(self) -> SchemaConfig:
        """Inputs and outputs."""
        return self.controller.schema

    @property
    def training(self) -> ControllerTraining:
        """Training of the controller."""
        return self.controller.training

    @classmethod
    def load(cls, config: str | Path, **changes: Any) -> DanceConfig:
        """The shipped config of that name, or the YAML file at that path, with dotted `changes`.

        Raises
        ------
        ParameterError
            If there is no such config, a key is unknown or a value impossible.
        """
        return load_config("dance", config, changes, cls.from_mapping)

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> DanceConfig:
        """A config from nested mappings; raises ParameterError for an unknown key."""
        rest = {name: value for name, value in content.items() if name not in (MUSIC, "dance")}
        music: MusicConfig = section(MusicConfig, content.get(MUSIC), MUSIC)
        dance: DanceTraining = section(DanceTraining, content.get("dance"), "dance")
        return cls(ControllerConfig.from_mapping(rest), music, dance)

    def as_mapping(self) -> dict[str, Any]:
        """The nested mappings that `from_mapping` reads."""
        music = {"features": list(self.music.features)}
        return {**self.controller.as_mapping(), MUSIC: music, "dance": asdict(self.dance)}
