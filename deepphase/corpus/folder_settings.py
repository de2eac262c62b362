"""Settings of a folder of captures, in a file that stays in it: `deepphase.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from deepphase.atomic_write import atomic_write
from deepphase.config import read_yaml
from deepphase.errors import ParameterError
from deepphase.formats.reading import checked_floor, checked_options

FILE = "deepphase.yaml"
_HEAD = "# What deepphase knows of the motion files in this folder and below it.\n"


@dataclass(frozen=True)
class FolderSettings:
    """Settings of the motion files in a folder and in the folders below it.

    `up`, `unit`: as in :func:`deepphase.formats.load.load`; None infers them. `labels`: label as
    found in the names of the files, such as "field1" -> its name, such as "style". `floor`: height
    in metres of the floor in the files, which becomes 0; None leaves heights as they are.
    """

    up: str | None = None
    unit: str | float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    floor: float | None = None

    def __post_init__(self) -> None:
        checked_options(self.unit, self.up, None)
        checked_floor(self.floor)
        for found, name in self.labels.items():
            if not name.isidentifier() or name.startswith("_"):
                raise ParameterError(
                    f"the label {found!r} cannot have the name {name!r}",
                    hint="give a name of letters and digits, such as style",
                )
            if list(self.labels.values()).count(name) > 1:
                raise ParameterError(
                    f"several labels have the name {name!r}", hint="give each its own name"
                )

    @property
    def reader(self) -> dict[str, Any]:
        """The options of :func:`deepphase.formats.load.load` that are set."""
        options = {"up": self.up, "unit": self.unit, "floor": self.floor}
        return {name: value for name, value in options.items() if value is not None}


def read_settings(folder: Path) -> FolderSettings:
    """The settings of a folder; those of a folder without the file change nothing."""
    path = folder / FILE
    try:
        written_ns = path.stat().st_mtime_ns
    except OSError:
        return FolderSettings()
    return _read(path, written_ns)


@lru_cache(maxsize=64)
def _read(path: Path, written_ns: int) -> FolderSettings:
    content = read_yaml(path) or {}
    known = ("up", "unit", "floor", "labels")
    try:
        if not isinstance(content, dict) or not content.keys() <= set(known):
            raise ParameterError(
                "the settings of a folder have other keys than they can have",
                hint=f"known keys: {', '.join(known)}",
            )
        labels = content.get("labels") or {}
        if not isinstance(labels, dict):
            raise ParameterError(
                "labels is not a mapping", hint="write a line such as `  field1: style`"
            )
        names = {str(found): str(name) for found, name in labels.items()}
        return FolderSettings(content.get("up"), content.get("unit"), names, content.get("floor"))
    except ParameterError as error:
        raise ParameterError(error.fact, hint=error.hint, path=path) from None


def save_settings(folder: Path, settings: FolderSettings) -> None:
    """Write the settings of a folder, whole or not at all; without any, the file is removed."""
    path = folder / FILE
    content: dict[str, Any] = settings.reader
    if settings.labels:
        content["labels"] = dict(settings.labels)
    if not content:
        path.unlink(missing_ok=True)
        return
    with atomic_write(path) as file:
        file.write((_HEAD + yaml.safe_dump(content, sort_keys=False)).encode())


def settings_in(folder: Path) -> FolderSettings:
    """The settings of motion files in a folder: its own, or those of the nearest one above it.

    Raises as `read_settings`.
    """
    folder = folder.absolute()
    for place in (folder, *folder.parents):
        if (place / FILE).is_file():
            return read_settings(place)
    return FolderSettings()
