"""Output folder of a command that can be run again and replaces its own files only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from deepphase.atomic_write import atomic_write
from deepphase.errors import CheckpointError, ParameterError

_MARKER = ".deepphase-made.json"
_FORMAT = "deepphase.made"


class OutputFolder:
    """A folder with a list of the files that a command wrote in it.

    Parameters
    ----------
    path
        The folder. It does not exist yet, is empty, or was written by the same command.
    command
        Name of the command, such as "deepphase demo".

    Raises
    ------
    ParameterError
        If the folder contains files that the command did not write, or is a file.
    """

    def __init__(self, path: Path, command: str) -> None:
        self.path, self._command = path, command
        self._before: dict[str, tuple[int, int, int]] = {}
        if path.exists() and not path.is_dir():
            raise ParameterError(
                "is a file, not a folder", hint="choose another folder: -o FOLDER", path=path
            )
        self._written = self._listed()
        if self._written is None and path.is_dir() and any(path.iterdir()):
            raise ParameterError(
                f"this folder contains files that `{command}` did not write",
                hint="choose a new or an empty folder: -o FOLDER",
                path=path,
            )

    def clear(self) -> None:
        """Remove the files of an earlier run.

        Raises
        ------
        CheckpointError
            If a file cannot be removed.
        """
        try:
            # The page is removed first, since it describes the other files.
            for name in sorted(self._written or [], key=lambda name: name != "index.html"):
                self._remove(name)
        except OSError as error:
            raise CheckpointError(
                f"cannot be removed: {error.strerror or error}", path=error.filename or self.path
            ) from None
        self._before = dict(self._files())
        self._write([])

    def record(self) -> None:
        """Record all files that are new or have changed since :meth:`clear`."""
        self._write([name for name, state in self._files() if self._before.get(name) != state])

    def _listed(self) -> list[str] | None:
        marker = self.path / _MARKER
        if not marker.is_file():
            return None
        try:
            content = json.loads(marker.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT or content["command"] != self._command:
                return None
            return [str(name) for name in content["files"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write(self, names: list[str]) -> None:
        content = {"format": _FORMAT, "command": self._command, "files": sorted(names)}
        with atomic_write(self.path / _MARKER) as file:
            file.write(json.dumps(content, indent=1).encode("utf-8", "surrogateescape"))

    def _files(self) -> Iterator[tuple[str, tuple[int, int, int]]]:
        for folder, _, names in os.walk(self.path):
            for name in names:
                path = Path(folder, name)
                relative = path.relative_to(self.path).as_posix()
                if relative == _MARKER:
                    continue
                state = path.lstat()
                yield relative, (state.st_ino, state.st_mtime_ns, state.st_size)

    def _remove(self, name: str) -> None:
        parts = PurePosixPath(name).parts
        target = self.path.joinpath(*parts)
        # Neither an edited list nor a symbolic link may lead outside the folder.
        inside = Path(os.path.realpath(target.parent)).is_relative_to(os.path.realpath(self.path))
        if not parts or ".." in parts or not inside:
            return
        if target.is_file() or target.is_symlink():
            target.unlink()
        for folder in target.parents:
            if folder == self.path or not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()
