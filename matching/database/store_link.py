"""Links from a database to the stores of its clips."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.formats.header_values import checked_text


@dataclass(eq=False)
class StoreLink:
    """A store that a database was built from, opened on first use."""

    path: str  # The store; empty for a store in memory
    group: str  # The skeleton group
    # Hash of the group's rotations, to detect a store that was prepared again under the same name;
    # empty for a store in memory.
    sha256: str = ""
    _store: ClipStore | None = field(default=None, repr=False)
    _places: dict[str, int] | None = field(default=None, repr=False)

    @classmethod
    def of_store(cls, store: ClipStore) -> StoreLink:
        """The link to an open store."""
        if store.path is None:
            return cls("", store.group, "", store)
        return cls(
            os.path.abspath(store.path),
            store.group,
            _rotations_sha256(store),
            store,
        )

    def with_store(self, store: ClipStore) -> StoreLink:
        """This link with an open store in place of the file."""
        return StoreLink(self.path, self.group, self.sha256, store)

    def locate(self, name: str, frames: int, beside: Path | None) -> tuple[ClipStore, int]:
        """The store, and the index in it of the clip with a name and a number of frames.

        `beside` is the database's file. Raises CheckpointError where the store or the clip is
        missing.
        """
        store = self._opened(beside)
        if self._places is None:
            self._places = {each: index for index, each in enumerate(store.names)}
        index = self._places.get(name)
        if index is None:
            raise self._missing(f"no clip {name!r} in the store {self.path}".rstrip())
        stored = int(store.range_stops[index] - store.range_starts[index])
        if stored != frames:
            raise self._missing(
                f"clip {name!r} has {stored} frames in the store, {frames} in the database"
            )
        return store, index

    def as_mapping(self, beside: Path) -> dict[str, Any]:
        """Header entry of the store: its path, also relative to the database, group and hash."""
        relative = os.path.relpath(self.path, beside.parent) if self.path else ""
        return {
            "path": self.path,
            "relative_path": relative,
            "group": self.group,
            "sha256": self.sha256,
        }

    @classmethod
    def from_mapping(cls, content: dict[str, Any], beside: Path) -> StoreLink:
        """The link of a header entry; a store at the relative path takes precedence."""
        texts = {
            name: checked_text(content[name], name)
            for name in ("path", "relative_path", "group", "sha256")
        }
        relative = os.path.abspath(beside.parent / texts["relative_path"])
        moved = bool(texts["relative_path"]) and Path(relative).exists()
        return cls(relative if moved else texts["path"], texts["group"], texts["sha256"])

    def _opened(self, beside: Path | None) -> ClipStore:
        if self._store is None:
            if not self.path or not Path(self.path).exists():
                raise self._missing(
                    f"the store of the clips is missing: {self.path or 'it was never saved'}"
                )
            try:
                store = open_store(self.path, self.group)
            except ParameterError as error:
                raise self._missing(error.fact) from None
            except DeepPhaseError as error:
                raise self._missing(f"{error.fact}: {self.path}") from None
            if _rotations_sha256(store) != self.sha256:
                raise self._missing(
                    f"{self.path} is not the store that the database was built from"
                )
            self._store = store
        return self._store

    @staticmethod
    def _missing(fact: str) -> CheckpointError:
        return CheckpointError(
            fact,
            hint="put the store back, give its new path as --store, or build the database again",
        )


def _rotations_sha256(store: ClipStore) -> str:
    return str(store.header.get("sha256", {}).get(f"{store.group}/rotations", ""))
