"""Where the clips of a database are kept."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.formats.array_file import read_header


@dataclass(eq=False)
class StoreLink:
    """A store that a database was built of, opened when a clip of it is wanted.

    Parameters
    ----------
    path
        The store's file; empty where it was in memory only.
    group
        The skeleton group.
    sha256
        Hash of the group's rotations, empty for a store in memory: tells a store that was
        prepared anew under the same name.
    """

    path: str
    group: str
    sha256: str = ""
    _store: ClipStore | None = field(default=None, repr=False)
    _places: dict[str, int] | None = field(default=None, repr=False)

    @classmethod
    def of_store(cls, store: ClipStore) -> StoreLink:
        """The link to a store at hand."""
        if store.path is None:
            return cls("", store.group, "", store)
        return cls(
            os.path.abspath(store.path),
            store.group,
            store.header.get("sha256", {}).get(f"{store.group}/rotations", ""),
            store,
        )

    def given(self, store: ClipStore) -> StoreLink:
        """The same link with a store that stands in for the file."""
        return StoreLink(self.path, self.group, self.sha256, store)

    def found(self, name: str, frames: int, beside: Path | None) -> tuple[ClipStore, int]:
        """The store and the index in it of a clip of a name and so many frames.

        `beside` is the database's file. Raises CheckpointError where store or clip are gone.
        """
        store = self._opened(beside)
        if self._places is None:
            self._places = {each: index for index, each in enumerate(store.names)}
        index = self._places.get(name)
        if index is None:
            raise self._gone(f"no clip {name!r} in the store {self.path}".rstrip())
        there = int(store.range_stops[index] - store.range_starts[index])
        if there != frames:
            raise self._gone(f"clip {name!r} has {there} frames, the database {frames}")
        return store, index

    def as_mapping(self, beside: Path) -> dict[str, Any]:
        """What a database's header says of the store; paths also relative to the database."""
        relative = os.path.relpath(self.path, beside.parent) if self.path else ""
        return {
            "path": self.path,
            "relative_path": relative,
            "group": self.group,
            "sha256": self.sha256,
        }

    @classmethod
    def from_mapping(cls, content: dict[str, Any], beside: Path) -> StoreLink:
        """The link that a header describes, to the store where it lies now."""
        near = os.path.abspath(beside.parent / content["relative_path"])
        moved = bool(content["relative_path"]) and Path(near).is_file()
        path = near if moved else content["path"]
        return cls(str(path), str(content["group"]), str(content["sha256"]))

    def _opened(self, beside: Path | None) -> ClipStore:
        if self._store is None:
            if not self.path or not Path(self.path).is_file():
                raise self._gone(
                    f"the store that the clips are in is not there: {self.path or 'never saved'}"
                )
            try:
                found = read_header(self.path)["sha256"].get(f"{self.group}/rotations", "")
                store = open_store(self.path, self.group)
            except ParameterError as error:
                raise self._gone(error.fact) from None
            except DeepPhaseError as error:
                raise self._gone(f"{error.fact}: {self.path}") from None
            if found != self.sha256:
                raise self._gone(f"{self.path} is not the store that the database was built of")
            self._store = store
        return self._store

    @staticmethod
    def _gone(fact: str) -> CheckpointError:
        return CheckpointError(
            fact,
            hint="put the store back there, or build the database again; commands take its new "
            "place as --store",
        )
