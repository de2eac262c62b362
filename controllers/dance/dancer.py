"""Trained dancer: a controller conditioned on music, with measures of its training data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deepphase.controllers.dance.config import MUSIC
from deepphase.controllers.dance.music_input import MusicInput
from deepphase.controllers.dance.reference import DanceReference
from deepphase.controllers.runtime.controller import Controller
from deepphase.errors import CheckpointError
from deepphase.short_repr import counted, short_repr

# Key of the dancer's part of a controller file.
_HEADER = "dance"


@dataclass(frozen=True, eq=False)
class Dancer:
    """Controller conditioned on music, with what it takes to generate a dance to a song.

    A dancer is stored as one controller file.

    Parameters
    ----------
    controller
        Its schema has the track "music".
    music
        Normalised audio features for that track.
    reference
        Measures of the dances of the training data.
    path_share
        Share of the network's path over the ground that its dances have, see
        `deepphase.controllers.dance.path_share`.
    """

    controller: Controller
    music: MusicInput
    reference: DanceReference
    path_share: float = 1.0

    def __repr__(self) -> str:
        joints = counted(len(self.controller.skeleton), "joint")
        return short_repr(self, self.controller.name, joints, f"{self.controller.fps:g} Hz")

    def save(self, path: str | Path) -> None:
        """Write the dancer's file atomically."""
        header: dict[str, Any] = {
            "music": self.music.as_mapping(),
            "reference": self.reference.as_mapping(),
            "path_share": self.path_share,
        }
        data = {**self.controller.data, _HEADER: header}
        replace(self.controller, data=data).save(path)

    @classmethod
    def load(cls, path: str | Path) -> Dancer:
        """Read a dancer's file.

        Raises
        ------
        CheckpointError
            If the file is damaged, of another format, or a controller without music input.
        """
        controller = Controller.load(path)
        header = controller.data.get(_HEADER)
        if MUSIC not in controller.schema.inputs or not isinstance(header, Mapping):
            raise CheckpointError(
                f"this is a controller ({controller.name}) without music input, not a dancer",
                hint="give a file that `deepphase train dance` wrote",
                path=path,
            )
        try:
            return cls(controller, *_of_header(header, controller))
        except CheckpointError as error:
            raise CheckpointError(error.fact, hint=error.hint, path=path) from None


def _of_header(
    header: Mapping[str, Any], controller: Controller
) -> tuple[MusicInput, DanceReference, float]:
    missing = [name for name in ("music", "reference") if name not in header]
    if missing:
        raise CheckpointError(
            f"this is a dancer without {missing[0]} data", hint="train the dancer again"
        )
    music = MusicInput.from_mapping(header["music"])
    width = controller.schema.inputs[MUSIC].channels
    if music.dims != width:
        raise CheckpointError(
            f"{music.dims} music values a frame, but the network has {width} music inputs",
            hint="the file was changed after it was written: train again or use a backup",
        )
    if others := set(controller.schema.config.tracks) - {MUSIC}:
        raise CheckpointError(
            f"this dancer reads {min(others)}, which dances no longer have",
            hint="train the dancer again",
        )
    share = header.get("path_share", 1.0)
    if not (isinstance(share, int | float) and 0.0 < share <= 10.0):
        raise CheckpointError("the share of the path is invalid", hint="train the dancer again")
    return music, DanceReference.from_mapping(header["reference"]), float(share)
