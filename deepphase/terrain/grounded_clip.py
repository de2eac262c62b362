"""Clips on ground, as controllers learn from them, and the files of that ground."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.npz.archive import read_npz
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import Contacts, foot_contacts
from deepphase.motion.roles import Roles
from deepphase.terrain.ground_file import read_ground, save_ground
from deepphase.terrain.heightmap import Heightmap


@dataclass(frozen=True, eq=False)
class ClipGround:
    """Ground of a clip."""

    ground: Heightmap  # The ground, in the clip's places
    clip: str  # Name of the clip
    # The clip was captured on a flat floor and is to be laid on the ground. Otherwise the ground
    # was fitted to the clip as it is.
    laid: bool

    def save(self, path: str | Path) -> None:
        """Write a .npz, which `read_ground` reads as well."""
        save_ground(self.ground, path, clip=self.clip, motion="laid" if self.laid else "captured")

    @classmethod
    def load(cls, path: str | Path) -> ClipGround:
        """Read a .npz of `save`.

        Raises FormatError if it cannot be read, or does not say which clip it belongs to.
        """
        archive = read_npz(path)
        texts = {key: archive.text(key) for key in ("clip", "motion") if key in archive}
        if not texts.get("clip") or texts.get("motion") not in ("laid", "captured"):
            raise FormatError(
                "the file does not say which clip it is the ground of",
                hint="make it with `deepphase fit ground`",
                path=path,
            )
        return cls(read_ground(path), texts["clip"], texts["motion"] == "laid")


class ClipGrounds:
    """Grounds of the clips of a store, by the clips' names."""

    def __init__(self, grounds: Iterable[ClipGround]) -> None:
        self._of_clip: dict[str, list[ClipGround]] = {}
        for ground in grounds:
            self._of_clip.setdefault(ground.clip, []).append(ground)

    def __len__(self) -> int:
        return sum(map(len, self._of_clip.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the clips that have ground."""
        return tuple(self._of_clip)

    @property
    def most(self) -> int:
        """The largest number of grounds of a clip."""
        return max(map(len, self._of_clip.values()), default=0)

    @classmethod
    def read(cls, paths: Iterable[str | Path]) -> ClipGrounds:
        """The grounds in files and folders of `deepphase fit ground`.

        Raises FormatError, ParameterError if one cannot be read, or there is none.
        """
        files: list[Path] = []
        for path in map(Path, paths):
            files += sorted(path.glob("*.npz")) if path.is_dir() else [path]
        if not files:
            raise ParameterError(
                "there is no ground (.npz)",
                hint="make it with `deepphase fit ground STORE -o FOLDER`",
            )
        return cls(map(ClipGround.load, files))

    def on_ground(self, clip: Clip, roles: Roles, *, mirrored: bool = False) -> list[GroundedClip]:
        """A clip on each of its grounds.

        The floor is one of them, except for clips whose ground was fitted to them as they are.
        """
        grounds = self._of_clip.get(clip.name, [])
        clips = [
            GroundedClip.from_clip(
                clip, own.ground.mirrored() if mirrored else own.ground, roles, laid=own.laid
            )
            for own in grounds
        ]
        if all(own.laid for own in grounds):
            clips.insert(0, GroundedClip.on_floor(clip, roles))
        return clips


@dataclass(frozen=True, eq=False)
class GroundedClip:
    """A clip on ground."""

    clip: Clip  # The motion on the ground
    ground: Heightmap  # The ground, in the clip's places and heights
    contacts: Contacts  # Contacts of its feet

    @classmethod
    def from_clip(cls, clip: Clip, ground: Heightmap, roles: Roles, *, laid: bool) -> GroundedClip:
        """A clip on ground that was fitted to it, or on which it is laid."""
        if not laid:
            return cls(clip, ground, foot_contacts(clip, roles, at_any_height=True))
        # With the compiled solver of legs, which what only reads a database waits for in vain.
        from deepphase.terrain.laying import lay_on_ground

        contacts = foot_contacts(clip, roles)
        motion = lay_on_ground(clip, ground, roles=roles, contacts=contacts).clip
        return cls(motion, ground, contacts)

    @classmethod
    def on_floor(cls, clip: Clip, roles: Roles) -> GroundedClip:
        """A clip on its own flat floor."""
        contacts = foot_contacts(clip, roles)
        return cls(clip, Heightmap(np.full((1, 1), contacts.floor), 1.0, name="floor"), contacts)
