"""Trained dancer: a controller conditioned on music, with measures of its training data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deepphase.controllers.dance.config import MUSIC, STYLE
from deepphase.controllers.dance.music_input import MusicInput
from deepphase.controllers.dance.reference import DanceReference
from deepphase.controllers.runtime.controller import Controller
from deepphase.errors import CheckpointError
from deepphase.music.song_styles import SongStyles
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
        Its schema has the track "music", and may have the track "style".
    music
        Normalised audio features for that track.
    reference
        Measures of the dances of the training data.
    styles
        Songs of the training with the styles that they were danced in; None in files of earlier
        versions.
    path_shares
        Style -> share of the network's path over the ground that its dances have, see
        `deepphase.controllers.dance.path_shares`.
    """

    controller: Controller
    music: MusicInput
    reference: DanceReference
    styles: SongStyles | None = None
    path_shares: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        joints = counted(len(self.controller.skeleton), "joint")
        return short_repr(self, self.controller.name, joints, f"{self.controller.fps:g} Hz")

    def save(self, path: str | Path) -> None:
        """Write the dancer's file atomically."""
        header: dict[str, Any] = {
            "music": self.music.as_mapping(),
            "reference": self.reference.as_mapping(),
        }
        if self.styles is not None:
            header["styles"] = self.styles.as_mapping()
        if self.path_shares:
            header["path_shares"] = self.path_shares
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
) -> tuple[MusicInput, DanceReference, SongStyles | None, dict[str, float]]:
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
    styles = SongStyles.from_mapping(header["styles"]) if "styles" in header else None
    if STYLE in controller.schema.inputs:
        width = controller.schema.inputs[STYLE].channels
        if styles is None or len(styles.names) != width:
            count = "no" if styles is None else len(styles.names)
            raise CheckpointError(
                f"{count} styles of dance, but the network has {width} style inputs",
                hint="the file was changed after it was written: train again or use a backup",
            )
    shares = _path_shares(header.get("path_shares", {}))
    return music, DanceReference.from_mapping(header["reference"]), styles, shares


def _path_shares(content: Any) -> dict[str, float]:
    """`Dancer.path_shares` of a file; raises CheckpointError if a share is invalid."""
    try:
        shares = {str(style): float(share) for style, share in content.items()}
    except (AttributeError, TypeError, ValueError):
        shares = {"": math.nan}
    if not all(0.0 < share <= 10.0 for share in shares.values()):
        raise CheckpointError("the shares of the path are invalid", hint="train the dancer again")
    return shares
