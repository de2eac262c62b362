"""How many joints a file may have."""

from __future__ import annotations

from pathlib import Path

from deepphase.errors import FormatError

# Ten times the joints of the most detailed figures of films, faces and hands included. What asks
# for more is no body; and a joint takes a few bytes of a file, but a thousand times as many here.
MOST_JOINTS = 10_000


def check_joint_count(joints: int, path: Path, line: int | None = None) -> None:
    """Refuse a skeleton that no body has, before it is built.

    Raises FormatError where there are more than `MOST_JOINTS`.
    """
    if joints > MOST_JOINTS:
        raise FormatError(
            f"a skeleton of more than {MOST_JOINTS:,} joints: no body has as many",
            hint="delete what is no joint in the program that wrote the file",
            path=path,
            line=line,
        )
