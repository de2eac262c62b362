"""Config of a dancer: the content of configs/dance/*.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from deepphase.arrays import brief_repr
from deepphase.config import load_config, require_in, require_one_of, section
from deepphase.controllers.config import ControllerConfig
from deepphase.errors import ParameterError
from deepphase.music.features import check_names

DanceTiming = Literal["bars", "recorded"]

MUSIC = "music"
"""The track of a dancer's schema that holds the song."""

_MOST_COPIES = 64


@brief_repr
@dataclass(frozen=True)
class MusicConfig:
    """Audio features of the dancer."""

    # Names of the audio features that are inputs: mel, mfcc, chroma, spectral_flux, onset_strength,
    # beat, zero_crossing_rate, beat_phase, bar_phase, beat_cycle, bar_cycle, tempo_bpm.
    features: tuple[str, ...] = ("onset_strength", "spectral_flux", "beat_cycle", "bar_cycle")

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        check_names(self.features)


@brief_repr
@dataclass(frozen=True)
class DanceTraining:
    """Training data of the dancer."""

    # The clock of dances: "bars" re-times each dance to the bars of its song, by one rate and one
    # offset, where the height of the hips shows the bars clearly; recordings drift by a beat a
    # minute and more. "recorded" leaves all dances as they are.
    timing: DanceTiming = "bars"
    # Number of copies of each training dance and its song at other tempi, spread evenly over .8 to
    # 1.25 of the song's.
    tempo_copies: int = 0

    def __post_init__(self) -> None:
        require_one_of(self, timing=DanceTiming)
        require_in(self, tempo_copies=(0, _MOST_COPIES))


@brief_repr
@dataclass(frozen=True)
class DanceConfig:
    """Config of a dancer: a controller's config, its audio features and its training data.

    Raises
    ------
    ParameterError
        If the schema has no track "music", or another one.
    """

    controller: ControllerConfig
    music: MusicConfig = field(default_factory=MusicConfig)
    dance: DanceTraining = field(default_factory=DanceTraining)

    def __post_init__(self) -> None:
        if set(self.controller.schema.tracks) != {MUSIC}:
            raise ParameterError(
                "a dancer needs music: its schema has the track 'music' and no other",
                hint="schema: {tracks: [music]}",
            )

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
