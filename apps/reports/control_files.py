"""The files of a controller's run: the motion of every character, and a table of its frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from apps.reports.motion_files import character_stem, write_motion, write_table
from controllers.rollout import Rollout

_WHAT = "where the character was, what was wished, contacts, phases and weights of every frame"


def write_rollout(run: Rollout, folder: Path, stem: str) -> list[tuple[str, str]]:
    """Write the motion of all characters and their frames; (name, what it is) of each file."""
    files = []
    for character in range(run.characters):
        own = character_stem(stem, character, run.characters)
        files += write_motion(run.clip(character, own), folder, own)
        write_table(folder / f"{own}.frames.csv", _columns(run), _frames(run, character))
        files.append((f"{own}.frames.csv", _WHAT))
    return files


def _columns(run: Rollout) -> list[str]:
    columns = ["t", "x", "z", "facing"]
    if run.wished_positions is not None:
        columns += ["wished_x", "wished_z", "wished_facing"]
    columns += ["alive", *(f"contact_{foot}" for foot in run.feet)]
    if run.phases is not None:
        for name in ("phase", "frequency", "amplitude"):
            columns += [f"{name}_{channel}" for channel in range(run.phases.channels)]
    if run.gating is not None:
        columns += [f"weight_{index}" for index in range(run.gating.shape[2])]
    return columns


def _frames(run: Rollout, character: int) -> Iterator[list[object]]:
    parts = [run.positions[character], run.angles[character, :, None]]
    if run.wished_positions is not None and run.wished_angles is not None:
        parts += [run.wished_positions[character], run.wished_angles[character, :, None]]
    before = np.concatenate(parts, axis=1)
    parts = [run.contacts[character]]
    if run.phases is not None:
        phases = run.phases
        parts += [phases.phase[character], phases.frequency[character], phases.amplitude[character]]
    if run.gating is not None:
        parts.append(run.gating[character])
    behind = np.concatenate(parts, axis=1)
    for index in range(len(run)):
        yield [
            f"{index / run.fps:.4f}",
            *(f"{value:.5f}" for value in before[index]),
            int(run.alive[character, index]),
            *(f"{value:.5f}" for value in behind[index]),
        ]
