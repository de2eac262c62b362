"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from deepphase.errors import CheckpointError


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file beside `path` that takes its place when the block ends well.

    Whatever ends the block otherwise, an interruption too, leaves `path` as it was and nothing
    beside it. Raises CheckpointError where the disk or the folder refuses.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CheckpointError(
            f"cannot be written: {error.strerror or error}",
            hint="choose another place with enough room and permission",
            path=path,
        ) from None
