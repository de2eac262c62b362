"""Joints of a file: their order, unique names, and a limit on their number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deepphase.errors import FormatError


def unique_names(names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Number repeated names: "#2" and so on is appended. Also returns the changed names."""
    used, unique, renamed = set(names), [], []
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        if counts[name] == 1:
            unique.append(name)
            continue
        while (numbered := f"{name}#{counts[name]}") in used:
            counts[name] += 1
        used.add(numbered)
        unique.append(numbered)
        renamed.append(numbered)
    return tuple(unique), renamed


def children_of(parents: Sequence[int]) -> list[list[int]]:
    """(joints,) children of each joint, from their parents in any order; below 0 for roots."""
    children: list[list[int]] = [[] for _ in parents]
    for joint, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(joint)
    return children


def depth_first(root: int, children: Sequence[Sequence[int]]) -> list[int]:
    """A joint and all below it, each right behind what hangs from its parent's earlier children."""
    order, waiting = [], [root]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting.extend(reversed(children[joint]))
    return order


# Ten times the joints of the most detailed film characters, faces and hands included. A joint takes
# a few bytes in a file, but a thousand times as many in memory.
MAX_JOINTS = 10_000


def check_joint_count(joints: int, path: Path, line: int | None = None) -> None:
    """Refuse a skeleton with too many joints before it is built.

    Raises FormatError if there are more than `MAX_JOINTS`.
    """
    if joints > MAX_JOINTS:
        raise FormatError(
            f"a skeleton of more than {MAX_JOINTS:,} joints: no body has as many",
            hint="delete nodes that are not joints in the program that wrote the file",
            path=path,
            line=line,
        )
